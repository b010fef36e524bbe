"""The tables of docs/scale.md, made by the model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from bench.scale import bill, loads, prices
from bench.scale.calls import Calls
from bench.scale.settings import DEFAULT, SPIKE, STEADY, Settings, Sweep
from bench.scale.simulation import Load, Result, simulate
from bench.scale.work import ONCE

MINUTE, LARGE = 60, 1_000
SLOWER, HANGING = Calls(mean_seconds=1.0), Calls(hanging=0.01)

Rows = list[list[str]]


@cache
def result(settings: Settings, load: Load) -> Result:
    """What a stage of these settings makes of a load; each question is asked once."""
    return simulate(settings, load)


def of_spike(settings: Settings, **changes: Any) -> Result:
    """The spike under these settings."""
    return result(settings, loads.spike(settings, **changes))


def settings_table() -> Rows:
    """The settings by name."""
    named = (DEFAULT, SPIKE, STEADY)
    rows: dict[str, Callable[[Settings], str]] = {
        "shards": lambda s: str(s.shards),
        "groups": lambda s: str(s.groups),
        "look-ahead": lambda s: f"{s.look_ahead_seconds} s",
        "memory of the dispatcher": lambda s: f"{s.dispatcher_mb:,} MB",
        "memory of the worker": lambda s: f"{s.worker_mb:,} MB",
        "messages of an invocation": lambda s: str(s.batch),
        "normal queue, standard mode: invocations at most": lambda s: "–" if s.pollers else str(s.most_batches),
        "normal queue, provisioned mode: pollers": lambda s: "{} to {:,}".format(*s.pollers) if s.pollers else "–",
        "concurrency of the account": lambda s: f"{s.account_concurrency:,}",
        "quota of the table, and of its index": lambda s: f"{s.table_quota:,} a second",
        "warm throughput of the table": lambda s: f"{s.table_warm:,} a second",
        "warm throughput of the due index": lambda s: f"{s.index_warm:,} a second",
        "catch-up rate of a tenant": lambda s: f"{s.catch_up_rate:,} a second" if s.catch_up_rate else "none",
    }
    body = [[what, *(tell(each) for each in named)] for what, tell in rows.items()]
    return [["setting", *(f"`{each.name}`" for each in named)], *body]


def spike_table() -> Rows:
    """The spike with the defaults, with the settings made for it, and how it changes with what is due."""
    cases = [
        ("`prod`", of_spike(DEFAULT)),
        ("`prod`, jobs with a `window` of ten minutes", of_spike(DEFAULT, window_seconds=600)),
        ("**`spike`**", of_spike(SPIKE)),
        ("`spike`, jobs with a `window` of a minute", of_spike(SPIKE, window_seconds=60)),
        ("`spike`, all of them one-offs", of_spike(SPIKE, schedule=ONCE)),
        ("`spike`, calls take a second", of_spike(SPIKE, calls=SLOWER)),
        ("`spike`, one call in a hundred hangs", of_spike(SPIKE, calls=HANGING)),
    ]
    head = ["620,000 runs", "p50", "p90", "p99", "last", "all sent", "dispatch held by", "workers held by", "event"]
    return [head, *([name, *_lateness(each), *_held(each), _dollars(bill.event(each))] for name, each in cases)]


def without_table() -> Rows:
    """What the spike is like when one of its settings is missing."""
    cases = [
        SPIKE,
        replace(SPIKE, name="shards one after another", sweep=Sweep.ONE_BY_ONE),
        replace(SPIKE, name="index not prepared", index_warm=DEFAULT.index_warm),
        replace(SPIKE, name="table not prepared", table_warm=DEFAULT.table_warm),
        replace(SPIKE, name="quota of 40,000", table_quota=DEFAULT.table_quota),
        replace(SPIKE, name="dispatchers of 1,024 MB", dispatcher_mb=1_024),
        replace(SPIKE, name="look-ahead of 0 s", look_ahead_seconds=0),
        replace(SPIKE, name="look-ahead of 120 s", look_ahead_seconds=120),
        replace(SPIKE, name="two provisioned pollers", pollers=(2, 1_000)),
        replace(SPIKE, name="standard mode, 1,000 invocations", pollers=None, most_batches=1_000),
        replace(SPIKE, name="account of 1,000", account_concurrency=1_000),
    ]
    head = ["`spike`, but", "p50", "p90", "p99", "last", "all sent", "dispatch held by", "workers held by"]
    results = [of_spike(each) for each in cases]
    return [head, *([_but(r.settings), *_lateness(r), *_held(r)] for r in results)]


def shards_table() -> Rows:
    """When all messages of the spike are sent, and the 99th percentile, by groups and shards."""
    groups, shards = (1, 2, 4, 8), (16, 32, 64, 128)
    rows = [["groups", *(f"{count} shards" for count in shards)]]
    for group_count in groups:
        results = [of_spike(replace(SPIKE, groups=group_count, shards=count)) for count in shards]
        rows.append(
            [str(group_count), *(f"{r.all_sent_at:+.0f} s, {r.lateness.quantile(0.99):.0f} s" for r in results)]
        )
    return rows


def outage_table() -> Rows:
    """Ten million overdue runs."""
    cases = [
        ("`prod`", DEFAULT),
        ("`spike`", SPIKE),
        ("`spike`, 200 a second and tenant", replace(SPIKE, catch_up_rate=200)),
    ]
    load = loads.after_outage()
    head = [
        "ten million overdue",
        "half started after",
        "99 % after",
        "all after",
        "most starts a second",
        "moved to slots",
        "write units a run",
        "a new job waits up to",
        "event",
    ]
    rows = [head]
    for name, settings in cases:
        found = result(settings, load)
        times = [_minutes(found.starts.quantile(share) - load.begins) for share in (0.5, 0.99, 1.0)]
        units = (found.table_writes + found.index_writes) / load.count
        rows.append(
            [
                name,
                *times,
                f"{_rounded(found.starts.most_per_second):,}",
                f"{found.deferred / 1e6:.1f} M",
                f"{units:.1f}",
                _minutes(found.neighbours_wait),
                _dollars(bill.event(found)),
            ]
        )
    return rows


def steady_table() -> Rows:
    """50,000 runs a second."""
    found = result(STEADY, loads.steady(STEADY))
    lasted = loads.STEADY_SECONDS
    rate = loads.STEADY_PER_SECOND
    million = sum(bill.million_runs(STEADY, Calls(), found.cost).values())
    month = million * rate * prices.MONTH_SECONDS / prices.MILLION
    writes = rate * (found.table_writes + found.index_writes) / found.load.count
    on_demand = writes * prices.MONTH_SECONDS * prices.WRITE_UNIT
    provisioned = writes / 0.7 * prices.MONTH_HOURS * prices.PROVISIONED_WRITE_HOUR
    polled = found.most_batches / 10 * prices.MONTH_HOURS * prices.POLLER_HOUR
    rows = [
        ("lateness: p50 · p99 · last", " · ".join(f"{found.lateness.quantile(q):.1f} s" for q in (0.5, 0.99, 1.0))),
        ("dispatchers at work, of 40", f"{found.dispatch_seconds / (lasted + STEADY.look_ahead_seconds):.0f}"),
        ("workers' invocations at once", f"{_rounded(found.most_batches):,}"),
        ("write units a second: table · index", f"{rate * 4:,} · {rate * 2:,}"),
        ("busiest partition of the index", f"{found.busiest_partition:,.0f} a second"),
        ("a million runs", _dollars(million)),
        ("a month: 131,400 million runs", _dollars(month)),
        ("of it writes, on demand", _dollars(on_demand)),
        ("the same writes with provisioned capacity, 70 % used", _dollars(provisioned)),
        ("pollers at work", _dollars(polled)),
        ("idle", _dollars(sum(bill.idle_month(STEADY).values()))),
    ]
    return [["50,000 runs a second", "`steady`"], *(list(row) for row in rows)]


def month_table() -> Rows:
    """What the settings cost a month before anything runs, and what 200 million stored jobs cost."""
    named = (DEFAULT, SPIKE, STEADY)
    items = [bill.idle_month(each) for each in named]
    stored = bill.stored_month(loads.spike(DEFAULT).stored)
    return [
        ["a month", *(f"`{each.name}`" for each in named)],
        *([what, *(_dollars(each[what]) for each in items)] for what in items[0]),
        ["**idle**", *(f"**{_dollars(sum(each.values()))}**" for each in items)],
        ["200 million jobs, 186 million records", *([_dollars(stored)] * len(named))],
    ]


TABLES: dict[str, Callable[[], Rows]] = {
    "settings": settings_table,
    "spike": spike_table,
    "without": without_table,
    "shards": shards_table,
    "outage": outage_table,
    "steady": steady_table,
    "month": month_table,
}


def summary() -> dict[str, float]:
    """The figures for programs."""
    spike, default, steady = of_spike(SPIKE), of_spike(DEFAULT), result(STEADY, loads.steady(STEADY))
    million = sum(bill.million_runs(STEADY, Calls(), steady.cost).values())
    overdue = result(SPIKE, loads.after_outage())
    return {
        "spike_p99_s": spike.lateness.quantile(0.99),
        "default_p99_s": default.lateness.quantile(0.99),
        "outage_s": overdue.starts.quantile(1.0) - overdue.load.begins,
        "steady_p99_s": steady.lateness.quantile(0.99),
        "steady_usd_month": million * loads.STEADY_PER_SECOND * prices.MONTH_SECONDS / prices.MILLION,
    }


def written(rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; the first row is the head, and figures stand on the right."""
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _lateness(found: Result) -> list[str]:
    quantiles = [f"{found.lateness.quantile(share):.1f} s" for share in (0.5, 0.9, 0.99, 1.0)]
    return [*quantiles, f"{found.all_sent_at:+.0f} s"]


def _held(found: Result) -> list[str]:
    return [found.dispatch_held_by(), found.workers_held_by()]


def _but(settings: Settings) -> str:
    return "nothing" if settings is SPIKE else settings.name


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 2 * MINUTE else f"{seconds / MINUTE:.0f} min"


def _rounded(count: float) -> int:
    return int(round(count, -2)) if count >= LARGE else round(count)


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount < LARGE else f"${amount:,.0f}"
