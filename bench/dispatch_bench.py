"""What the dispatcher costs in processor time, beside the bare AWS calls that it cannot do without.

    make bench-dispatch

Both run in this process against a stub that answers at once from a process of its own, so the processor time of this
process is the client's. The bare calls are the same requests, made beforehand and sent by botocore's client as it comes
(but for the check of parameters, which ours leaves out too), with answers that nobody reads. The rounds of both take
turns, and the least of each counts: whatever else runs on the machine only ever adds. Before that one round tells where
the time goes, waiting left out. The last line is for programs.
"""

import cProfile
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from botocore.session import Session, get_session

from bench.aws_stub import NOW_MS
from carillon.adapters.aws import new_client, new_session
from carillon.adapters.dynamodb.control import DynamoGroupLeases
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.due import DynamoDueIndex
from carillon.adapters.dynamodb.fenced import BatchedUpdates
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.dynamodb.runs import DynamoRunStore
from carillon.adapters.memory.edges import MemoryClock, RecordingMeter
from carillon.adapters.memory.world import MemoryWorld
from carillon.adapters.sqs.routing import QueueName
from carillon.adapters.sqs.work import SqsWorkQueues
from carillon.adapters.system import SystemIds
from carillon.application.claim_send_confirm import ClaimSendConfirm, DispatchRules
from carillon.application.dispatch_group import DispatchGroup
from carillon.application.reserve_slots import ReserveSlots

PAGES, ENTRIES = 2, 1_000
ROUNDS = 7
THREADS = 8
PROFILED = 25
TARGET_MS = 0.33


@contextmanager
def stub() -> Iterator[str]:
    """The address of a new stub with all its pages."""
    command = [sys.executable, "-m", "bench.aws_stub", str(PAGES), str(ENTRIES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate(timeout=10)


def clients(session: Session, url: str) -> tuple[Any, Any]:
    """A client of each service, as the functions make them."""
    dynamodb, sqs = (
        new_client(session, name, endpoint_url=url, most_connections=THREADS) for name in ("dynamodb", "sqs")
    )
    return dynamodb, sqs


def dispatcher(dynamodb: Any, sqs: Any, spread: Callable[..., Any]) -> DispatchGroup:
    """The dispatcher, joined as it is deployed, but for a clock that stands still and a meter that is not written."""
    database, clock, world = Database(dynamodb, "jobs", "control"), MemoryClock(NOW_MS), MemoryWorld()
    rules = DispatchRules(groups=1, shards=1, look_ahead_ms=0, retention_ms=0)
    index = DynamoDueIndex(database)
    urls = {name: f"https://sqs.us-east-1.amazonaws.com/0/{name}" for name in QueueName}
    steps = ClaimSendConfirm(
        index=index,
        jobs=DynamoJobStore(database, transport=BatchedUpdates()),
        runs=DynamoRunStore(database),
        queues=SqsWorkQueues(sqs, urls),
        reserve=ReserveSlots(world.limits, world.slots, RecordingMeter(), rules.look_ahead_ms),
        clock=clock,
        ids=SystemIds(),
        meter=RecordingMeter(),
        rules=rules,
    )
    return DispatchGroup(index, DynamoGroupLeases(database), world.shards, steps, rules, spread)


def dispatch_ms(session: Session, profile: cProfile.Profile | None = None) -> float:
    """Processor time of dispatching everything, ms an occurrence."""
    with stub() as url, ThreadPoolExecutor(THREADS) as pool:
        dispatch = dispatcher(*clients(session, url), map if profile else pool.map)
        began = time.process_time()
        if profile:
            profile.enable()
        counts = dispatch(0)
        if profile:
            profile.disable()
        spent = time.process_time() - began
    assert (counts.sent, counts.confirmed, counts.unsent) == (PAGES * ENTRIES, PAGES * ENTRIES, 0), counts
    return spent * 1000 / counts.sent


def bare_ms(session: Session) -> float:
    """Processor time of the same requests made beforehand, ms an occurrence."""
    recorded = recorded_requests(session)
    with stub() as url, ThreadPoolExecutor(THREADS) as pool:
        dynamodb, sqs = clients(session, url)
        by_name = {"dynamodb": dynamodb, "sqs": sqs}
        began = time.process_time()
        list(pool.map(lambda call: getattr(by_name[call[0]], call[1])(**call[2]), recorded))
        spent = time.process_time() - began
    return spent * 1000 / (PAGES * ENTRIES)


def recorded_requests(session: Session) -> list[tuple[str, str, dict[str, Any]]]:
    """What a dispatch asks of AWS, in order."""
    calls: list[tuple[str, str, dict[str, Any]]] = []

    class Recorder:
        def __init__(self, service: str, client: Any) -> None:
            self._service, self._client = service, client

        def __getattr__(self, operation: str) -> Callable[..., Any]:
            def call(**request: Any) -> Any:
                calls.append((self._service, operation, request))
                return getattr(self._client, operation)(**request)

            return call

    with stub() as url:
        dynamodb, sqs = clients(session, url)
        dispatcher(Recorder("dynamodb", dynamodb), Recorder("sqs", sqs), map)(0)
    return calls


def main() -> None:
    """Measure and print."""
    os.environ.update(AWS_ACCESS_KEY_ID="bench", AWS_SECRET_ACCESS_KEY="bench", AWS_DEFAULT_REGION="us-east-1")
    session, untouched = new_session(), get_session()
    print_profile(session)
    rounds = [(dispatch_ms(session), bare_ms(untouched), bare_ms(session)) for _ in range(ROUNDS)]
    mine, bare, plain = (min(column) for column in zip(*rounds, strict=True))
    print(f"{PAGES * ENTRIES} occurrences a round, the least of {ROUNDS} rounds; at most {TARGET_MS} ms is the target")
    print(f"the bare calls: {bare:.3f} ms by botocore, {plain:.3f} ms by the functions' clients")
    print(f"ms_per_run={mine:.3f} per_second={1000 / mine:.0f} vs_bare_calls={mine / bare:.2f}")


def print_profile(session: Session) -> None:
    """Where the processor time goes: what each of our steps and of botocore's takes with all that it calls."""
    profile = cProfile.Profile(time.process_time)
    dispatch_ms(session, profile)
    pstats.Stats(profile).strip_dirs().sort_stats("cumtime").print_stats(
        r"carillon|botocore|claim_send|dispatch_group", PROFILED
    )


if __name__ == "__main__":
    main()
