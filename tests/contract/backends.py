"""The worlds that the suites run in: memory, moto in this process, and a local AWS in a process of its own."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from secrets import token_hex
from threading import Lock
from typing import Any, Protocol

import requests as http
from botocore.session import Session

from carillon.adapters.aws import new_client, new_session
from carillon.adapters.dynamodb import keys
from carillon.adapters.dynamodb.api_keys import DynamoApiKeys
from carillon.adapters.dynamodb.audit import DynamoAuditTrail
from carillon.adapters.dynamodb.breakers import DynamoBreakers
from carillon.adapters.dynamodb.control import DynamoGroupLeases, DynamoShardLedger, DynamoTickLedger
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.destinations import DynamoDestinations
from carillon.adapters.dynamodb.due import DynamoDueIndex
from carillon.adapters.dynamodb.failure_targets import DynamoFailureTargets
from carillon.adapters.dynamodb.fenced import Transport
from carillon.adapters.dynamodb.job_counts import DynamoJobCounts
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.dynamodb.limits import DynamoTenantLimits
from carillon.adapters.dynamodb.operations import DynamoOperations
from carillon.adapters.dynamodb.requests import DynamoIdempotencyRecords
from carillon.adapters.dynamodb.runs import DynamoRunStore
from carillon.adapters.dynamodb.slots import DynamoSlotLedger
from carillon.adapters.dynamodb.statistics import DynamoStatistics
from carillon.adapters.dynamodb.tenants import DynamoQuarantine, DynamoTenants
from carillon.adapters.dynamodb.verifications import DynamoVerifications
from carillon.adapters.kms import KmsSigningSecrets
from carillon.adapters.memory.control import MemoryGroupLeases, MemoryShardLedger, MemoryTickLedger
from carillon.adapters.memory.due import MemoryDueIndex
from carillon.adapters.memory.edges import MemoryClock
from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.adapters.memory.limits import MemoryJobCounts, MemoryTenantLimits
from carillon.adapters.memory.operations import MemoryOperations
from carillon.adapters.memory.payloads import MemoryPayloads
from carillon.adapters.memory.queues import MemoryTickQueue, MemoryWorkQueues
from carillon.adapters.memory.requests import MemoryIdempotencyRecords
from carillon.adapters.memory.runs import MemoryRunStore
from carillon.adapters.memory.slots import MemorySlotLedger
from carillon.adapters.memory.state import MemoryState
from carillon.adapters.memory.statistics import MemoryStatistics
from carillon.adapters.memory.target_queues import MemoryTargetQueues
from carillon.adapters.memory.tenants import (
    MemoryApiKeys,
    MemoryAuditTrail,
    MemoryBreakers,
    MemoryDestinations,
    MemoryFailureTargets,
    MemoryQuarantine,
    MemorySigningSecrets,
    MemoryTenants,
    MemoryVerifications,
)
from carillon.adapters.s3 import PAYLOADS, SIGNING, S3Payloads
from carillon.adapters.sqs.routing import QueueName
from carillon.adapters.sqs.target_queue import SqsSender
from carillon.adapters.sqs.ticks import SqsTickQueue
from carillon.adapters.sqs.work import SqsWorkQueues
from carillon.domain.outcomes import Failure
from carillon.domain.planning import DueEntry
from carillon.domain.queues import read_queue_url
from carillon.domain.target_policy import of_stage
from carillon.ports.dispatch import DueIndex, GroupLeases, ShardLedger, SlotLedger, TickLedger, TickQueue, WorkQueues
from carillon.ports.execution import BreakerStore, Quarantine, Sender
from carillon.ports.jobs import JobStore
from carillon.ports.operations import OperationStore
from carillon.ports.payloads import Payloads, Uploads
from carillon.ports.runs import RunStore
from carillon.ports.statistics import StatisticsStore
from carillon.ports.tenancy import (
    ApiKeys,
    AuditTrail,
    DestinationStore,
    FailureTargets,
    IdempotencyRecords,
    JobCounts,
    SigningSecrets,
    TenantLimits,
    Tenants,
    Verifications,
)

REGION = "us-east-1"
_names = (f"{token_hex(4)}-{number}" for number in count(1))


@dataclass(frozen=True)
class Stores:
    """All stores of one world. What only one kind of world has is None in the others."""

    jobs: JobStore
    runs: RunStore
    due: DueIndex
    leases: GroupLeases
    shards: ShardLedger
    ticks: TickLedger
    tenants: Tenants
    keys: ApiKeys
    quarantine: Quarantine
    secrets: SigningSecrets
    trail: AuditTrail
    destinations: DestinationStore
    failure_targets: FailureTargets
    verifications: Verifications
    breakers: BreakerStore
    requests: IdempotencyRecords
    limits: TenantLimits
    counts: JobCounts
    slots: SlotLedger
    operations: OperationStore
    statistics: StatisticsStore
    state: MemoryState | None = None
    database: Database | None = None

    def due_entries(self, shard: int = 1, until_ms: int = 2**52) -> Sequence[DueEntry]:
        """Everything that a shard of the due index shows."""
        return [entry for page in self.due.pages(shard, until_ms) for entry in page]

    def drop_hot_half(self, job_id: str) -> None:
        """Remove the hot half of a job, as TTL does."""
        if self.state is not None:
            self.state.remove_job(job_id)
        if self.database is not None:
            key = {"pk": {"S": keys.job_pk(job_id)}, "sk": {"S": keys.JOB_SK}}
            self.database.client.delete_item(TableName=self.database.jobs, Key=key)


@dataclass(frozen=True)
class Queues:
    """The queues of one world, and a way to see what has arrived in each."""

    work: WorkQueues
    ticks: TickQueue
    clock: MemoryClock
    received: Any

    def bodies(self, name: str) -> list[str]:
        """What is visible in a queue now, and is taken out of it: `high`, `normal`, `low`, `long` or `tick`."""
        bodies: list[str] = self.received(name)
        return bodies


@dataclass(frozen=True)
class TargetQueues:
    """Two queues of tenants, one of each kind, and what arrives in them."""

    sender: Sender
    urls: Mapping[str, str]
    received: Callable[[str], Sequence[tuple[str, Mapping[str, str]]]]


class PayloadStore(Uploads, Payloads, Protocol):
    """Both sides of uploaded payloads."""


@dataclass(frozen=True)
class PayloadsUnderTest:
    """Uploaded payloads of one world, what a client does with an invitation, and the names of what is kept."""

    store: PayloadStore
    clock: MemoryClock
    upload: Callable[[str, str, str, bytes], None]
    kept: Callable[[], set[str]]


def memory_stores() -> Stores:
    """A world in memory."""
    state = MemoryState(MemoryClock())
    return Stores(
        jobs=MemoryJobStore(state),
        runs=MemoryRunStore(state),
        due=MemoryDueIndex(state, page_size=3),
        leases=MemoryGroupLeases(state),
        shards=MemoryShardLedger(state),
        ticks=MemoryTickLedger(state),
        tenants=MemoryTenants(state),
        keys=MemoryApiKeys(state),
        quarantine=MemoryQuarantine(state),
        secrets=MemorySigningSecrets(state),
        trail=MemoryAuditTrail(state),
        destinations=MemoryDestinations(state),
        failure_targets=MemoryFailureTargets(state),
        verifications=MemoryVerifications(state),
        breakers=MemoryBreakers(state),
        requests=MemoryIdempotencyRecords(state),
        limits=MemoryTenantLimits(state),
        counts=MemoryJobCounts(state),
        slots=MemorySlotLedger(state),
        operations=MemoryOperations(state),
        statistics=MemoryStatistics(state),
        state=state,
    )


def a_session() -> Session:
    """A session that asks nobody for region and credentials."""
    session = new_session()
    session.set_config_variable("region", REGION)
    session.set_credentials("test", "test")
    return session


class OneAtATime:
    """A client for many threads whose calls never overlap: moto evaluates conditions without a lock."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._client, name)
        if name == "exceptions":
            return operation

        def call(**request: Any) -> Any:
            with self._lock:
                return operation(**request)

        return call


@dataclass(frozen=True)
class Endpoint:
    """Where AWS is: a URL, or None for moto in this process. Clients outlive the tests: to make one is slow."""

    session: Session
    url: str | None = None
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """A client as the functions make it."""
        if service not in self._clients:
            more = SIGNING if service == "s3" else None
            client = new_client(self.session, service, endpoint_url=self.url, more=more)
            self._clients[service] = client if self.url else OneAtATime(client)
        return self._clients[service]

    def stores(self, transport: Transport | None = None) -> Stores:
        """Stores over new, empty tables."""
        database = self.database()
        kms = self.client("kms")
        key_id = kms.create_key(Description="signing secrets")["KeyMetadata"]["KeyId"]
        return Stores(
            jobs=DynamoJobStore(database, transport=transport),
            runs=DynamoRunStore(database),
            due=DynamoDueIndex(database),
            leases=DynamoGroupLeases(database),
            shards=DynamoShardLedger(database),
            ticks=DynamoTickLedger(database),
            tenants=DynamoTenants(database),
            keys=DynamoApiKeys(database),
            quarantine=DynamoQuarantine(database),
            secrets=KmsSigningSecrets(database, kms, key_id),
            trail=DynamoAuditTrail(database),
            destinations=DynamoDestinations(database),
            failure_targets=DynamoFailureTargets(database),
            verifications=DynamoVerifications(database),
            breakers=DynamoBreakers(database),
            requests=DynamoIdempotencyRecords(database),
            limits=DynamoTenantLimits(database),
            counts=DynamoJobCounts(database),
            slots=DynamoSlotLedger(database),
            operations=DynamoOperations(database),
            statistics=DynamoStatistics(database),
            database=database,
        )

    def database(self) -> Database:
        """New, empty tables."""
        suffix = next(_names)
        database = Database(self.client("dynamodb"), f"jobs-{suffix}", f"control-{suffix}", sleep=lambda _: None)
        with suppress(database.client.exceptions.ResourceInUseException):  # the second try of a slow machine
            database.client.create_table(**keys.jobs_table(database.jobs))
        with suppress(database.client.exceptions.ResourceInUseException):  # the second try of a slow machine
            database.client.create_table(**keys.control_table(database.control))
        return database

    def target_queues(self) -> TargetQueues:
        """New, empty queues, and a URL of one that there is not."""
        client, suffix = self.client("sqs"), next(_names)
        fifo = {"FifoQueue": "true"}
        urls = {
            "standard": client.create_queue(QueueName=f"orders-{suffix}")["QueueUrl"],
            "fifo": client.create_queue(QueueName=f"orders-{suffix}.fifo", Attributes=fifo)["QueueUrl"],
        }
        urls["missing"] = urls["standard"] + "-nowhere"
        addresses = [read_queue_url(url, allow_local=True) for url in urls.values()]
        entries = [f"*=arn:aws:sqs:{REGION}:{each.account}:{each.name}" for each in addresses if each]
        policy = of_stage(allow_loopback=self.url is not None, queues=entries)

        def received(kind: str) -> list[tuple[str, dict[str, str]]]:
            answer = client.receive_message(
                QueueUrl=urls[kind], MaxNumberOfMessages=10, WaitTimeSeconds=0, MessageAttributeNames=["All"]
            )
            return [
                (message["Body"], {name: value["StringValue"] for name, value in message["MessageAttributes"].items()})
                for message in answer.get("Messages", [])
            ]

        return TargetQueues(SqsSender(MemoryClock(), policy, lambda _region: client), urls, received)

    def payloads(self) -> PayloadsUnderTest:
        """A new, empty bucket. Its clock is the real one; ours starts with it and then stands still."""
        client, bucket = self.client("s3"), f"payloads-{next(_names)}"
        client.create_bucket(Bucket=bucket)
        clock = MemoryClock(time.time_ns() // 1_000_000)
        store = S3Payloads(client, bucket, clock)

        def upload(tenant: str, reference: str, content_type: str, body: bytes) -> None:
            invitation = store.invite(tenant, reference, content_type, len(body), clock.now_ms())
            headers = {"Content-Type": invitation.content_type}
            answer = http.put(invitation.url, data=body, headers=headers, timeout=10)
            assert answer.status_code == 200, answer.text

        def kept() -> set[str]:
            return {each["Key"] for each in client.list_objects_v2(Bucket=bucket, Prefix=PAYLOADS).get("Contents", [])}

        return PayloadsUnderTest(store, clock, upload, kept)

    def queues(self) -> Queues:
        """New, empty queues. Their clock is the real one; ours starts with it and then stands still."""
        client = self.client("sqs")
        suffix = next(_names)
        names = [*QueueName, "tick"]
        urls = {name: client.create_queue(QueueName=f"{name}-{suffix}")["QueueUrl"] for name in names}

        def received(name: str) -> list[str]:
            answer = client.receive_message(QueueUrl=urls[name], MaxNumberOfMessages=10, WaitTimeSeconds=0)
            return [message["Body"] for message in answer.get("Messages", [])]

        work = SqsWorkQueues(client, {name: urls[name] for name in QueueName})
        clock = MemoryClock(time.time_ns() // 1_000_000)
        return Queues(work, SqsTickQueue(client, urls["tick"]), clock, received)


TARGET_ARN = f"arn:aws:sqs:{REGION}:123456789012:"


def memory_target_queues() -> TargetQueues:
    """Queues in memory."""
    names = {"standard": "orders", "fifo": "orders.fifo", "missing": "nowhere"}
    urls = {kind: f"https://sqs.{REGION}.amazonaws.com/123456789012/{name}" for kind, name in names.items()}
    policy = of_stage(queues=[f"*={TARGET_ARN}{name}" for name in names.values()])
    queues = MemoryTargetQueues(MemoryClock(), policy, {urls["missing"]: Failure.QUEUE_MISSING})
    return TargetQueues(
        queues, urls, lambda kind: [(each.body, dict(each.attributes)) for each in queues.sent_to(urls[kind])]
    )


def memory_payloads() -> PayloadsUnderTest:
    """Payloads in memory."""
    store, clock = MemoryPayloads(), MemoryClock()
    return PayloadsUnderTest(
        store, clock, store.upload, lambda: {"payloads/" + "/".join(key) for key in store.payloads}
    )


def memory_queues() -> Queues:
    """Queues in memory."""
    clock = MemoryClock()
    work, ticks = MemoryWorkQueues(clock), MemoryTickQueue(clock)

    def received(name: str) -> list[str]:
        queue = ticks.queue if name == "tick" else work.queues[QueueName(name)]
        return [delivery.body for delivery in queue.receive(10)]

    return Queues(work, ticks, clock, received)
