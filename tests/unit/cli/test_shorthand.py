"""Durations as people type them."""

import pytest

from carillon_cli.shorthand import duration_ms, iso_duration


@pytest.mark.parametrize(
    ("typed", "iso"),
    [
        ("24h", "P1D"),
        ("30m", "PT30M"),
        ("90s", "PT1M30S"),
        ("1h30m", "PT1H30M"),
        ("4h30m", "PT4H30M"),
        ("1d", "P1D"),
        ("2w", "P14D"),
        ("1w2d3h4m5s6ms", "P9DT3H4M5.006S"),
        ("500ms", "PT0.5S"),
        ("0s", "PT0S"),
        ("744h", "P31D"),
        ("PT1H", "PT1H"),
        ("P1DT1M", "P1DT1M"),
    ],
)
def test_a_typed_duration_becomes_iso_8601(typed: str, iso: str) -> None:
    """Numbers with units, or ISO 8601 itself, come out in the one form that the interface takes."""
    assert iso_duration(typed) == iso


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "h",
        "12",
        "1.5h",
        "-1h",
        "+1h",
        "1 h",
        "1h 30m",
        "30m1h",
        "1h1h",
        "1y",
        "1M",
        "1H",
        "P1M",
        "P",
        "٣h",
        "1h\n",
    ],
)
def test_what_is_no_duration_is_refused(typed: str) -> None:
    """Everything else is refused with what is allowed, never guessed at."""
    with pytest.raises(ValueError, match="allowed"):
        duration_ms(typed)
