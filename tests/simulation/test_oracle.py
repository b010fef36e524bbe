"""Which occurrences existed, by schedule and edits alone."""

import pytest

from carillon.domain.job import PlanningRules
from carillon.domain.schedule import Every, OneOff, Schedule
from simulation.history import Edit, EditKind, Story
from simulation.oracle import phases

T = 1_790_000_000_000
EVERY_10 = Every(10_000, T)
EVERY_7 = Every(7_000, T)


def times(schedule: Schedule, *edits: tuple[EditKind, int, Schedule | None]) -> tuple[list[int], list[int]]:
    """Which times exist up to 60 s, and which of them are skipped by a pause: seconds."""
    story = Story("job", 0, T, schedule, PlanningRules(), max_attempts=1)
    for seq, (kind, at_s, new) in enumerate(edits):
        story.edits.append(Edit(seq, kind, T + at_s * 1_000, schedule=new))
    live: list[int] = []
    skipped: list[int] = []
    for phase in phases(story):
        for nominal in phase.schedule.between(phase.after_ms, min(phase.until_ms, T + 60_000)):
            (skipped if phase.is_skipped else live).append((nominal - T) // 1_000)
    return live, skipped


@pytest.mark.parametrize(
    ("schedule", "edits", "live", "skipped"),
    [
        (EVERY_10, (), [10, 20, 30, 40, 50, 60], []),
        (OneOff(T), (), [0], []),
        (EVERY_10, [(EditKind.CANCEL, 30, None)], [10, 20, 30], []),
        (EVERY_10, [(EditKind.CHANGE, 25, EVERY_7)], [10, 20, 28, 35, 42, 49, 56], []),
        (EVERY_10, [(EditKind.CHANGE, 25, OneOff(T + 25_000))], [10, 20, 25], []),
        (EVERY_10, [(EditKind.PAUSE, 20, None)], [10, 20], []),
        (EVERY_10, [(EditKind.PAUSE, 20, None), (EditKind.RESUME, 45, None)], [10, 20, 50, 60], [30, 40]),
        (EVERY_10, [(EditKind.PAUSE, 20, None), (EditKind.CATCH_UP, 45, None)], [10, 20, 30, 40, 50, 60], []),
        (OneOff(T + 30_000), [(EditKind.PAUSE, 20, None), (EditKind.RESUME, 45, None)], [30], []),
        (EVERY_10, [(EditKind.PAUSE, 20, None), (EditKind.CANCEL, 45, None)], [10, 20], [30, 40]),
        (
            EVERY_10,
            [(EditKind.PAUSE, 20, None), (EditKind.CHANGE, 30, EVERY_7), (EditKind.RESUME, 45, None)],
            [10, 20, 49, 56],
            [30, 35, 42],
        ),
    ],
)
def test_what_existed(
    schedule: Schedule, edits: list[tuple[EditKind, int, Schedule | None]], live: list[int], skipped: list[int]
) -> None:
    """Nominal times are compared: each belongs to the definition that governed it."""
    assert times(schedule, *edits) == (live, skipped)
