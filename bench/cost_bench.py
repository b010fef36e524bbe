"""What runs cost in DynamoDB units and SQS requests, counted by a local AWS that counts as AWS does.

`make bench-cost` starts a local AWS of its own, makes tables and queues, and lets the real functions work
on them in this process, composed as they are deployed: the API creates, ticks dispatch, the worker calls a target on
this machine. Each call to DynamoDB asks for its consumed capacity. The clock is moved by hand, so nothing waits.

Every dispatch finds a hundred jobs: what a dispatcher pays once an invocation (the lease of its group, reading the
index) is spread over them. Receiving and deleting in batches of ten is what the event source mapping does; empty
receives and the ticks themselves cost the same whatever runs, and are not counted.

Exits with 1 if a figure is above its target (docs/design.md, Targets).
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from http import HTTPStatus
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, local
from time import time_ns
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from bench.bill import bill_table, offers_table, recurring_bill, total
from carillon import bootstrap
from carillon.adapters.dynamodb import keys
from carillon.adapters.dynamodb.api_keys import DynamoApiKeys
from carillon.adapters.dynamodb.control import DynamoShardLedger
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.limits import DynamoTenantLimits
from carillon.adapters.dynamodb.tenants import DynamoTenants
from carillon.adapters.kms import KmsSigningSecrets
from carillon.adapters.memory.edges import MemoryClock
from carillon.adapters.system import SystemIds
from carillon.application.create_tenant import CreateTenant
from carillon.domain.limits import DispatchLimit, Limits
from carillon.domain.messages import Tick
from carillon_cli.dev.receiver import Answer, Call, Receiver
from tests.contract.backends import Endpoint, a_session
from tests.contract.local_aws import local_aws
from tests.support.api import event_of
from tests.support.deployed import QUEUES, WORK_QUEUES, Context, environment_of

JOBS, CYCLES, BATCH, SHARDS = 100, 3, 10, 2
LEASE_SHARE = {"wru": 0.05}
"""What taking and giving up the lease of a group adds to each run of a dispatch: no target is meant to count it."""

FREEING_SHARE = 4 / JOBS
"""Taking off the count what has ended: two items in a transaction, once for all of a tenant that end in a second."""

SECOND_MS, MINUTE_MS, HOUR_MS = 1_000, 60_000, 3_600_000
STREAM_BATCH = 100
NONE_FAILED: dict[str, list[str]] = {"batchItemFailures": []}
LIMITS_KNOWN_MS = MINUTE_MS
"""After so long a dispatcher knows a new limit."""

READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems"})
PAYLOAD = {"fill": "x" * 500}  # 512 bytes with what is around it
AWS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
Units = Mapping[str, float]
Scenario = Callable[["System", Receiver], dict[str, float]]


@dataclass
class Bill:
    """What the functions' calls have used since it was last taken: requests to DynamoDB, units, requests to queues."""

    used: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)
    request: local = field(default_factory=local)

    def watch(self, client: Any, service: str) -> Any:
        """Count what a client does from now on."""
        if service == "dynamodb":
            client.meta.events.register("before-parameter-build.dynamodb", self._ask)
            client.meta.events.register("after-call.dynamodb", self._add_units)
        if service == "sqs":
            client.meta.events.register("before-call.sqs", self._add_request)
        return client

    def take(self) -> Units:
        """What was used, and start anew."""
        with self.lock:
            taken, self.used = self.used, Counter()
        return taken

    def _ask(self, params: dict[str, Any], **_: object) -> None:
        params["ReturnConsumedCapacity"] = "INDEXES"
        self.request.statements = params.get("Statements", [])

    def _add_units(self, parsed: dict[str, Any], model: Any, **_: object) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        entries = [entry for entry in (consumed if isinstance(consumed, list) else [consumed]) if entry]
        units = sum(entry["CapacityUnits"] for entry in entries)
        control = sum(entry["CapacityUnits"] for entry in entries if "control" in entry["TableName"])
        # Of statements the local AWS counts the table's units only.
        answered = zip(self.request.statements, parsed.get("Responses", ()), strict=False)
        units += sum(index_units(each["Statement"]) for each, answer in answered if "Error" not in answer)
        with self.lock:
            self.used["requests"] += 1
            self.used["rru" if model.name in READS else "wru"] += units
            self.used["control_wru"] += 0 if model.name in READS else control

    def _add_request(self, **_: object) -> None:
        with self.lock:
            self.used["sqs"] += 1


def index_units(statement: str) -> int:
    """What an update of a small job costs the due index: leaving it is a delete, moving in it a delete and a put."""
    if f'REMOVE "{keys.SHARD}"' in statement:
        return 1
    return 2 if f'SET "{keys.NEXT_FIRE_TIME}"' in statement else 0


def composed(function: str, settings: Mapping[str, Any], bill: Bill, clock: MemoryClock) -> Any:
    """A function as it is deployed, with a watched client for each service, under a clock of our own."""
    real = bootstrap.new_client

    def watched(session: Any, service: str, **options: Any) -> Any:
        return bill.watch(real(session, service, **options), service)

    with (
        patch.dict(os.environ, environment_of(function, **settings)),
        patch.object(bootstrap, "new_client", watched),
        patch.object(bootstrap, "SystemClock", lambda: clock),
    ):
        return getattr(bootstrap, function)()


class System:
    """The functions over new tables and queues, and the event source mapping that feeds the worker."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.clock = MemoryClock(time_ns() // 1_000_000)
        self.bill = Bill()
        self._sqs = self.bill.watch(endpoint.client("sqs"), "sqs")
        urls = {name: self._sqs.create_queue(QueueName=f"{name}-bench")["QueueUrl"] for name in QUEUES}
        self._work = {name: urls[name] for name in WORK_QUEUES}
        database, kms = endpoint.database(), endpoint.client("kms")
        key_id = kms.create_key()["KeyMetadata"]["KeyId"]
        self.limits = DynamoTenantLimits(database)
        secrets = KmsSigningSecrets(database, kms, key_id)
        create_tenant = CreateTenant(
            DynamoTenants(database), DynamoApiKeys(database), secrets, self.limits, SystemIds()
        )
        tenant = create_tenant("bench", "test", self.clock.now_ms())
        self._key, self.secret = tenant.key_text, tenant.signing_secret
        DynamoShardLedger(database).raise_to(SHARDS)  # as in any stage that has been used before
        names = {"jobs": database.jobs, "control": database.control, "urls": urls, "key_id": key_id}
        self._api, self._dispatcher, self._worker, self._retention = (
            composed(function, names | {"side_by_side": BATCH, "breaker_failures": 1000}, self.bill, self.clock)
            for function in ("api", "dispatcher", "worker", "retention")
        )
        self._streams, self._stream = endpoint.client("dynamodbstreams"), stream_of(database)
        self.bill.take()

    def create(
        self, url: str, schedule: Mapping[str, Any], count: int = JOBS, *, keyed: bool = False, **fields: Any
    ) -> None:
        """Create jobs by the API; each under a key of its own, or under none."""
        document = {"schedule": schedule, "target": {"type": "http", "url": url}, "payload": PAYLOAD, **fields}
        headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
        for number in range(count):
            sent = headers | ({"idempotency-key": f"order-{self.clock.now_ms()}-{number}"} if keyed else {})
            answer = self._api(event_of("POST", "/v1/jobs", "", sent, json.dumps(document)), Context())
            require(answer["statusCode"], HTTPStatus.CREATED)

    def report(self, call: Call, body: Mapping[str, Any] | None) -> None:
        """Complete an attempt by the means that its call has brought; without a body, give a sign of life."""
        path = urlsplit(call.headers["carillon-completion-url"]).path
        headers = {"authorization": f"Bearer {call.headers['carillon-completion-token']}"}
        if body is None:
            event = event_of("POST", path.replace("/complete", "/heartbeat"), "", headers, None)
        else:
            event = event_of("POST", path, "", {**headers, "content-type": "application/json"}, json.dumps(body))
        require(self._api(event, Context())["statusCode"], HTTPStatus.OK)

    def pass_time(self, duration_ms: int) -> None:
        """Move the clock on, then let a tick dispatch and the worker work until its queues are empty."""
        self.clock.advance(duration_ms)
        tick = Tick(0, self.clock.now_ms() // SECOND_MS).encode()
        self._dispatcher({"Records": [as_record({"MessageId": "tick", "Body": tick, "ReceiptHandle": ""})]}, Context())
        for url in self._work.values():
            while self._work_off(url):
                pass

    def free(self) -> None:
        """Let the function that follows the stream count no more what has ended, as many at once as it is given."""
        shards = self._streams.describe_stream(StreamArn=self._stream)["StreamDescription"]["Shards"]
        for shard in shards:
            begin = {"StreamArn": self._stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self._streams.get_shard_iterator(**begin)["ShardIterator"]
            told = self._streams.get_records(ShardIterator=iterator)["Records"]
            records = [as_change(record, self.clock.now_ms()) for record in told]
            ended = [record for record in records if counts_no_more(record)]
            for first in range(0, len(ended), STREAM_BATCH):
                require(self._retention({"Records": ended[first : first + STREAM_BATCH]}, Context()), NONE_FAILED)

    def _work_off(self, url: str) -> bool:
        """One batch of a queue; whether there was one. The receive that finds nothing is not counted."""
        before = self.bill.used["sqs"]
        received = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=BATCH).get("Messages", [])
        if not received:
            self.bill.used["sqs"] = before
            return False
        answer = self._worker({"Records": [as_record(message) for message in received]}, Context())
        require(answer, {"batchItemFailures": []})
        entries = [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(received)]
        self._sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        return True


def stream_of(database: Database) -> str:
    """The stream of the jobs table."""
    arn: str = database.client.describe_table(TableName=database.jobs)["Table"]["LatestStreamArn"]
    return arn


def as_change(record: Mapping[str, Any], now_ms: int) -> dict[str, Any]:
    """A record of the stream as the event source mapping hands it on, of the present by our clock."""
    return {**record, "dynamodb": record["dynamodb"] | {"ApproximateCreationDateTime": now_ms / SECOND_MS}}


def counts_no_more(record: Mapping[str, Any]) -> bool:
    """Whether the mapping's filter lets a record through."""
    change = record["dynamodb"]
    return keys.COUNTED in change.get("OldImage", {}) and keys.COUNTED not in change.get("NewImage", {})


def require(found: object, wanted: object) -> None:
    """Stop where something else was measured than meant."""
    if found != wanted:
        raise SystemExit(f"nothing to measure: found {found}, wanted {wanted}")


def as_record(message: Mapping[str, Any]) -> dict[str, Any]:
    """A received message as the event source mapping hands it on."""
    identity = {"messageId": message["MessageId"], "receiptHandle": message["ReceiptHandle"]}
    return {**identity, "body": message["Body"], "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:normal-bench"}


def per(units: Units, runs: int) -> dict[str, float]:
    """Units by the run."""
    return {name: units[name] / runs for name in ("wru", "rru", "sqs")}


def recurring(system: System, receiver: Receiver) -> dict[str, float]:
    """A run of a job that recurs, once it is under way."""
    system.create(receiver.url("/"), {"every": "PT1H"})
    system.pass_time(HOUR_MS)
    system.bill.take()
    for _ in range(CYCLES):
        system.pass_time(HOUR_MS)
    require(len(receiver.calls()), JOBS * (CYCLES + 1))
    return per(system.bill.take(), JOBS * CYCLES)


def one_off(system: System, receiver: Receiver) -> dict[str, float]:
    """A job that runs once, its creation included, but for what that writes beside the job: its count and its event."""
    system.create(receiver.url("/"), {"delay": "PT1M"}, retry={"base": "PT1S", "jitter": "none"})
    beside = system.bill.used["control_wru"] / JOBS
    system.pass_time(MINUTE_MS)
    used = per(system.bill.take(), JOBS)
    return used | {"wru": used["wru"] - beside}


def one_off_with_all(system: System, receiver: Receiver) -> dict[str, float]:
    """The same, created under a key, on the audit trail, counted while it is planned and no more when it has ended."""
    system.create(receiver.url("/"), {"delay": "PT1M"}, keyed=True, retry={"base": "PT1S", "jitter": "none"})
    system.pass_time(MINUTE_MS)
    system.free()
    return per(system.bill.take(), JOBS)


def retried(system: System, receiver: Receiver) -> dict[str, float]:
    """A job that runs once, and whose first call fails."""
    receiver.answer("/", *[Answer(503)] * JOBS, Answer(200))
    first = one_off(system, receiver)
    system.pass_time(2 * SECOND_MS)
    require(len(receiver.calls()), 2 * JOBS)
    second = per(system.bill.take(), JOBS)
    return {name: first[name] + second[name] for name in first}


def skipped(system: System, receiver: Receiver) -> dict[str, float]:
    """An occurrence that was missed: it gets a record instead of a run."""
    system.create(receiver.url("/"), {"every": "P1D"}, misfire_policy="skip", misfire_grace="PT1S")
    system.bill.take()
    system.pass_time(24 * HOUR_MS + MINUTE_MS)
    require(receiver.calls(), [])
    return per(system.bill.take(), JOBS)


def deferred(system: System, receiver: Receiver) -> dict[str, float]:
    """An occurrence that its tenant's dispatch rate puts off: what that costs until it is due at its slot."""
    system.limits.set("bench", Limits(dispatch=DispatchLimit(rate_milli=10, burst=1)))
    system.pass_time(LIMITS_KNOWN_MS)  # one slot in 100 s: of these jobs, the first alone has its own in the look-ahead
    system.create(receiver.url("/"), {"delay": "PT1M"})
    system.bill.take()
    system.pass_time(SECOND_MS)
    require(receiver.calls(), [])
    return per(system.bill.take(), JOBS)


def completed(system: System, receiver: Receiver) -> dict[str, float]:
    """A run of a job that runs once and whose target answers 202: from its dispatch to its completion."""
    return _awaited(system, receiver, {"outcome": "succeeded"}, beats=0)


def kept_alive(system: System, receiver: Receiver) -> dict[str, float]:
    """A sign of life of such a run."""
    plain = _awaited(system, receiver, {"outcome": "succeeded"}, beats=0)
    beaten = _awaited(system, receiver, {"outcome": "succeeded"}, beats=1)
    return {name: beaten[name] - plain[name] for name in plain}


def _awaited(system: System, receiver: Receiver, report: Mapping[str, Any], *, beats: int) -> dict[str, float]:
    receiver.answer("/later", Answer(202))
    url, asked = receiver.url("/later"), {"mode": "async", "heartbeat_timeout": "PT5M"}
    before = len(receiver.calls())
    target = {"type": "http", "url": url, "completion": asked}
    system.create(url, {"delay": "PT1M"}, target=target)
    system.bill.take()
    system.pass_time(MINUTE_MS)
    calls = receiver.calls()[before:]
    require(len(calls), JOBS)
    for call in calls:
        for _ in range(beats):
            system.report(call, None)
        system.report(call, report)
    return per(system.bill.take(), JOBS)


def measure(endpoint: Endpoint, scenario: Scenario) -> dict[str, float]:
    """What a scenario uses by the run, on tables and queues of its own."""
    system = System(endpoint)
    with Receiver(system.secret) as receiver:
        return scenario(system, receiver)


def shown(name: str, units: Units, targets: Units) -> bool:
    """Print a line, and tell whether all is within its target."""
    allowed = {unit: target + LEASE_SHARE.get(unit, 0) for unit, target in targets.items()}
    above = [unit for unit, most in allowed.items() if units[unit] > most]
    signs = {unit: f"({'ABOVE' if unit in above else '<='} {most:g})" for unit, most in allowed.items()}
    words = [f"{unit} {value:6.3f} {signs.get(unit, ''):14}" for unit, value in units.items()]
    print(f"{name:32}{''.join(words)}".rstrip())
    return not above


def main() -> int:
    """Print all figures; 1 if one is above its target."""
    with TemporaryDirectory() as folder, local_aws(Path(folder)) as url:
        endpoint = Endpoint(a_session(), url)
        os.environ |= {**AWS, "AWS_ENDPOINT_URL": url}
        with redirect_stdout(StringIO()):  # the functions' logs
            scenarios = (recurring, one_off, one_off_with_all, retried, skipped, deferred, completed, kept_alive)
            steady, once, full, again, missed, put_off, later, alive = (measure(endpoint, each) for each in scenarios)
    print(f"units by the run, {JOBS} jobs a dispatch, batches of {BATCH}:")
    fine = [
        shown("run of a recurring job", steady, {"wru": 6.1, "rru": 1.6, "sqs": 0.35}),
        shown("one-off, event and count apart", once, {"wru": 11.0}),
        shown("with key, audit and count", full, {"wru": 17.0 + FREEING_SHARE}),
        shown("a retry, beyond one", {name: again[name] - once[name] for name in once}, {}),
        shown("a missed occurrence, skipped", missed, {}),
        shown("an occurrence put off by a rate", put_off, {"wru": 3.0}),
        shown("a one-off completed later", later, {"wru": 8.0}),
        shown("a sign of life of it", alive, {"wru": 3.0}),
    ]
    print(f"\na million runs of recurring jobs, by list prices:\n{bill_table(steady)}\n\n{offers_table(steady)}\n")
    figures = {"recurring_wru": steady["wru"], "oneoff_wru": once["wru"], "rru": steady["rru"], "sqs": steady["sqs"]}
    figures["usd_per_million"] = total(recurring_bill(steady))
    print(f"oneoff_full_wru={full['wru']:.2f}")
    print(" ".join(f"{name}={value:.2f}" for name, value in figures.items()))
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
