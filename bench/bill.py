"""What a million runs cost at list prices, by the units that `make bench-cost` counts, beside other schedulers.

Prices: us-east-1, on demand, US dollars, free tiers left out, as listed in November 2026 on the services' own pages:
aws.amazon.com/dynamodb/pricing, /sqs/pricing, /lambda/pricing, /cloudwatch/pricing, /ec2/pricing (data transfer) and
/eventbridge/pricing; cloud.google.com/tasks/pricing; upstash.com/pricing/qstash.

`python -m bench.bill` writes the two tables of docs/costs.md anew; a test holds them to it.
"""

# ruff: noqa: RUF001 - the sign of multiplication is meant

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

WRITE_UNIT: Final = 0.625
READ_UNIT: Final = 0.125
QUEUE_REQUEST: Final = 0.40
FAIR_QUEUE_REQUEST: Final = 0.50  # a message with a group on a standard queue
INVOCATION: Final = 0.20
SCHEDULER_INVOCATION: Final = 1.00
CLOUD_TASKS_OPERATION: Final = 0.40
QSTASH_MESSAGE: Final = 10.00
"""The above: dollars a million."""

GIGABYTE_SECOND: Final = 13.3334  # a million of them, arm64
LOGGED_GIGABYTE: Final = 0.50
SENT_GIGABYTE: Final = 0.09
KEPT_GIGABYTE_MONTH: Final = 0.25 + 0.20  # with point-in-time recovery

MEASURED: Final[Mapping[str, float]] = {"wru": 6.02, "rru": 1.26, "sqs": 0.30}
"""Units by the run of a recurring job, as `make bench-cost` counted them last."""
DISPATCH_MS: Final = 0.33
"""Processor time of an occurrence on a whole processor: what `make bench-dispatch` is held to."""

COSTS: Final = Path(__file__).parents[1] / "docs/costs.md"


@dataclass(frozen=True)
class Part:
    """A part of the bill: what it is for, how it is reckoned, and dollars for a million runs."""

    what: str
    arithmetic: str
    dollars: float


@dataclass(frozen=True)
class Offer:
    """What somebody else takes for the same: dollars for a million calls at their time, the caller's work included."""

    name: str
    arithmetic: str
    dollars: float
    lacks: str


def recurring_bill(units: Mapping[str, float]) -> tuple[Part, ...]:
    """The parts of the bill for a million runs of recurring jobs under load."""
    wru, rru, sqs = (round(units[name], 2) for name in ("wru", "rru", "sqs"))
    return (
        Part(
            "writes: claim, confirm, start, finish, and a share of the lease",
            f"{wru:.2f} × ${WRITE_UNIT}",
            wru * WRITE_UNIT,
        ),
        Part("reads: the worker's, and the scan", f"{rru:.2f} × ${READ_UNIT}", rru * READ_UNIT),
        Part("queues: send, receive, delete", f"{sqs:.2f} × ${FAIR_QUEUE_REQUEST:.2f}", sqs * FAIR_QUEUE_REQUEST),
        WORKER,
        Part(
            "dispatcher",
            f"{DISPATCH_MS} ms ÷ 0.58 × 1 GB × ${GIGABYTE_SECOND}",
            DISPATCH_MS / 1000 / 0.58 * GIGABYTE_SECOND,
        ),
        STATISTICS,
        Part("logs", f"0.4 KB × 1 M × ${LOGGED_GIGABYTE:.2f}/GB", 0.4 * LOGGED_GIGABYTE),
        DATA_OUT,
        Part("records kept for 30 days", "0.715 GB × ($0.25 + $0.20)", 0.715 * KEPT_GIGABYTE_MONTH),
    )


WORKER: Final = Part(
    "worker",
    f"0.1 × ${INVOCATION:.2f} + 0.08 s × 0.5 GB × ${GIGABYTE_SECOND}",
    0.1 * INVOCATION + 0.08 * 0.5 * GIGABYTE_SECOND,
)
STATISTICS: Final = Part(
    "statistics: 1,000 ended runs a batch",
    f"20 ÷ 1,000 × ${WRITE_UNIT} + 0.3 s ÷ 1,000 × 0.25 GB × ${GIGABYTE_SECOND}",
    0.02 * WRITE_UNIT + 0.3 / 1000 * 0.25 * GIGABYTE_SECOND,
)
DATA_OUT: Final = Part("data out", f"2 KB × 1 M × ${SENT_GIGABYTE}/GB", 2 * SENT_GIGABYTE)


def total(parts: Iterable[Part]) -> float:
    """The bill for a million runs, in dollars and cents: each part is rounded as it is shown."""
    return round(sum(round(part.dollars, 2) for part in parts), 2)


def offers(units: Mapping[str, float]) -> tuple[Offer, ...]:
    """Carillon and the others, for a million callbacks over HTTP that succeed at once."""
    caller = WORKER.dollars + DATA_OUT.dollars
    queue = QUEUE_REQUEST + 0.2 * QUEUE_REQUEST
    return (
        Offer("Carillon", "as above", total(recurring_bill(units)), ""),
        Offer(
            "EventBridge Scheduler",
            f"${SCHEDULER_INVOCATION:.2f}, a queue for ${queue:.2f}, and a worker and data out as above",
            SCHEDULER_INVOCATION + queue + caller,
            "seconds (it is within a minute), periods below a minute, a history, priorities, fairness",
        ),
        Offer(
            "Cloud Tasks",
            f"2 operations × ${CLOUD_TASKS_OPERATION:.2f}; each retry one more",
            2 * CLOUD_TASKS_OPERATION,
            "recurring jobs, more than 30 days ahead, a history of runs",
        ),
        Offer(
            "QStash, pay as you go",
            f"${QSTASH_MESSAGE:.2f}; each retry is a message too",
            QSTASH_MESSAGE,
            "your own account, a long history",
        ),
    )


def bill_table(units: Mapping[str, float]) -> str:
    """The bill in Markdown."""
    parts = recurring_bill(units)
    rows = [(part.what, part.arithmetic, f"${part.dollars:.2f}") for part in parts]
    return _table(
        ("what", "arithmetic", "a million runs"), "--r", [*rows, ("**Total**", "", f"**${total(parts):.2f}**")]
    )


def offers_table(units: Mapping[str, float]) -> str:
    """The comparison in Markdown."""
    rows = [(each.name, each.arithmetic, f"${each.dollars:.2f}", each.lacks) for each in offers(units)]
    return _table(("", "arithmetic", "a million", "what it has not"), "--r-", rows)


def _table(head: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> str:
    ruler = "|".join("---:" if side == "r" else "---" for side in align)
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{ruler}|", *lines[1:]]).replace("|  |", "| |")


def written(page: str) -> str:
    """The page of costs with its two tables made anew, each between its marks."""
    for name, table in (("bill", bill_table(MEASURED)), ("offers", offers_table(MEASURED))):
        begin, end = f"<!-- {name}: made by python -m bench.bill -->\n", f"\n<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{table}{end}{rest.partition(end)[2]}"
    return page


if __name__ == "__main__":
    COSTS.write_text(written(COSTS.read_text()))
