"""The page about time says what the code does."""

import re
from typing import get_args

import pytest

from carillon.domain.explaining.schedule_warning import WarningCode
from tests.unit.domain.time.doc_tables import PAGE, TABLES, with_tables

TEXT = PAGE.read_text("utf-8")


def test_the_tables_are_those_that_the_code_makes() -> None:
    """`python -m tests.unit.domain.time.doc_tables` would change nothing."""
    assert with_tables(TEXT) == TEXT


def test_each_table_is_on_the_page_once() -> None:
    """No table is made in vain, and none is asked for that is not made."""
    assert sorted(re.findall(r"<!-- table: ([a-z-]+) -->", TEXT)) == sorted(TABLES)


def test_each_warning_is_on_the_page() -> None:
    """The closed set of codes is documented, and nothing else is."""
    section = TEXT.partition("| warning | when |")[2].partition("## ")[0]
    assert re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE) == list(get_args(WarningCode))


@pytest.mark.parametrize("heading", ["When clocks change", "Missed occurrences", "Preview", "Decisions"])
def test_the_headings_that_others_refer_to_stay(heading: str) -> None:
    """Other pages and answers point here."""
    assert f"\n## {heading}\n" in TEXT
