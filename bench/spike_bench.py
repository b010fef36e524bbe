"""Many jobs due in one second, on the local stack: are all called, each once, and how late?

`python -m bench.spike_bench` creates them some time ahead, by the use case of the API on the tables of the stack, once
all with the same priority and once with all three; then it compares what a receiver and the records say. The figures of
the mixed round come first. The last line is of the plain one:
`jobs=… calls=… lost=… doubled=… late_p50_ms=… late_p99_ms=…`. It fails if a job was not called, was called twice, or
has no record of success.
"""

import argparse
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from carillon.adapters.aws import new_client, new_session
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import text
from carillon.adapters.dynamodb.control import DynamoShardLedger
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.system import SystemClock, SystemIds
from carillon.application.create_job import CreateJob, NewJob, ShardCount
from carillon.domain.job import HttpTarget, Priority
from carillon.domain.run import RunState
from carillon.domain.schedule import OneOff
from carillon_cli.dev.command import stop_signals
from carillon_cli.dev.errors import Interrupted
from carillon_cli.dev.operator import local_operator
from carillon_cli.dev.progress import Progress
from carillon_cli.dev.project import REGION
from carillon_cli.dev.provision import TENANT
from carillon_cli.dev.receiver import Call, Receiver
from carillon_cli.dev.smoke import percentile
from carillon_cli.dev.stack import Options, running_stack
from infra.stages import LOCAL

CLIENTS = 8
CREATION_SECONDS = 0.05
"""Of one job, at most; usually they take a tenth of it."""

LEAD_SECONDS = LOCAL.look_ahead_seconds + 15
SETTLE_SECONDS = 600.0
QUIET_SECONDS = 3.0
LOOK_SECONDS = 0.5
PLAIN = {Priority.NORMAL: 1.0}
MIXED = {Priority.HIGH: 0.1, Priority.NORMAL: 0.45, Priority.LOW: 0.45}


@dataclass(frozen=True, slots=True)
class Deployed:
    """Where a running stack is: its tenant's signing secret, its AWS, and the stack's outputs."""

    signing_secret: str
    aws_endpoint: str
    outputs: Mapping[str, str]

    def database(self) -> Database:
        """Its two tables."""
        session = new_session()
        session.set_config_variable("region", REGION)
        client = new_client(session, "dynamodb", answer_seconds=60.0, endpoint_url=self.aws_endpoint)
        return Database(client, self.outputs["JobsTable"], self.outputs["ControlTable"])


@dataclass(frozen=True, slots=True)
class Spike:
    """What came of the jobs.

    Attributes:
        created_s: how long before they were due the last of them was created.
        priorities: of each job, by its id.
        calls: all that the receiver got for them.
        records: the job and the state of each of their records.
    """

    created_s: float
    priorities: Mapping[str, Priority]
    calls: Sequence[Call]
    records: Sequence[tuple[str, str]]

    @property
    def lost(self) -> int:
        """Jobs that were not called, or whose record of success is missing."""
        succeeded = {job_id for job_id, state in self.records if state == RunState.SUCCEEDED}
        return len(self.priorities.keys() - ({call.job_id for call in self.calls} & succeeded))

    @property
    def doubled(self) -> int:
        """Calls and records beyond one a job."""
        called, recorded = {call.job_id for call in self.calls}, {job_id for job_id, _ in self.records}
        return len(self.calls) - len(called) + len(self.records) - len(recorded)

    def late_ms(self, priority: Priority) -> list[int]:
        """How late the calls of a priority came."""
        return [call.late_ms for call in self.calls if self.priorities[call.job_id] == priority]

    def figures(self) -> str:
        """All of it in a line."""
        late = [call.late_ms for call in self.calls]
        counts = f"jobs={len(self.priorities)} calls={len(self.calls)} lost={self.lost} doubled={self.doubled}"
        return f"{counts} {_lateness(late)}"


def _lateness(late_ms: Sequence[int]) -> str:
    if not late_ms:
        return "late_p50_ms=none late_p99_ms=none"
    return f"late_p50_ms={percentile(late_ms, 50)} late_p99_ms={percentile(late_ms, 99)}"


def spike(
    stack: Deployed,
    jobs: int,
    shares: Mapping[Priority, float],
    *,
    lead_seconds: float = LEAD_SECONDS,
    stop: threading.Event | None = None,
) -> Spike:
    """Let so many jobs be due in the same second, and wait for what comes of them.

    Args:
        stack: which is running.
        jobs: how many.
        shares: of each priority.
        lead_seconds: how long before they are due the last of them is created at the latest, if nothing is slow.
        stop: set when somebody asks to stop.

    Raises:
        Interrupted: somebody did.
    """
    priorities = [name for name, share in shares.items() for _ in range(round(jobs * share))]
    pause = _Pause(stop or threading.Event())
    with Receiver(stack.signing_secret) as receiver, local_operator(stack.aws_endpoint):
        database = stack.database()
        due = time.time() + len(priorities) * CREATION_SECONDS + lead_seconds
        due_ms = round(due) * 1000
        by_id = _created(database, receiver.url("/spike"), due_ms, priorities)
        created_s = due_ms / 1000 - time.time()
        pause(created_s)
        _wait(receiver, database, by_id, pause)
        return Spike(created_s, by_id, receiver.calls("/spike"), _records(database, by_id))


@dataclass(frozen=True, slots=True)
class _Pause:
    stop: threading.Event

    def __call__(self, seconds: float) -> None:
        if self.stop.wait(max(seconds, 0)):
            raise Interrupted


def _created(database: Database, url: str, due_ms: int, priorities: Sequence[Priority]) -> dict[str, Priority]:
    create = CreateJob(DynamoJobStore(database), SystemIds(), ShardCount(DynamoShardLedger(database), LOCAL.shards))

    def one(priority: Priority) -> tuple[str, Priority]:
        wish = NewJob(schedule=OneOff(due_ms), target=HttpTarget(url), priority=priority)
        return create(TENANT, wish, SystemClock().now_ms()).job.id, priority

    with ThreadPoolExecutor(CLIENTS) as pool:
        return dict(pool.map(one, priorities))


def _wait(receiver: Receiver, database: Database, jobs: Mapping[str, Priority], pause: _Pause) -> None:
    """Wait until all have been called and recorded, and a little longer for what comes twice."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline and not _is_settled(receiver, database, jobs):
        pause(LOOK_SECONDS)
    pause(QUIET_SECONDS)


def _is_settled(receiver: Receiver, database: Database, jobs: Mapping[str, Priority]) -> bool:
    """Whether all have been called and recorded; the records are looked at once the calls are there."""
    if len({call.job_id for call in receiver.calls("/spike")}) < len(jobs):
        return False
    return sum(state == RunState.SUCCEEDED for _, state in _records(database, jobs)) >= len(jobs)


def _records(database: Database, jobs: Mapping[str, Priority]) -> list[tuple[str, str]]:
    """The job and the state of each record of these jobs."""
    values = {":kind": text(k.RUN_KIND)}
    runs = (run for page in database.scan(database.jobs, f"#{k.KIND} = :kind", values) for run in page)
    found = ((str(k.job_id_in(run[k.PK]["S"])), run[k.STATE]["S"]) for run in runs)
    return [(job_id, state) for job_id, state in found if job_id in jobs]


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a stack and measure; 0 if nothing was lost and nothing doubled."""
    parser = argparse.ArgumentParser(prog="spike_bench", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2000, help="how many are due in the same second")
    asked = parser.parse_args(arguments)
    try:
        with stop_signals() as stop:
            mixed, plain = _measured(asked.jobs, stop)
    except Interrupted:
        print("stopped before it was done")
        return 2
    print(f"created: the last of them {plain.created_s:.0f} s and {mixed.created_s:.0f} s before they were due")
    for name in MIXED:
        print(f"mixed: priority={name} calls={len(mixed.late_ms(name))} {_lateness(mixed.late_ms(name))}")
    print(f"mixed: {mixed.figures()}")
    print(plain.figures())
    return 1 if mixed.lost or mixed.doubled or plain.lost or plain.doubled else 0


def _measured(jobs: int, stop: threading.Event) -> tuple[Spike, Spike]:
    with running_stack(Options(), Progress(), stop) as running:
        deployment = running.deployment
        stack = Deployed(running.credentials.signing_secret, deployment.endpoint, deployment.outputs)
        plain = spike(stack, jobs, PLAIN, stop=stop)
        return spike(stack, jobs, MIXED, stop=stop), plain


if __name__ == "__main__":
    sys.exit(main())
