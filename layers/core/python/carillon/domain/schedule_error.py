"""The one refusal of everything that has to do with time."""

from typing import Self


class ScheduleError(ValueError):
    """A time, a duration, a zone or a schedule that cannot be accepted.

    The texts never contain the refused value, so they may be shown to anyone.

    Attributes:
        field: Name of the field within the schedule: `cron`, `timezone`, `every`, `run_at`, …
        detail: What is wrong.
        allowed: What would have been accepted.
    """

    def __init__(self, field: str, detail: str, allowed: str) -> None:
        super().__init__(f"{field}: {detail}; allowed: {allowed}")
        self.field = field
        self.detail = detail
        self.allowed = allowed

    def renamed(self, field: str) -> Self:
        """The same refusal under the name by which the caller knows the field."""
        return type(self)(field, self.detail, self.allowed)
