"""One tenant's dead endpoints beside another tenant's jobs, on the local stack: how late do those come?

`python -m bench.isolation_bench` lets a quiet tenant have a run several times a second for a while: once alone, once
beside a noisy tenant whose runs go to an endpoint that hangs and to one that refuses, many times more. It compares how
late the quiet tenant's calls came, and counts the attempts that were spent on the dead endpoints. The last line:
`quiet=… noisy=… lost=… late_p50_ms=<alone>/<beside> late_p99_ms=<alone>/<beside> p99_ratio=… noisy_attempts_per_run=…`.

Nothing is asserted: a laptop runs all functions on the same few processors, and the local AWS has no fair queues. What
holds is asserted under the virtual clock, in `tests/unit/application/test_isolation.py`.
"""

import argparse
import socket
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from bench.spike_bench import CLIENTS, CREATION_SECONDS, Deployed
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import text
from carillon.adapters.dynamodb.control import DynamoShardLedger
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.system import SystemClock, SystemIds
from carillon.application.create_job import CreateJob, NewJob, ShardCount
from carillon.domain.job import HttpTarget
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import OneOff
from carillon_cli.dev.command import stop_signals
from carillon_cli.dev.errors import Interrupted
from carillon_cli.dev.operator import local_operator
from carillon_cli.dev.progress import Progress
from carillon_cli.dev.project import REGION
from carillon_cli.dev.provision import TENANT
from carillon_cli.dev.receiver import Answer, Receiver
from carillon_cli.dev.smoke import percentile
from carillon_cli.dev.stack import Options, running_stack
from carillon_cli.tenants import create_tenant
from infra.stages import LOCAL

QUIET_TENANT = "quiet-neighbour"
SECONDS = 40
QUIET_EACH_SECOND = 4
LEAD_SECONDS = 10.0
HANG_SECONDS = 5.0
SETTLE_SECONDS = 240.0
LOOK_SECONDS = 0.5
RETRY = RetryPolicy(max_attempts=50, base_ms=2_000, max_delay_ms=10_000)


@dataclass(frozen=True, slots=True)
class Round:
    """How late the quiet tenant's calls came, ms, how many are missing, and what the noisy tenant's runs have spent."""

    late_ms: Sequence[int]
    lost: int
    noisy_attempts: int

    def late(self, percent: int) -> int:
        """A percentile of the lateness."""
        return percentile(self.late_ms, percent) if self.late_ms else 0


@dataclass(frozen=True, slots=True)
class Bench:
    """A running stack with a second tenant."""

    database: Database
    receiver: Receiver
    stop: threading.Event

    def measure(self, noisy: int) -> Round:
        """A round: the quiet tenant's runs, beside so many of the noisy tenant's to each of its two dead endpoints."""
        path = f"/quiet-{noisy}"
        quiet = SECONDS * QUIET_EACH_SECOND
        begin_ms = round((time.time() + (quiet + 2 * noisy) * CREATION_SECONDS + LEAD_SECONDS) * 1000)
        wishes = [(QUIET_TENANT, self._to(self.receiver.url(path)), _at(begin_ms, n, quiet)) for n in range(quiet)]
        dead = (self.receiver.url("/hangs"), f"http://127.0.0.1:{_closed_port()}/refuses")
        wishes += [(TENANT, self._to(url), _at(begin_ms, n, noisy)) for url in dead for n in range(noisy)]
        ids = self._created(wishes)
        self._pause(begin_ms / 1000 - time.time() + SECONDS)
        deadline = time.monotonic() + SETTLE_SECONDS
        while len({call.job_id for call in self.receiver.calls(path)}) < quiet and time.monotonic() < deadline:
            self._pause(LOOK_SECONDS)
        calls = self.receiver.calls(path)
        lost = quiet - len({call.job_id for call in calls})
        return Round([call.late_ms for call in calls], lost, self._attempts(ids[TENANT]))

    def _to(self, url: str) -> HttpTarget:
        return HttpTarget(url, timeout_ms=round(HANG_SECONDS * 1000))

    def _created(self, wishes: Sequence[tuple[str, HttpTarget, int]]) -> dict[str, set[str]]:
        ledger = DynamoShardLedger(self.database)
        create = CreateJob(DynamoJobStore(self.database), SystemIds(), ShardCount(ledger, LOCAL.shards))

        def one(wish: tuple[str, HttpTarget, int]) -> tuple[str, str]:
            tenant, target, due_ms = wish
            new = NewJob(schedule=OneOff(due_ms), target=target, retry=RETRY)
            return tenant, create(tenant, new, SystemClock().now_ms()).job.id

        ids: dict[str, set[str]] = {TENANT: set(), QUIET_TENANT: set()}
        with ThreadPoolExecutor(CLIENTS) as pool:
            for tenant, job_id in pool.map(one, wishes):
                ids[tenant].add(job_id)
        return ids

    def _attempts(self, jobs: set[str]) -> int:
        values = {":kind": text(k.RUN_KIND)}
        runs = (run for page in self.database.scan(self.database.jobs, f"#{k.KIND} = :kind", values) for run in page)
        return sum(int(run[k.ATTEMPT]["N"]) for run in runs if k.job_id_in(run[k.PK]["S"]) in jobs)

    def _pause(self, seconds: float) -> None:
        if self.stop.wait(max(seconds, 0)):
            raise Interrupted


def _at(begin_ms: int, number: int, count: int) -> int:
    """When the n-th of so many runs is due that are spread over the round, epoch ms."""
    return begin_ms + number * SECONDS * 1000 // count


def _closed_port() -> int:
    """A port where nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return int(taken.getsockname()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a stack and measure; 2 if somebody stopped it."""
    parser = argparse.ArgumentParser(prog="isolation_bench", description=__doc__)
    parser.add_argument("--noisy", type=int, default=1000, help="runs to each of the two dead endpoints")
    asked = parser.parse_args(arguments)
    try:
        with stop_signals() as stop:
            alone, beside = _measured(asked.noisy, stop)
    except Interrupted:
        print("stopped before it was done")
        return 2
    ratio = beside.late(99) / max(alone.late(99), 1)
    counts = f"quiet={SECONDS * QUIET_EACH_SECOND} noisy={2 * asked.noisy} lost={alone.lost + beside.lost}"
    late = " ".join(f"late_p{percent}_ms={alone.late(percent)}/{beside.late(percent)}" for percent in (50, 99))
    spent = beside.noisy_attempts / (2 * asked.noisy)
    print(f"{counts} {late} p99_ratio={ratio:.2f} noisy_attempts_per_run={spent:.2f}")
    return 0


def _measured(noisy: int, stop: threading.Event) -> tuple[Round, Round]:
    with running_stack(Options(), Progress(), stop) as running, local_operator(running.deployment.endpoint):
        deployment = running.deployment
        stack = Deployed(running.credentials.signing_secret, deployment.endpoint, deployment.outputs)
        made = create_tenant(
            QUIET_TENANT, outputs=deployment.outputs, endpoint_url=deployment.endpoint, region=REGION, mode="test"
        )
        with Receiver(made.signing_secret) as receiver:
            receiver.answer("/hangs", Answer(200, delay_seconds=HANG_SECONDS + 1))
            bench = Bench(stack.database(), receiver, stop)
            return bench.measure(0), bench.measure(noisy)


if __name__ == "__main__":
    sys.exit(main())
