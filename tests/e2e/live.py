"""What end-to-end tests do again and again with a running Carillon: ask it from outside, and wait, bounded in time."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from botocore.config import Config
from botocore.session import get_session

from carillon.client import Client
from carillon_cli.dev.project import REGION
from carillon_cli.dev.receiver import Call

ENDED = frozenset({"succeeded", "dead_lettered", "cancelled", "skipped"})
LOOK_SECONDS = 0.2

Json = dict[str, Any]


def eventually(truth: Callable[[], bool], bound_seconds: float) -> bool:
    """Whether it becomes true within a bounded time."""
    deadline = time.monotonic() + bound_seconds
    while not truth():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def wait_until(moment: datetime) -> None:
    """Wait for an instant that is ahead."""
    time.sleep(max((moment - datetime.now(UTC)).total_seconds(), 0))


def job(url: str, schedule: Mapping[str, Any], *, target: Mapping[str, Any] | None = None, **fields: Any) -> Json:
    """A job that calls a URL; `target` adds to the target."""
    return {"schedule": schedule, "target": {"type": "http", "url": url, **(target or {})}, **fields}


def ended_runs(client: Client, job_id: str, count: int, bound_seconds: float) -> list[Json]:
    """The runs of a job, oldest first, as soon as so many have ended; all that there are at the limit."""
    runs: list[Json] = []

    def enough() -> bool:
        runs[:] = reversed(list(client.runs(job_id)))
        return sum(run["state"] in ENDED for run in runs) >= count

    eventually(enough, bound_seconds)
    return runs


def checked(calls: list[Call]) -> list[Call]:
    """The same calls, after a look at their signatures: the receiver's library found each of them right."""
    assert [call.problem for call in calls] == [None] * len(calls)
    return calls


def count_items(endpoint: str, table: str) -> int:
    """How many items a table of the local AWS holds, read with strong consistency."""
    with closing(aws_client(endpoint, "dynamodb")) as dynamodb:
        pages = dynamodb.get_paginator("scan").paginate(TableName=table, Select="COUNT", ConsistentRead=True)
        return sum(page["Count"] for page in pages)


def aws_client(endpoint: str, service: str, key: tuple[str, str] = ("test", "test")) -> Any:
    """A client of a service of the local AWS, with the operator's key or another."""
    return get_session().create_client(
        service,
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=key[0],
        aws_secret_access_key=key[1],
        config=Config(proxies={}),
    )
