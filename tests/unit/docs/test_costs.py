"""The figures of docs/costs.md add up, and the README repeats them."""

import re
from decimal import Decimal

import pytest

from bench.bill import COSTS as PAGE
from bench.bill import MEASURED, offers, written
from infra.stages import PROD, SMALL
from tests.unit.docs.pages import page

COSTS = page("docs/costs.md")
CENT = Decimal("0.01")
_AMOUNT = re.compile(r"\$([0-9]+\.[0-9]{2})")


def amount(cell: str) -> Decimal:
    """The dollars in a cell."""
    (found,) = _AMOUNT.findall(cell)
    return Decimal(found)


def column(table: list[list[str]], number: int) -> tuple[Decimal, Decimal]:
    """The sum of a column's amounts, and what its last row says that it is."""
    *parts, total = [amount(row[number]) for row in table]
    return sum(parts, Decimal(0)), total


@pytest.mark.parametrize(
    ("title", "table", "number"),
    [
        ("Idle", 0, 2),
        ("Idle", 1, 2),
        ("A million runs of recurring jobs, under load", 0, 2),
        ("When runs come one by one", 0, 2),
        ("When runs come one by one", 0, 3),
    ],
)
def test_tables_add_up(title: str, table: int, number: int) -> None:
    """The total of a table is the sum of its rows, but for a cent of rounding."""
    parts, total = column(COSTS.tables(title)[table], number)
    assert abs(parts - total) <= CENT


@pytest.mark.parametrize(("table", "number", "stage"), [(0, 1, PROD), (0, 2, SMALL)], ids=["prod", "small"])
def test_the_readme_repeats_the_idle_bill(table: int, number: int, stage: object) -> None:
    """The README's bill of a stage adds up to the total on the page of costs."""
    parts, total = column(page("README.md").tables("What it costs")[table], number)
    own = column(COSTS.tables("Idle")[0 if stage is PROD else 1], 2)[1]
    assert abs(parts - total) <= CENT
    assert total == own


def test_the_readme_repeats_the_price_of_runs() -> None:
    """The README's price of a million runs is that of the page of costs."""
    parts, total = column(page("README.md").tables("What it costs")[1], 1)
    assert abs(parts - total) <= CENT
    assert total == column(COSTS.tables("A million runs of recurring jobs, under load")[0], 2)[1]


def test_the_bill_is_of_the_stages_as_they_are() -> None:
    """The groups and shards that were reckoned with are those of the stages."""
    assert f"`prod`: {PROD.groups} groups, {PROD.shards} shards." in COSTS.section("Idle")
    assert f"`small` and `dev`: {SMALL.groups} group, {SMALL.shards} shards." in COSTS.section("Idle")


def test_the_tables_of_runs_are_those_of_the_benchmark() -> None:
    """The bill of a million runs and the comparison are what bench.bill makes of the units that were counted."""
    assert written(PAGE.read_text()) == PAGE.read_text()


def test_the_bill_is_within_its_target() -> None:
    """A million recurring runs cost at most $5.50 (docs/design.md)."""
    assert offers(MEASURED)[0].dollars <= 5.50
