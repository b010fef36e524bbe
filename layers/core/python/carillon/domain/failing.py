"""Jobs whose runs all fail: told from the newest records, when one more run has become a dead letter.

A dead letter carries how many failed in a row up to it, and since when, so the next one reads a few records and not
the whole row. A run that is healthy reads and writes nothing for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.domain.instants import DAY_MS
from carillon.domain.run import FailedRow, Run, RunState

FAILING = "failing"
"""Why such a job is paused."""

RECORDS_READ = 20
"""Newest records of a job that are looked at. With more under way than that, its failures are not in a row."""


@dataclass(frozen=True, slots=True)
class FailingRules:
    """A job is paused when so many of its runs have failed in a row, the first of them so long before the last."""

    runs: int = 20
    over_ms: int = DAY_MS

    def are_met(self, row: FailedRow, now_ms: int) -> bool:
        """Whether a row of failures is long enough, in runs and in time."""
        return row.runs >= self.runs and now_ms - row.since >= self.over_ms


def failed_row(dead: Run, newest: Sequence[Run], edited_at: int, now_ms: int) -> FailedRow | None:
    """The row of failures that ends with a run; None if it was due before the last edit, and says nothing of the job.

    Runs that were skipped or cancelled, and those still under way, are neither in the row nor do they break it.

    Args:
        dead: the run that ends as a dead letter now.
        newest: records of its job, newest nominal time first.
        edited_at: when the job was edited or resumed last, epoch ms: older runs do not count.
        now_ms: the present, epoch ms.
    """
    if dead.scheduled_for <= edited_at:
        return None
    runs, since = 1, now_ms
    for passed, run in enumerate(_failures_before(dead, newest, edited_at), start=1):
        known = run.failed_row or FailedRow(1, now_ms if run.ended_at is None else run.ended_at)
        runs, since = max(runs, passed + known.runs), min(since, known.since)
    return FailedRow(runs, max(since, edited_at))


def _failures_before(dead: Run, newest: Sequence[Run], edited_at: int) -> list[Run]:
    """The other dead letters, newest first, down to the first success or the last edit."""
    failures: list[Run] = []
    for run in newest:
        if run.state is RunState.SUCCEEDED or run.scheduled_for <= edited_at:
            break
        if run.state is RunState.DEAD_LETTERED and run.key != dead.key:
            failures.append(run)
    return failures
