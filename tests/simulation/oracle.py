"""Which occurrences existed, told from schedules and edits alone. Nothing of the product's planning is used here.

Nominal times are compared: what a definition has up to and at the instant of an edit is its own, and what comes later
is the edit's. A pause takes its time out; a resume from now turns it into skipped occurrences, a resume with catch-up
gives it back. Nothing exists behind a cancel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from carillon.domain.instants import LAST_INSTANT_MS
from carillon.domain.schedule import OneOff, Schedule

from .history import Edit, EditKind, Story


@dataclass(frozen=True, slots=True)
class Phase:
    """A time in which one definition answers: nominal times in (after, until].

    Attributes:
        is_skipped: it was a pause: all of it is skipped.
        window_ms: the window of the job then.
    """

    schedule: Schedule
    after_ms: int
    until_ms: int
    window_ms: int
    is_skipped: bool = False

    def nominal_times(self) -> Iterator[int]:
        """The occurrences of the phase."""
        return self.schedule.between(self.after_ms, self.until_ms) if self.after_ms < self.until_ms else iter(())

    def has(self, nominal: int) -> bool:
        """Whether an occurrence of the phase has this nominal time."""
        return self.after_ms < nominal <= self.until_ms and self.schedule.next_after(nominal - 1) == nominal


def phases(story: Story, edits: Sequence[Edit] | None = None) -> list[Phase]:
    """The phases of a job under its edits (or the first few of them), in order."""
    walk = _Walk(story)
    for edit in story.edits if edits is None else edits:
        walk.take(edit)
    walk.end()
    return walk.phases


def edits_are_in_order(story: Story) -> bool:
    """Whether each edit governs from behind the one before it."""
    return all(before.at_ms <= after.at_ms for before, after in pairwise(story.edits))


class _Walk:
    def __init__(self, story: Story) -> None:
        self.phases: list[Phase] = []
        self._schedule = story.schedule
        self._window_ms = story.rules.window_ms
        self._after_ms = story.created_at - isinstance(story.schedule, OneOff)
        self._is_paused = self._has_ended = False

    def take(self, edit: Edit) -> None:
        match edit.kind:
            case EditKind.PAUSE:
                self._close(edit.at_ms)
                self._is_paused = True
            case EditKind.RESUME | EditKind.CATCH_UP:
                if edit.kind is EditKind.RESUME and not isinstance(self._schedule, OneOff):
                    self._close(edit.at_ms, is_skipped=True)
                self._is_paused = False
            case EditKind.CHANGE:
                self._change(edit)
            case EditKind.CANCEL:
                self._close(edit.at_ms, is_skipped=self._is_paused)
                self._has_ended = True

    def _change(self, edit: Edit) -> None:
        """A single run may be due at the edit's instant. A paused job's window alone counts from the resume on."""
        if edit.schedule is not None or not self._is_paused:
            self._close(edit.at_ms, is_skipped=self._is_paused)
        if isinstance(edit.schedule, OneOff):
            self._after_ms = edit.at_ms - 1
        self._schedule = edit.schedule or self._schedule
        self._window_ms = self._window_ms if edit.window_ms is None else edit.window_ms

    def end(self) -> None:
        if not self._has_ended and not self._is_paused:
            self._close(LAST_INSTANT_MS)

    def _close(self, at_ms: int, *, is_skipped: bool = False) -> None:
        self.phases.append(Phase(self._schedule, self._after_ms, at_ms, self._window_ms, is_skipped))
        self._after_ms = max(self._after_ms, at_ms)
