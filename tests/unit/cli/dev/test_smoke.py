"""The figures that end a smoke run."""

import pytest

from carillon_cli.dev.smoke import figures, percentile


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([7], 50, 7),
        ([7], 99, 7),
        ([3, 1, 2], 50, 2),
        ([1, 2, 3, 4], 50, 2),
        (list(range(1, 101)), 99, 99),
        (list(range(1, 25)), 99, 24),
    ],
)
def test_percentiles_are_values_that_occurred(values: list[int], percent: int, expected: int) -> None:
    """Nearest rank: the smallest value that so many percent do not exceed."""
    assert percentile(values, percent) == expected


def test_the_last_line_has_its_form() -> None:
    """Programs read this line."""
    assert figures([40, 20, 900]) == "callbacks=3 late_p50_ms=40 late_p99_ms=900"
