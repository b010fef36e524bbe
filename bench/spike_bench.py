"""Many jobs due in one second, on the local stack: are all called, each once, and how late?

`python -m bench.spike_bench` creates them through the API some time ahead, once all with the same priority and once
with all three, and compares what a receiver and the records say. The figures of the mixed round come first. The last
line is of the plain one: `jobs=… calls=… lost=… doubled=… late_p50_ms=… late_p99_ms=…`. It fails if a job was not
called, was called twice, or has no record of success.
"""

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.config import Config
from botocore.session import get_session

from carillon.adapters.dynamodb import keys as k
from carillon_cli.client import Client
from carillon_cli.dev.command import stop_signals
from carillon_cli.dev.progress import Progress
from carillon_cli.dev.project import CREDENTIALS, REGION
from carillon_cli.dev.receiver import Call, Receiver
from carillon_cli.dev.smoke import percentile
from carillon_cli.dev.stack import Options, running_stack

CLIENTS = 8
WARM_UPS = 24
LOOK_AHEAD_SECONDS = 60
LEAD_SECONDS = LOOK_AHEAD_SECONDS + 15
SETTLE_SECONDS = 300.0
QUIET_SECONDS = 3.0
LOOK_SECONDS = 0.5
PLAIN = {"normal": 1.0}
MIXED = {"high": 0.1, "normal": 0.45, "low": 0.45}


@dataclass(frozen=True, slots=True)
class Deployed:
    """Where a running stack is: its API with a key, its tenant's signing secret, and the table behind it."""

    url: str
    api_key: str
    signing_secret: str
    aws_endpoint: str
    jobs_table: str


@dataclass(frozen=True, slots=True)
class Spike:
    """What came of the jobs.

    Attributes:
        priorities: of each job, by its id.
        calls: all that the receiver got for them.
        records: the job and the state of each of their records.
    """

    priorities: Mapping[str, str]
    calls: Sequence[Call]
    records: Sequence[tuple[str, str]]

    @property
    def lost(self) -> int:
        """Jobs that were not called, or whose record of success is missing."""
        succeeded = {job_id for job_id, state in self.records if state == "succeeded"}
        return len(self.priorities.keys() - ({call.job_id for call in self.calls} & succeeded))

    @property
    def doubled(self) -> int:
        """Calls and records beyond one a job."""
        called, recorded = {call.job_id for call in self.calls}, {job_id for job_id, _ in self.records}
        return len(self.calls) - len(called) + len(self.records) - len(recorded)

    def late_ms(self, priority: str) -> list[int]:
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


def spike(stack: Deployed, jobs: int, shares: Mapping[str, float], *, lead_seconds: float = LEAD_SECONDS) -> Spike:
    """Let so many jobs be due in the same second, and wait for what comes of them.

    Args:
        stack: which is running.
        jobs: how many.
        shares: of each priority.
        lead_seconds: how long before they are due the last of them is created, if all goes as fast as the first.
    """
    priorities = [name for name, share in shares.items() for _ in range(round(jobs * share))]
    with Client(stack.url, stack.api_key) as client, Receiver(stack.signing_secret) as receiver:
        due = _due_time(client, receiver.url("/warm-up"), len(priorities), lead_seconds)
        made = _created(client, [_job(receiver.url("/spike"), due, name) for name in priorities])
        created_s = (due - datetime.now(UTC)).total_seconds()
        if created_s < LOOK_AHEAD_SECONDS:
            print(f"the last of {len(made)} jobs was created {created_s:.0f} s before they were due")
        by_id = dict(zip(made, priorities, strict=True))
        time.sleep(max((due - datetime.now(UTC)).total_seconds(), 0))
        _wait(receiver, stack, by_id)
        return Spike(by_id, receiver.calls("/spike"), _states(stack, by_id))


def _job(url: str, due: datetime, priority: str) -> dict[str, Any]:
    run_at = due.isoformat(timespec="milliseconds")
    return {"schedule": {"run_at": run_at}, "target": {"type": "http", "url": url}, "priority": priority}


def _due_time(client: Client, url: str, jobs: int, lead_seconds: float) -> datetime:
    """A whole second so long after the creation of so many jobs, going by that of a few."""
    begun = time.monotonic()
    far = datetime.now(UTC) + timedelta(days=1)
    warm_ups = _created(client, [_job(url, far, "normal")] * WARM_UPS)
    seconds_each = (time.monotonic() - begun) / WARM_UPS
    for job_id in warm_ups:
        client.cancel_job(job_id)
    ahead = timedelta(seconds=jobs * seconds_each * 1.5 + lead_seconds)
    return (datetime.now(UTC) + ahead).replace(microsecond=0)


def _created(client: Client, definitions: Sequence[dict[str, Any]]) -> list[str]:
    with ThreadPoolExecutor(CLIENTS) as pool:
        return [job["id"] for job in pool.map(client.create_job, definitions)]


def _wait(receiver: Receiver, stack: Deployed, jobs: Mapping[str, str]) -> None:
    """Wait until all have been called and recorded, and a little longer for what comes twice."""
    deadline = time.monotonic() + SETTLE_SECONDS
    receiver.wait_for(lambda calls: len({call.job_id for call in calls} & jobs.keys()) == len(jobs), SETTLE_SECONDS)
    while time.monotonic() < deadline:
        if Counter(state for _, state in _states(stack, jobs))["succeeded"] >= len(jobs):
            break
        time.sleep(LOOK_SECONDS)
    time.sleep(QUIET_SECONDS)


def _states(stack: Deployed, jobs: Mapping[str, str]) -> list[tuple[str, str]]:
    """The job and the state of each record of these jobs."""
    dynamodb = get_session().create_client(
        "dynamodb",
        region_name=REGION,
        endpoint_url=stack.aws_endpoint,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(proxies={}, read_timeout=60),
    )
    pages = dynamodb.get_paginator("scan").paginate(TableName=stack.jobs_table, ConsistentRead=True)
    runs = [item for page in pages for item in page["Items"] if item[k.KIND]["S"] == k.RUN_KIND]
    found = ((str(k.job_id_in(run[k.PK]["S"])), run[k.STATE]["S"]) for run in runs)
    return [(job_id, state) for job_id, state in found if job_id in jobs]


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a stack and measure; 0 if nothing was lost and nothing doubled."""
    parser = argparse.ArgumentParser(prog="spike_bench", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2000, help="how many are due in the same second")
    asked = parser.parse_args(arguments)
    with stop_signals() as stop:
        mixed, plain = _measured(asked.jobs, stop)
    for name in MIXED:
        print(f"mixed: priority={name} calls={len(mixed.late_ms(name))} {_lateness(mixed.late_ms(name))}")
    print(f"mixed: {mixed.figures()}")
    print(plain.figures())
    return 1 if mixed.lost or mixed.doubled or plain.lost or plain.doubled else 0


def _measured(jobs: int, stop: threading.Event) -> tuple[Spike, Spike]:
    with running_stack(Options(), Progress(), stop) as running:
        stack = Deployed(
            url=running.url,
            api_key=running.credentials.api_key,
            signing_secret=running.credentials.signing_secret,
            aws_endpoint=running.deployment.endpoint,
            jobs_table=running.deployment.outputs["JobsTable"],
        )
        plain = spike(stack, jobs, PLAIN)
        return spike(stack, jobs, MIXED), plain


if __name__ == "__main__":
    sys.exit(main())
