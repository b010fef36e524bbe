"""What the owner of a schedule should know before trusting it: a closed set."""

from dataclasses import dataclass
from typing import Literal

WarningCode = Literal[
    "never_fires",
    "nothing_ahead",
    "ends_soon",
    "clock_change_ahead",
    "leap_day_only",
    "misses_months",
    "either_day_field",
    "both_day_fields",
    "several_per_window",
    "very_frequent",
]


@dataclass(frozen=True, slots=True)
class ScheduleWarning:
    """A stable code, and in a sentence what it means for this schedule."""

    code: WarningCode
    detail: str
