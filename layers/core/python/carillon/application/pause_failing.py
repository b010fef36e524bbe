"""A job whose runs all fail, for long, is paused: after the end of the run that made it enough has been recorded.

As with a target that is gone, the record stands whatever becomes of the pause. A worker that dies between the two
leaves the job as it was, and its next dead letter pauses it.
"""

import logging
from functools import partial

from carillon.application.pause_gone import pause_by_itself
from carillon.application.run_records import RunRecords, facts
from carillon.domain.editing import Edited, pause
from carillon.domain.failing import FAILING, RECORDS_READ, failed_row
from carillon.domain.job import Definition, JobState
from carillon.domain.run import FailedRow, Run
from carillon.domain.settling import Moment
from carillon.ports.errors import UnavailableError

logger = logging.getLogger("carillon")


def failed_in_a_row(records: RunRecords, dead: Run, definition: Definition) -> FailedRow | None:
    """The row of failures that ends with a run, by one read of the job's newest records; None where none counts."""
    if definition.job.state is not JobState.SCHEDULED:
        return None
    try:
        newest = records.runs.list_newest(dead.key.job_id, RECORDS_READ, None).runs
    except UnavailableError as error:
        said = {"action": "failures_uncounted", **facts(dead), "why": str(error)}
        logger.warning("failures in a row not counted", extra=said)
        return None
    return failed_row(dead, newest, definition.spec.updated_at, records.clock.now_ms())


def pause_failing(records: RunRecords, dead: Run) -> None:
    """Pause the job of a run with which it has failed for long enough, unless it was edited since, or has ended."""
    row, rules = dead.failed_row, records.failing
    if row is None or rules is None or not rules.are_met(row, records.clock.now_ms()):
        return
    paused = pause_by_itself(records, dead, partial(_pause_as_seen, row.since), FAILING)
    if paused:
        records.meter.count("jobs_failing")


def _pause_as_seen(since: int, seen: Definition, at: Moment) -> Edited:
    """Only of what has not been edited since the first failure. An edit that is no wish of the tenant's comes later."""
    is_same = seen.job.state is JobState.SCHEDULED and seen.spec.updated_at <= since
    return pause(seen, at, reason=FAILING) if is_same else Edited(seen)
