"""docs/scale.md says what the model says."""

import pytest

from bench.scale import tables
from bench.scale.__main__ import TARGET_SECONDS
from bench.scale.page import PAGE, names_in, with_tables

TEXT = PAGE.read_text("utf-8")


@pytest.mark.timeout(900)  # the whole model: a quarter of a minute of processor time
def test_the_tables_are_those_that_the_model_makes() -> None:
    """`python -m bench.scale --write` would change nothing; and the spike meets its target."""
    assert with_tables(TEXT) == TEXT
    assert tables.summary()["spike_p99_s"] <= TARGET_SECONDS


def test_each_table_is_on_the_page_once() -> None:
    """No table is made in vain, and none is asked for that is not made."""
    assert sorted(names_in(TEXT)) == sorted(tables.TABLES)
