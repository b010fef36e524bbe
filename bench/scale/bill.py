"""What a load costs, and what a stage of these settings costs a month before anything runs.

The arithmetic is that of docs/costs.md, with the durations, units and sizes of the model.
"""

from statistics import mean

from bench.scale import facts, prices
from bench.scale.calls import Calls, batch_seconds
from bench.scale.dynamodb import KEPT_RUN_BYTES, Stored
from bench.scale.settings import Settings
from bench.scale.simulation import RUN_WRITES, Result
from bench.scale.work import Cost, queue_chunks, sizes

GIGABYTE = 1024**3
GROUP_LEASE_WRITES = 0.02
"""Of a run under load: taking, renewing and giving up a group's lease, shared (docs/costs.md)."""

WORKER_READS = 1.0
LOGGED_GB = 0.4e-6
DATA_OUT_GB = 2e-6
QUERY_SECONDS = 0.001
"""Processor time of an empty query, on a whole processor (docs/costs.md, Idle)."""

TICK_SECONDS = 0.005
"""What else an idle tick takes."""

TICK_WRITES = 8
ALARMS = 27
POLLED_QUEUES = 10
POLLS_PER_SECOND = 5 / 20


def million_runs(settings: Settings, calls: Calls, cost: Cost) -> dict[str, float]:
    """Dollars for a million runs under load, by what is paid for."""
    batch = settings.batch
    busy = mean(batch_seconds(calls, settings))
    dispatch = settings.dispatcher_ms / 1000 / settings.dispatcher_processor
    per_run = {
        "writes": (cost.table_writes + cost.index_writes + RUN_WRITES + GROUP_LEASE_WRITES) * prices.WRITE_UNIT,
        "reads": (WORKER_READS + entry_reads()) * prices.READ_UNIT,
        "queues": 3 * queue_chunks() / batch * prices.FAIR_QUEUE_REQUEST,
        "workers": prices.FUNCTION_REQUEST / batch + busy / batch * settings.worker_mb / 1024 * prices.GB_SECOND,
        "dispatchers": dispatch * settings.dispatcher_mb / 1024 * prices.GB_SECOND,
        "logs": LOGGED_GB * prices.LOG_GB,
        "data out": DATA_OUT_GB * prices.DATA_OUT_GB,
        "records": KEPT_RUN_BYTES / GIGABYTE * (prices.STORED_GB_MONTH + prices.BACKED_UP_GB_MONTH),
    }
    return {what: dollars * prices.MILLION for what, dollars in per_run.items()}


def entry_reads() -> float:
    """Read units of an entry that is read in a page, found by its sweep and by a tick that leaves again."""
    return 2 * sizes().entry / facts.READ_UNIT_BYTES * facts.EVENTUAL_READ


def idle_month(settings: Settings) -> dict[str, float]:
    """Dollars a month while nothing is due: docs/costs.md, Idle; and the pollers that are always there."""
    ticks = settings.groups * prices.MONTH_SECONDS
    queries = settings.shards / settings.groups
    tick_seconds = queries * QUERY_SECONDS / settings.dispatcher_processor + TICK_SECONDS
    minutes = prices.MONTH_SECONDS / 60
    ticker_seconds = 0.05 + 0.05 * settings.groups
    return {
        "ticks": ticks * 2.1 * prices.QUEUE_REQUEST,
        "empty polls": POLLED_QUEUES * POLLS_PER_SECOND * prices.MONTH_SECONDS * prices.QUEUE_REQUEST,
        "dispatchers": ticks
        * (prices.FUNCTION_REQUEST + tick_seconds * settings.dispatcher_mb / 1024 * prices.GB_SECOND),
        "due index": settings.shards * prices.MONTH_SECONDS * facts.EVENTUAL_READ * prices.READ_UNIT,
        "shard count": ticks / 10 * prices.READ_UNIT,
        "ticker": minutes * (prices.FUNCTION_REQUEST + ticker_seconds * 0.25 * prices.GB_SECOND)
        + minutes * (TICK_WRITES * prices.WRITE_UNIT + prices.SCHEDULER_CALL),
        "key, alarms, logs": prices.KEY_MONTH + ALARMS * prices.ALARM_MONTH + minutes * 0.35e-6 * prices.LOG_GB,
        "pollers": (settings.pollers[0] if settings.pollers else 0) * prices.MONTH_HOURS * prices.POLLER_HOUR,
    }


def stored_month(stored: Stored) -> float:
    """Dollars a month for what lies in the table and its index, with its backup."""
    table = stored.table_bytes / GIGABYTE * (prices.STORED_GB_MONTH + prices.BACKED_UP_GB_MONTH)
    return table + stored.index_bytes / GIGABYTE * prices.STORED_GB_MONTH


def event(result: Result) -> float:
    """Dollars for a load, with the units and the seconds that the simulation has counted."""
    settings, load = result.settings, result.load
    rest = million_runs(settings, load.calls, result.cost)
    by_run = sum(dollars for what, dollars in rest.items() if what not in ("writes", "workers", "dispatchers"))
    return (
        (result.table_writes + result.index_writes) * prices.WRITE_UNIT
        + result.worker_seconds * settings.worker_mb / 1024 * prices.GB_SECOND
        + load.count / settings.batch * prices.FUNCTION_REQUEST
        + result.dispatch_seconds * settings.dispatcher_mb / 1024 * prices.GB_SECOND
        + by_run * load.count / prices.MILLION
    )
