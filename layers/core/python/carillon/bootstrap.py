"""The only place that joins ports to adapters: one composition a function, built once a process.

Use cases and adapters that only one function has are imported where they are joined: a cold start loads no others.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from carillon.adapters.aws import new_client, new_session
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.system import SystemClock, SystemIds
from carillon.adapters.throttles import Throttles
from carillon.domain.instants import DAY_MS, HOUR_MS, SECOND_MS
from carillon.domain.target_policy import TargetPolicy, of_stage
from carillon.entrypoint.environment import load
from carillon.entrypoint.observability import EmbeddedMeter, Handler, observed
from carillon.entrypoint.settings import (
    ApiSettings,
    DeadLettersSettings,
    DeploymentsSettings,
    DispatcherSettings,
    FailingSettings,
    OperationsSettings,
    RetentionSettings,
    StatisticsSettings,
    TargetSettings,
    TickerSettings,
    WorkerSettings,
    WorkQueueSettings,
)

if TYPE_CHECKING:
    from carillon.adapters.s3 import S3Payloads
    from carillon.domain.failing import FailingRules
    from carillon.ports.statistics import QueueGauges, StatisticsStore
    from carillon.ports.tenancy import DestinationStore, FailureTargets, Verifications

# ruff: noqa: PLC0415 - a cold start loads what its own function has, and no other's

DISPATCH_THREADS = 8
"""Slices of due entries handled side by side: enough to hide the tables' and queues' answer times on one processor."""

OPERATION_THREADS = 8
"""Jobs that an operation acts on side by side: likewise."""


def api() -> Handler:
    """The function behind the HTTP API."""
    from carillon.adapters.dynamodb.api_keys import DynamoApiKeys
    from carillon.adapters.dynamodb.audit import DynamoAuditTrail
    from carillon.adapters.dynamodb.control import DynamoShardLedger
    from carillon.adapters.dynamodb.destinations import DynamoDestinations
    from carillon.adapters.dynamodb.job_counts import DynamoJobCounts
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.adapters.dynamodb.limits import DynamoTenantLimits
    from carillon.adapters.dynamodb.requests import DynamoIdempotencyRecords
    from carillon.adapters.dynamodb.runs import DynamoRunStore
    from carillon.adapters.dynamodb.stage_keys import DynamoCursorKey
    from carillon.adapters.kms import KmsSigningSecrets
    from carillon.adapters.remembering import RememberingTenantLimits
    from carillon.adapters.sqs.operations import SqsOperationQueue
    from carillon.entrypoint.http_api import build_api

    settings = load(ApiSettings, os.environ)
    process = _Process("api")
    database = process.database(settings.jobs_table, settings.control_table)
    answer = build_api(
        jobs=DynamoJobStore(database),
        runs=DynamoRunStore(database),
        keys=DynamoApiKeys(database),
        secrets=KmsSigningSecrets(
            database,
            process.client("kms"),
            settings.secrets_key_id,
            kept_for_ms=settings.secrets_kept_seconds * SECOND_MS,
        ),
        destinations=DynamoDestinations(database),
        uploads=process.payloads(settings.payloads_bucket),
        trail=DynamoAuditTrail(database),
        limits=RememberingTenantLimits(DynamoTenantLimits(database), process.clock),
        counts=DynamoJobCounts(database),
        requests=DynamoIdempotencyRecords(database),
        operations=lambda: _operations_in(database),
        operation_queue=SqsOperationQueue(cache(lambda: process.client("sqs")), settings.operations_queue_url),
        shard_ledger=DynamoShardLedger(database),
        clock=process.clock,
        ids=process.ids,
        meter=process.meter,
        cursor_key=DynamoCursorKey(database, process.ids),
        policy=_policy(settings),
        shards=settings.shards,
        retention_ms=settings.retention_days * DAY_MS,
        failure_targets=lambda: _failure_targets_in(database),
        verifications=lambda: _verifications_in(database),
        statistics=lambda: process.statistics(database, settings),
        verify_destinations=settings.verify_destinations,
        failing=_failing(settings),
    )
    return observed(answer, process.meter)


def ticker() -> Handler:
    """The function that keeps the dispatchers ticking."""
    from carillon.adapters.dynamodb.control import DynamoTickLedger
    from carillon.adapters.sqs.ticks import SqsTickQueue
    from carillon.application.extend_ticks import ExtendTicks

    settings = load(TickerSettings, os.environ)
    process = _Process("ticker")
    extend = ExtendTicks(
        ledger=DynamoTickLedger(process.database("", settings.control_table)),
        queue=SqsTickQueue(process.client("sqs"), settings.tick_queue_url),
        clock=process.clock,
        ids=process.ids,
        meter=process.meter,
        groups=settings.groups,
    )
    return observed(lambda _event, _context: {"sent": extend().sent}, process.meter)


def dispatcher() -> Handler:
    """The function that claims, sends and confirms."""
    from carillon.adapters.dynamodb.control import DynamoGroupLeases, DynamoShardLedger
    from carillon.adapters.dynamodb.due import DynamoDueIndex
    from carillon.adapters.dynamodb.fenced import BatchedUpdates, SingleUpdates
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.adapters.dynamodb.limits import DynamoTenantLimits
    from carillon.adapters.dynamodb.runs import DynamoRunStore
    from carillon.adapters.dynamodb.slots import DynamoSlotLedger
    from carillon.adapters.remembering import RememberingShardLedger, RememberingTenantLimits
    from carillon.adapters.sqs.routing import QueueName
    from carillon.adapters.sqs.work import SqsWorkQueues
    from carillon.application.claim_send_confirm import ClaimSendConfirm, DispatchRules
    from carillon.application.dispatch_group import DispatchGroup
    from carillon.application.reserve_slots import ReserveSlots
    from carillon.application.width import Width
    from carillon.domain.slots import Pace
    from carillon.entrypoint.ticks import tick_handler

    settings = load(DispatcherSettings, os.environ)
    process = _Process("dispatcher", connections=DISPATCH_THREADS)
    database, sqs = process.database(settings.jobs_table, settings.control_table), process.client("sqs")
    rules = DispatchRules(
        groups=settings.groups,
        shards=settings.shards,
        look_ahead_ms=settings.look_ahead_seconds * 1000,
        retention_ms=settings.retention_days * DAY_MS,
    )
    urls = {name: getattr(settings, f"{name}_queue_url") for name in QueueName}
    index = DynamoDueIndex(database)
    dispatch = DispatchGroup(
        index=index,
        leases=DynamoGroupLeases(database),
        ledger=RememberingShardLedger(DynamoShardLedger(database), process.clock),
        steps=ClaimSendConfirm(
            index=index,
            jobs=DynamoJobStore(database, transport=BatchedUpdates() if settings.batched_updates else SingleUpdates()),
            runs=DynamoRunStore(database),
            queues=SqsWorkQueues(sqs, urls),
            reserve=ReserveSlots(
                limits=RememberingTenantLimits(DynamoTenantLimits(database), process.clock),
                ledger=DynamoSlotLedger(database),
                meter=process.meter,
                look_ahead_ms=rules.look_ahead_ms,
                catch_up=Pace(1_000_000 // settings.catch_up_rate, settings.catch_up_rate),
            ),
            clock=process.clock,
            ids=process.ids,
            meter=process.meter,
            rules=rules,
        ),
        rules=rules,
        spread=ThreadPoolExecutor(DISPATCH_THREADS, thread_name_prefix="dispatch").map,
        width=Width(DISPATCH_THREADS, process.throttles.seen),
    )
    handle = tick_handler(dispatch, clock=process.clock, meter=process.meter)
    return process.batches(handle, sqs, (), side_by_side=1)


def worker() -> Handler:
    """The functions that start runs and call targets: the same code for short and for long calls."""
    from carillon.adapters.dynamodb.breakers import DynamoBreakers
    from carillon.adapters.dynamodb.failure_targets import DynamoFailureTargets
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.adapters.dynamodb.runs import DynamoRunStore
    from carillon.adapters.http.caller import HttpCaller
    from carillon.adapters.kms import KmsSigningSecrets
    from carillon.adapters.remembering import RememberingBreakers, RememberingDestinations, RememberingFailureTargets
    from carillon.adapters.sqs.target_queue import SqsSender
    from carillon.application.breakers import Breakers
    from carillon.application.execute_run import ExecuteRun, ExecutionTiming
    from carillon.application.run_records import RunRecords
    from carillon.domain.breaker import BreakerRules

    settings = load(WorkerSettings, os.environ)
    is_long = settings.lane == "long"
    process = _Process("long_worker" if is_long else "worker", connections=max(10, settings.side_by_side))
    database = process.database(settings.jobs_table, settings.control_table)
    execute = ExecuteRun(
        records=RunRecords(
            jobs=DynamoJobStore(database),
            runs=DynamoRunStore(database),
            clock=process.clock,
            meter=process.meter,
            retention_ms=settings.retention_days * DAY_MS,
            failing=_failing(settings),
            named=RememberingFailureTargets(DynamoFailureTargets(database), process.clock),
        ),
        secrets=KmsSigningSecrets(
            database,
            process.client("kms"),
            settings.secrets_key_id,
            kept_for_ms=settings.secrets_kept_seconds * SECOND_MS,
        ),
        caller=HttpCaller(process.clock, _policy(settings)),
        ids=process.ids,
        timing=ExecutionTiming(
            visibility_ms=60_000 if is_long else 120_000,
            call_limit_ms=settings.call_seconds_limit * 1000,
            hide_first=is_long,
        ),
        destinations=RememberingDestinations(_admitting(settings, database), process.clock),
        breakers=Breakers(
            RememberingBreakers(DynamoBreakers(database), process.clock),
            process.meter,
            process.ids,
            BreakerRules(settings.breaker_failures, settings.breaker_pause_seconds * SECOND_MS),
        ),
        sender=SqsSender(process.clock, _policy(settings), process.client_for_sends),
        api_url=settings.api_url,
        payloads=process.payloads(settings.payloads_bucket),
        verifications=_verifications_in(database),
    )
    urls = (settings.high_queue_url, settings.normal_queue_url, settings.low_queue_url, settings.long_queue_url)
    return process.batches(execute, process.client("sqs"), urls, side_by_side=settings.side_by_side)


def dead_letters() -> Handler:
    """The function that ends the runs whose messages no worker could finish."""
    from carillon.adapters.dynamodb.failure_targets import DynamoFailureTargets
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.adapters.dynamodb.runs import DynamoRunStore
    from carillon.adapters.dynamodb.tenants import DynamoQuarantine
    from carillon.adapters.remembering import RememberingFailureTargets
    from carillon.application.bury_message import BuryMessage
    from carillon.application.run_records import RunRecords

    settings = load(DeadLettersSettings, os.environ)
    process = _Process("dead_letters")
    database = process.database(settings.jobs_table, settings.control_table)
    bury = BuryMessage(
        records=RunRecords(
            jobs=DynamoJobStore(database),
            runs=DynamoRunStore(database),
            clock=process.clock,
            meter=process.meter,
            retention_ms=settings.retention_days * DAY_MS,
            failing=_failing(settings),
            named=RememberingFailureTargets(DynamoFailureTargets(database), process.clock),
        ),
        quarantine=DynamoQuarantine(database),
    )
    urls = (
        settings.high_dead_letter_url,
        settings.normal_dead_letter_url,
        settings.low_dead_letter_url,
        settings.long_dead_letter_url,
    )
    return process.batches(lambda delivery, _stop_by_ms: bury(delivery), process.client("sqs"), urls, side_by_side=1)


def operations() -> Handler:
    """The function that carries out work on many jobs."""
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.adapters.dynamodb.limits import DynamoTenantLimits
    from carillon.adapters.dynamodb.operations import DynamoOperations
    from carillon.adapters.dynamodb.runs import DynamoRunStore
    from carillon.adapters.remembering import RememberingTenantLimits
    from carillon.application.drive_operation import ActOnJob, DriveOperation
    from carillon.application.edit_job import EditJob
    from carillon.application.trigger_run import TriggerRun
    from carillon.entrypoint.operation_messages import operation_handler

    settings = load(OperationsSettings, os.environ)
    process = _Process("operations", connections=OPERATION_THREADS)
    database = process.database(settings.jobs_table, settings.control_table)
    jobs, runs = DynamoJobStore(database), DynamoRunStore(database)
    limits = RememberingTenantLimits(DynamoTenantLimits(database), process.clock)
    retention_ms = settings.retention_days * DAY_MS
    drive = DriveOperation(
        operations=DynamoOperations(database),
        jobs=jobs,
        act=ActOnJob(EditJob(jobs, runs, retention_ms, limits.of), TriggerRun(jobs, runs, process.ids, retention_ms)),
        clock=process.clock,
        meter=process.meter,
        spread=ThreadPoolExecutor(OPERATION_THREADS, thread_name_prefix="operation").map,
    )
    handle = operation_handler(drive, process.meter)
    return process.batches(handle, process.client("sqs"), (settings.operations_queue_url,), side_by_side=1)


def retention() -> Handler:
    """The function that removes what belonged to an expired job, and counts no more what counts no more."""
    from carillon.adapters.dynamodb.freeing import DynamoFreedJobs
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.application.remove_expired import RemoveExpired
    from carillon.entrypoint.removals import removal_handler

    settings = load(RetentionSettings, os.environ)
    process = _Process("retention")
    database = process.database(settings.jobs_table, settings.control_table)
    remove = RemoveExpired(DynamoJobStore(database), process.payloads(settings.payloads_bucket), process.meter)
    return observed(removal_handler(remove, DynamoFreedJobs(database), process.meter), process.meter)


def statistics() -> Handler:
    """The function that counts the runs that have ended."""
    from carillon.adapters.dynamodb.statistics import DynamoStatistics
    from carillon.entrypoint.endings import ending_handler

    settings = load(StatisticsSettings, os.environ)
    process = _Process("statistics")
    counts = DynamoStatistics(process.database("", settings.control_table))
    return observed(ending_handler(counts.count, process.meter), process.meter)


def deployments() -> Handler:
    """The function that a deployment asks whether it may go on."""
    from carillon.adapters.cloudformation import CloudFormationStacks, answer_at
    from carillon.adapters.dynamodb.control import DynamoShardLedger
    from carillon.application.check_shards import CheckShards
    from carillon.entrypoint.deployments import deployment_handler

    settings = load(DeploymentsSettings, os.environ)
    process = _Process("deployments")
    check = CheckShards(DynamoShardLedger(process.database("", settings.control_table)))
    stacks = CloudFormationStacks(lambda: process.client("cloudformation"))
    return observed(deployment_handler(check, stacks, answer_at), process.meter)


class _Process:
    """What every composition starts from: clients of one session, the clock, names and the meter."""

    def __init__(self, service: str, *, connections: int = 10) -> None:
        self._session = new_session()
        self._connections = connections
        self.clock = SystemClock()
        self.ids = SystemIds()
        self.meter = EmbeddedMeter(service)
        self.throttles = Throttles(self.meter)

    def client(self, service: str, **limits: Any) -> Any:
        """A client of an AWS service; `limits` as `new_client` takes them."""
        client = new_client(self._session, service, most_connections=self._connections, **limits)
        self.throttles.watch(client)
        return client

    def client_for_sends(self, region: str) -> Any:
        """A client for the queues of tenants in a region (empty: our own)."""
        from carillon.adapters.sqs.target_queue import ANSWER_SECONDS, MOST_ATTEMPTS

        client = new_client(
            self._session,
            "sqs",
            most_attempts=MOST_ATTEMPTS,
            answer_seconds=ANSWER_SECONDS,
            most_connections=self._connections,
            region=region or None,
        )
        self.throttles.watch(client)
        return client

    def payloads(self, bucket: str) -> "Callable[[], S3Payloads]":
        """Uploaded payloads. Their client is slow to make: who needs none does not wait for it."""

        @cache
        def made() -> "S3Payloads":
            from carillon.adapters.s3 import ANSWER_SECONDS, MOST_ATTEMPTS, SIGNING, S3Payloads

            client = new_client(
                self._session,
                "s3",
                most_attempts=MOST_ATTEMPTS,
                answer_seconds=ANSWER_SECONDS,
                most_connections=self._connections,
                more=SIGNING,
            )
            self.throttles.watch(client)
            return S3Payloads(client, bucket, self.clock)

        return made

    def statistics(self, database: Database, settings: WorkQueueSettings) -> "tuple[StatisticsStore, QueueGauges]":
        """Counts of runs, and the gauges of the work queues."""
        from carillon.adapters.dynamodb.statistics import DynamoStatistics
        from carillon.adapters.remembering import RememberingGauges
        from carillon.adapters.sqs.gauges import ANSWER_SECONDS, MOST_ATTEMPTS, SqsGauges
        from carillon.adapters.sqs.routing import QueueName

        limits = {"most_attempts": MOST_ATTEMPTS, "answer_seconds": ANSWER_SECONDS}
        sqs, cloudwatch = (cache(partial(self.client, service, **limits)) for service in ("sqs", "cloudwatch"))
        urls = {str(name): getattr(settings, f"{name}_queue_url") for name in QueueName}
        return DynamoStatistics(database), RememberingGauges(SqsGauges(sqs, cloudwatch, urls, self.clock), self.clock)

    def database(self, jobs_table: str, control_table: str) -> Database:
        """The two tables."""
        return Database(self.client("dynamodb"), jobs_table, control_table)

    def batches(self, handle: Any, sqs: Any, queue_urls: Iterable[str], *, side_by_side: int) -> Handler:
        """A handler of batches from these queues."""
        from carillon.adapters.sqs.delivery import SqsDelivery
        from carillon.entrypoint.batches import batch_handler

        by_name = {url.rpartition("/")[2]: url for url in queue_urls}

        def receive(record: Mapping[str, Any]) -> SqsDelivery:
            name = record["eventSourceARN"].rpartition(":")[2]
            return SqsDelivery.from_record(sqs, by_name.get(name, ""), record)

        handler = batch_handler(handle, receive, clock=self.clock, meter=self.meter, side_by_side=side_by_side)
        return observed(handler, self.meter)


def _operations_in(database: Database) -> Any:
    """The store of operations, loaded by who needs it."""
    from carillon.adapters.dynamodb.operations import DynamoOperations

    return DynamoOperations(database)


def _failure_targets_in(database: Database) -> "FailureTargets":
    """The store of whom tenants have told of failures, likewise."""
    from carillon.adapters.dynamodb.failure_targets import DynamoFailureTargets

    return DynamoFailureTargets(database)


def _verifications_in(database: Database) -> "Verifications":
    """Which destinations were verified, likewise."""
    from carillon.adapters.dynamodb.verifications import DynamoVerifications

    return DynamoVerifications(database)


def _admitting(settings: WorkerSettings, database: Database) -> "DestinationStore":
    """Where tenants let their jobs call: of a stage that asks for it, only what was verified."""
    from carillon.adapters.dynamodb.destinations import DynamoDestinations

    registered = DynamoDestinations(database)
    if not settings.verify_destinations:
        return registered
    from carillon.application.verified_destinations import VerifiedDestinations

    return VerifiedDestinations(registered, _verifications_in(database))


def _failing(settings: FailingSettings) -> "FailingRules":
    from carillon.domain.failing import FailingRules

    return FailingRules(settings.pause_after_failures, settings.pause_after_hours * HOUR_MS)


def _policy(settings: TargetSettings) -> TargetPolicy:
    return of_stage(
        allow_loopback=settings.allow_loopback_targets,
        ports=[int(port) for port in settings.target_ports],
        networks=settings.target_networks,
        names=settings.target_names,
        own_hosts=settings.own_hosts,
        queues=settings.target_queues,
    )
