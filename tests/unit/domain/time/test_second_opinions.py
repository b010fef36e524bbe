"""Our walk over the calendar against two others, over random questions and over real schedules."""

import csv
from pathlib import Path
from random import Random

import pytest

from carillon.domain.schedule import CronSchedule, ScheduleError
from tests.unit.domain.time.oracles import differences_from_brute_force, differences_from_cronsim, next_by_cronsim
from tests.unit.domain.time.tables import utc

REAL_SCHEDULES = Path(__file__).parents[3] / "data" / "real_schedules.csv"
NEVER = {"0 0 30 2 *", "0 0 31 2 *"}
STARTS = [utc("2026-11-29T23:32:07.250"), utc("2027-02-28T23:59:59.999"), utc("2026-10-25T00:00")]


def test_random_questions_near_clock_changes_have_the_brute_force_answer() -> None:
    """In every zone, under every choice: all fires of up to three days, forwards, backwards and counted."""
    assert differences_from_brute_force(Random(20261129), 1_000) == []  # noqa: S311 - reproducible, not secret


def test_random_questions_have_cronsim_s_answer_where_it_is_right() -> None:
    """In zones with whole-hour changes, none at midnight, by the default rule."""
    assert differences_from_cronsim(Random(20261129), 3_000) == []  # noqa: S311 - reproducible, not secret


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_real_crons_fire_when_cronsim_says(zone: str) -> None:
    """Each cron line of a public CI system, from three instants, three fires on."""
    for expression in _real_crons() - NEVER:
        schedule = CronSchedule(expression, zone)
        for start_ms in STARTS:
            after_ms = start_ms
            for _ in range(3):
                upcoming, expected = schedule.next_after(after_ms), next_by_cronsim(expression, zone, after_ms)
                assert (expression, after_ms, upcoming) == (expression, after_ms, expected)
                after_ms = upcoming or 0


def test_the_real_crons_that_are_refused_are_those_that_never_fire() -> None:
    """Somebody switched schedules off by setting them to February 30 and 31: refused, with the reason."""
    for expression in _real_crons() & NEVER:
        with pytest.raises(ScheduleError, match="no date ever matches"):
            CronSchedule(expression)


def _real_crons() -> set[str]:
    with REAL_SCHEDULES.open(encoding="utf-8", newline="") as file:
        expressions = {row["expression"] for row in csv.DictReader(file) if row["kind"] == "cron"}
    assert len(expressions) > 200
    return expressions
