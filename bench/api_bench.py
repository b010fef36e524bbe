"""What a tenant with very many jobs costs the API: requests to DynamoDB, units, and memory, by the call.

`make bench-api` starts a local AWS of its own and works on it with the real api and operations functions, in this
process, as they are deployed. The first jobs are created by the API and counted; the others are written as it writes
them, many at once, because only the number matters. Then all are listed, listed with a filter, read, and paused by an
operation.

Nothing may grow with the number of jobs but the number of pages. Exits with 1 if it does. Units read are not told: the
local AWS does not count those of batches.
"""

import argparse
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time_ns
from typing import Any, Self
from urllib.parse import urlencode

from bench.cost_bench import AWS, Bill, as_record, composed, require
from carillon.adapters.dynamodb.api_keys import DynamoApiKeys
from carillon.adapters.dynamodb.control import DynamoShardLedger
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.dynamodb.limits import DynamoTenantLimits
from carillon.adapters.dynamodb.spec_items import spec_item
from carillon.adapters.dynamodb.tenants import DynamoTenants
from carillon.adapters.kms import KmsSigningSecrets
from carillon.adapters.memory.edges import MemoryClock
from carillon.adapters.system import SystemIds
from carillon.application.create_tenant import CreateTenant
from carillon.domain.identity import shard_of
from carillon.domain.job import Definition
from tests.contract.backends import Endpoint, a_session
from tests.contract.local_aws import local_aws
from tests.support.api import event_of
from tests.support.deployed import QUEUES, Context

JOBS, BY_API, PAGE, SHARDS, GETS = 50_000, 100, 100, 2, 20
ITEMS_AT_ONCE = 24
LONGEST_WAIT_SECONDS = 10
FAILED = 300
RARE_EVERY = 100
"""Every so many jobs one has a label that few have."""

DOCUMENT = {"schedule": {"every": "P1D"}, "target": {"type": "http", "url": "https://svc.carillon.dev/hook"}}

MOST_REQUESTS = {"create": 8.0, "list": 4.0, "filter": 25.0, "get": 3.0, "pause": 5.0}
"""To DynamoDB: by the job created, the page, the page of what few have, the job read, the job paused."""

MOST_GROWTH_MIB = 24.0
"""Of the process, from its first list on."""

Json = Any


@dataclass(frozen=True)
class Figures:
    """What calls took: how many of them there were, and what they used in all."""

    calls: int
    used: Mapping[str, float]

    def per_call(self, unit: str) -> float:
        """By the call."""
        return self.used.get(unit, 0) / self.calls


class Crowd:
    """A tenant with many jobs, on new tables, and the functions that serve it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.clock, self.bill = MemoryClock(time_ns() // 1_000_000), Bill()
        self._sqs = endpoint.client("sqs")
        urls = {name: self._sqs.create_queue(QueueName=f"{name}-crowd")["QueueUrl"] for name in QUEUES}
        self._operations_url, self._database = urls["operations"], endpoint.database()
        kms = endpoint.client("kms")
        key_id = kms.create_key()["KeyMetadata"]["KeyId"]
        tenant = CreateTenant(
            DynamoTenants(self._database),
            DynamoApiKeys(self._database),
            KmsSigningSecrets(self._database, kms, key_id),
            DynamoTenantLimits(self._database),
            SystemIds(),
        )("crowd", "test", self.clock.now_ms())
        self._key = tenant.key_text
        DynamoShardLedger(self._database).raise_to(SHARDS)
        names = {"jobs": self._database.jobs, "control": self._database.control, "urls": urls, "key_id": key_id}
        self._api, self._operations = (
            composed(function, names, self.bill, self.clock) for function in ("api", "operations")
        )

    def ask(self, method: str, path: str, body: Json = None, **query: str) -> Json:
        """A request that must succeed; its document."""
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        text = None if body is None else json.dumps(body)
        answer = self._api(event_of(method, path, urlencode(query), headers, text), Context())
        require(answer["statusCode"] < FAILED, True)
        return json.loads(answer["body"])

    def measured(self, work: Callable[[Self], int]) -> Figures:
        """What some work uses; it tells of how many calls it was."""
        self.bill.take()
        with redirect_stdout(StringIO()):  # the functions' logs
            calls = work(self)
        return Figures(calls, self.bill.take())

    def fill(self, jobs: int) -> None:
        """Write so many more jobs as the API has written those that are there."""
        samples = DynamoJobStore(self._database).list_newest("crowd", PAGE, None).definitions
        clones = (self._clone(samples[number % len(samples)], number) for number in range(jobs))
        for some in iter(lambda: list(islice(clones, ITEMS_AT_ONCE // 2)), []):
            _put_all(self._database, [item for each in some for item in (job_item(each.job), spec_item(each.spec))])

    def _clone(self, sample: Definition, number: int) -> Definition:
        """A job like another one, a little older; one of many has the rare label."""
        created_at = sample.job.created_at - 1 - number
        job_id = SystemIds().job_id(created_at)
        labels = {"team": f"t{number % 7}"} | ({"rare": "yes"} if number % RARE_EVERY == 0 else {})
        job = replace(sample.job, id=job_id, shard=shard_of(job_id, SHARDS), created_at=created_at)
        return Definition(job, replace(sample.spec, job_id=job_id, created_at=created_at, labels=labels))

    def pages(self, **query: str) -> Iterator[list[Json]]:
        """All pages of a list."""
        cursor: dict[str, str] = {}
        while True:
            page = self.ask("GET", "/v1/jobs", limit=str(PAGE), **query, **cursor)
            yield page["data"]
            if page["next_cursor"] is None:
                return
            cursor = {"cursor": page["next_cursor"]}

    def operate(self) -> None:
        """Let the operations function work as its queue's mapping would, until the operation is over."""
        url = self._operations_url
        while received := self._sqs.receive_message(QueueUrl=url, WaitTimeSeconds=LONGEST_WAIT_SECONDS).get("Messages"):
            receipt = received[0]["ReceiptHandle"]
            answer = self._operations({"Records": [as_record(received[0])]}, Context())
            if not answer["batchItemFailures"]:
                self._sqs.delete_message(QueueUrl=url, ReceiptHandle=receipt)
                return
            self._sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)


def _put_all(database: Database, items: list[Any]) -> None:
    request = {database.jobs: [{"PutRequest": {"Item": item}} for item in items]}
    while request:
        request = database.client.batch_write_item(RequestItems=request).get("UnprocessedItems", {})


def create(crowd: Crowd) -> int:
    """Create the first jobs, a batch at once."""
    crowd.ask("POST", "/v1/jobs/batch", {"jobs": [DOCUMENT] * BY_API})
    return BY_API


def list_all(jobs: int) -> Callable[[Crowd], int]:
    """List all jobs, each of which is there once."""

    def work(crowd: Crowd) -> int:
        seen, pages = set(), 0
        for page in crowd.pages():
            pages += 1
            seen.update(job["id"][-12:] for job in page)
        require(len(seen), jobs)
        return pages

    return work


def list_rare(found: int) -> Callable[[Crowd], int]:
    """List the few jobs with a label."""

    def work(crowd: Crowd) -> int:
        pages = list(crowd.pages(label="rare:yes"))
        require(sum(map(len, pages)), found)
        return len(pages)

    return work


def get_some(crowd: Crowd) -> int:
    """Read some jobs, one by one."""
    for job in islice(next(crowd.pages()), GETS):
        require(crowd.ask("GET", f"/v1/jobs/{job['id']}")["id"], job["id"])
    return GETS


def pause_all(jobs: int) -> Callable[[Crowd], int]:
    """Pause all jobs by one operation."""

    def work(crowd: Crowd) -> int:
        operation = crowd.ask("POST", "/v1/jobs/bulk", {"action": "pause", "filter": {"state": "scheduled"}})
        crowd.operate()
        done = crowd.ask("GET", f"/v1/operations/{operation['id']}")
        require((done["state"], done["progress"]["done"]), ("succeeded", jobs))
        return jobs

    return work


def rss_mib() -> float:
    """The most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(endpoint: Endpoint, jobs: int) -> tuple[dict[str, Figures], float]:
    """What each kind of call took among so many jobs, and by how much the process grew meanwhile (MiB)."""
    crowd = Crowd(endpoint)
    figures = {"create": crowd.measured(create)}
    crowd.fill(jobs - BY_API)
    crowd.measured(get_some)  # what the first call of a process loads is no growth
    before = rss_mib()
    rare = len(range(0, jobs - BY_API, RARE_EVERY))
    work = {"list": list_all(jobs), "filter": list_rare(rare), "get": get_some, "pause": pause_all(jobs)}
    figures |= {name: crowd.measured(each) for name, each in work.items()}
    return figures, rss_mib() - before


def main() -> int:
    """Print all figures; 1 if one is above its target."""
    parser = argparse.ArgumentParser(description="Measure the API for a tenant with very many jobs.")
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many jobs")
    jobs = parser.parse_args().jobs
    with TemporaryDirectory() as folder, local_aws(Path(folder)) as url:
        os.environ |= {**AWS, "AWS_ENDPOINT_URL": url}
        figures, growth_mib = measure(Endpoint(a_session(), url), jobs)
    print(f"{'call':8} {'calls':>7} {'requests':>9} {'written':>8}   by the call, among {jobs} jobs")
    for name, each in figures.items():
        print(f"{name:8} {each.calls:7} {each.per_call('requests'):9.2f} {each.per_call('wru'):8.2f}")
    above = [name for name, most in MOST_REQUESTS.items() if figures[name].per_call("requests") > most]
    if above or growth_mib > MOST_GROWTH_MIB:
        print(f"ABOVE the target: {', '.join(above) or 'memory'}")
    print(
        f"jobs={jobs} create_wru={figures['create'].per_call('wru'):.2f} "
        f"list_requests={figures['list'].per_call('requests'):.2f} "
        f"filter_requests={figures['filter'].per_call('requests'):.2f} "
        f"pause_wru={figures['pause'].per_call('wru'):.2f} rss_growth_mib={growth_mib:.1f}"
    )
    return 1 if above or growth_mib > MOST_GROWTH_MIB else 0


if __name__ == "__main__":
    sys.exit(main())
