"""What a callback costs the worker in processor time and memory, beside two other clients.

    make bench-worker

The target answers from a process of its own, over TLS, and every call makes a new connection: the processor time of
this process is the client's. The worker's part is whole: message, judgement, signature, call, records, 50 side by side;
only its tables are in memory, so that AWS's client is not measured along. The others only call: `requests` in a plain
loop, aiohttp with 50 calls at a time, and bare sockets that do no more than connect, shake hands, send and read. The
figures are medians of several rounds, in which they take turns; the last line is for programs.

Then 50 calls at a time go to targets that misbehave. Memory that grows is memory that their answers took.
"""

import asyncio
import cProfile
import pstats
import resource
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path

import aiohttp
import requests

from bench.target_stub import GOOD_PATH, HOSTILE, LOCALHOST, NAME
from carillon.adapters.http.caller import HttpCaller
from carillon.adapters.http.dialling import default_tls
from carillon.adapters.memory.target_queues import MemoryTargetQueues
from carillon.adapters.memory.tenants import MemoryBreakers
from carillon.adapters.memory.world import MemoryWorld
from carillon.application.breakers import Breakers
from carillon.application.create_job import CreateJob, NewJob, ShardCount
from carillon.application.execute_run import ExecuteRun, ExecutionTiming
from carillon.application.run_records import RunRecords
from carillon.domain.breaker import BreakerRules
from carillon.domain.identity import RunKey
from carillon.domain.job import HttpTarget
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.outcomes import CallRequest, Failure
from carillon.domain.run import RunState
from carillon.domain.schedule import Every
from carillon.domain.signing import new_secret
from carillon.domain.targets import TargetPolicy

CALLS = 200
ROUNDS = 3
SIDE_BY_SIDE = 50
HOSTILE_CALLS = 50
"""To each target that misbehaves."""
TENANT = "bench"
PAYLOAD = b'{"text": "' + b"x" * 500 + b'"}'
POLICY = TargetPolicy(ports=None, reserved_names=frozenset(), networks=("127.0.0.0/8", "::1/128"))
EXPECTED = {
    "/large-body": 200,
    "/chunks": 200,
    "/large-head": Failure.RESPONSE_TOO_LARGE,
    "/one-header": Failure.RESPONSE_TOO_LARGE,
    "/early-hints": Failure.RESPONSE_TOO_LARGE,
    "/bomb": 200,
    "/drip": Failure.TIMEOUT,
}


@dataclass(frozen=True)
class Target:
    """Where the stub serves, and who vouches for it."""

    port: int
    authority: Path

    def url(self, path: str) -> str:
        """An address of it, of the form that a job's target has."""
        return f"https://{NAME}:{self.port}{path}"

    @property
    def local_url(self) -> str:
        """The address of the good one, under a name that every client can resolve."""
        return f"https://{LOCALHOST}:{self.port}{GOOD_PATH}"

    def context(self) -> ssl.SSLContext:
        """TLS settings that trust it, made once as the worker's are."""
        context = default_tls()
        context.load_verify_locations(self.authority)
        return context


class Resolver:
    """Asks the system, for this machine."""

    def resolve(self, _host: str) -> Sequence[str]:
        """See `adapters.http.resolving.Resolver`."""
        return [str(found[4][0]) for found in socket.getaddrinfo(LOCALHOST, None, type=socket.SOCK_STREAM)]


class Deaf:
    """A delivery whose queue does not listen."""

    message_id = "bench"

    def __init__(self, body: str) -> None:
        self.body = body

    def come_again_after(self, after_ms: int) -> None:
        """See `ports.Delivery`."""


@contextmanager
def target() -> Iterator[Target]:
    """A stub of its own process."""
    with tempfile.TemporaryDirectory() as folder:
        authority = Path(folder) / "authority.pem"
        command = [sys.executable, "-m", "bench.target_stub", str(authority)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield Target(int(process.stdout.readline()), authority)
            process.communicate(timeout=30)


NEVER_OPEN = BreakerRules(failures=1_000_000)
"""The targets that misbehave are called again and again: that is what is measured."""


class Worker:
    """The worker over tables in memory, with runs that are due."""

    def __init__(self, at: Target) -> None:
        self.world = MemoryWorld()
        context = at.context()
        self.caller = HttpCaller(self.world.clock, POLICY, resolver=Resolver(), tls=lambda: context)
        self.world.secrets.add(TENANT, "sec_1", new_secret(bytes(32)), 0)
        records = RunRecords(self.world.jobs, self.world.runs, self.world.clock, self.world.meter, retention_ms=0)
        ports = (records, self.world.secrets, self.caller, self.world.ids)
        self.execute = ExecuteRun(
            *ports,
            ExecutionTiming(),
            self.world.destinations,
            Breakers(MemoryBreakers(self.world.state), self.world.meter, self.world.ids, NEVER_OPEN),
            MemoryTargetQueues(self.world.clock),
            "https://api.example.net",
            lambda: self.world.payloads,
        )
        self._job_id = self._create_job(at.url(GOOD_PATH))
        self._at_ms = self.world.clock.now_ms()

    def _create_job(self, url: str) -> str:
        create = CreateJob(self.world.jobs, self.world.ids, ShardCount(self.world.shards, 1))
        wish = NewJob(schedule=Every(1_000, 0), target=HttpTarget(url), payload=PAYLOAD)
        return create(TENANT, wish, self.world.clock.now_ms()).job.id

    def deliveries(self, count: int) -> list[Deaf]:
        """Messages of runs that have not run yet."""
        self._at_ms -= count
        return [Deaf(self._message(self._at_ms + number).encode()) for number in range(count)]

    def _message(self, at_ms: int) -> WorkMessage:
        return WorkMessage(MessageKind.FIRST, RunKey.of(self._job_id, at_ms), TENANT, at_ms, 1, 0, "")

    def run(self, spread: Callable[..., Iterator[object]], count: int = CALLS) -> float:
        """Processor time of handling so many messages, ms each."""
        deliveries = self.deliveries(count)
        handle = partial(self._handle, self.world.clock.now_ms() + 900_000)
        spent = measured(lambda: list(spread(handle, deliveries)))
        ended = [run.state for run in self.world.state.runs.pop(self._job_id).values()]
        assert ended == [RunState.SUCCEEDED] * count, set(ended)
        return spent * 1000 / count

    def _handle(self, stop_by_ms: int, delivery: Deaf) -> bool:
        return self.execute(delivery, stop_by_ms)

    def call(self, url: str) -> int | Failure | None:
        """One call, of a second at most: its status or its failure."""
        request = CallRequest("POST", url, (("Content-Type", "application/json"),), PAYLOAD)
        deadline_ms = self.world.clock.now_ms() + (1_000 if url.endswith("/drip") else 60_000)
        outcome = self.caller.call(request, deadline_ms=deadline_ms, beat=lambda: True, beat_every_ms=20_000)
        return outcome.status or outcome.failure


def measured(work: Callable[[], object]) -> float:
    """Processor time of this process while it works, s."""
    began = time.process_time()
    work()
    return time.process_time() - began


def bare_ms(at: Target) -> float:
    """Processor time of what no client can do without: connect, shake hands, send, read; ms a call."""
    context = at.context()
    head = f"POST {GOOD_PATH} HTTP/1.1\r\nHost: {LOCALHOST}\r\nContent-Length: {len(PAYLOAD)}\r\n\r\n"

    def loop() -> None:
        for _ in range(CALLS):
            sock = socket.create_connection(("127.0.0.1", at.port))
            with context.wrap_socket(sock, server_hostname=LOCALHOST) as secured:
                secured.sendall(head.encode() + PAYLOAD)
                assert secured.recv(65_536).startswith(b"HTTP/1.1 200 ")

    return measured(loop) * 1000 / CALLS


def requests_ms(at: Target) -> float:
    """Processor time of a plain loop of `requests.post`, ms a call."""
    url, verify = at.local_url, str(at.authority)
    headers = {"Content-Type": "application/json", "Connection": "close"}

    def loop() -> None:
        for _ in range(CALLS):
            answer = requests.post(url, PAYLOAD, headers=headers, verify=verify, timeout=60)
            assert answer.status_code == HTTPStatus.OK

    return measured(loop) * 1000 / CALLS


def aiohttp_ms(at: Target) -> float:
    """Processor time of aiohttp with as many calls at a time as the worker makes, ms a call."""
    return measured(lambda: asyncio.run(_aiohttp_calls(at.local_url, at.context()))) * 1000 / CALLS


async def _aiohttp_calls(url: str, context: ssl.SSLContext) -> None:
    places = asyncio.Semaphore(SIDE_BY_SIDE)
    connector = aiohttp.TCPConnector(ssl=context, force_close=True, limit=SIDE_BY_SIDE)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def call() -> None:
            headers = {"Content-Type": "application/json"}
            async with places, session.post(url, data=PAYLOAD, headers=headers) as answer:
                await answer.read()
                assert answer.status == HTTPStatus.OK

        await asyncio.gather(*(call() for _ in range(CALLS)))


def highest_rss_mib() -> float:
    """The most memory that this process has ever held, MiB."""
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest / (1024 * 1024 if sys.platform == "darwin" else 1024)


def rss_growth_mib(worker: Worker, at: Target, pool: ThreadPoolExecutor) -> float:
    """By how much that has grown after calls to all targets that misbehave, each of which ended as it should."""
    before = highest_rss_mib()
    for path in HOSTILE:
        outcomes = set(pool.map(worker.call, [at.url(path)] * HOSTILE_CALLS))
        assert outcomes == {EXPECTED[path]}, (path, outcomes)
        print(f"{HOSTILE_CALLS} calls to {path}: {EXPECTED[path]}, highest memory {highest_rss_mib():.1f} MiB")
    return highest_rss_mib() - before


def _medians(measurements: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """The median of each over some rounds, in which they take turns: what else the machine does hits all alike."""
    rounds = [[measure() for measure in measurements.values()] for _ in range(ROUNDS)]
    return dict(zip(measurements, map(statistics.median, zip(*rounds, strict=True)), strict=True))


def main() -> None:
    """Measure and print."""
    with target() as at, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        worker = Worker(at)
        worker.run(pool.map)  # what is made once is made
        growth = rss_growth_mib(worker, at, pool)
        profile = cProfile.Profile(time.process_time)
        profile.runcall(worker.run, map)
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)
        figures = _medians(
            {
                "worker": lambda: worker.run(pool.map),
                "worker, one by one": lambda: worker.run(map),
                "requests, one by one": lambda: requests_ms(at),
                "aiohttp": lambda: aiohttp_ms(at),
                "bare sockets, one by one": lambda: bare_ms(at),
            }
        )
    mine = figures["worker"]
    print(f"{CALLS} callbacks a round, {ROUNDS} rounds, {SIDE_BY_SIDE} side by side, a new TLS connection each.")
    for name, ms in figures.items():
        print(f"{name:26} {ms:5.2f} ms of processor time, worker/this {mine / ms:.2f}")
    of_requests = figures["requests, one by one"]
    print(f"ms_per_callback={mine:.2f} rss_growth_mib={growth:.1f} vs_requests={mine / of_requests:.2f}")


if __name__ == "__main__":
    main()
