"""A target that answers 410 will not come back: its job is paused, after the run's end has been recorded.

It comes after the record, and whatever becomes of it, the record stands. A worker that dies between the two leaves the
job as it was, and the answer to its next run pauses it.
"""

import logging
from functools import partial

from carillon.application.edit_job import Edit, EditJob
from carillon.application.read_jobs import JobNotFoundError
from carillon.application.run_records import RunRecords, facts
from carillon.domain.audit import Actor, ActorType
from carillon.domain.editing import Edited, JobFinishedError, pause
from carillon.domain.job import Definition, HttpTarget, Target
from carillon.domain.outcomes import TARGET_GONE
from carillon.domain.revisions import TooManyEditsError
from carillon.domain.run import Run
from carillon.domain.settling import Moment
from carillon.ports.errors import UnavailableError, UnreadableItemError

logger = logging.getLogger("carillon")


def pause_gone(records: RunRecords, run: Run, called: Target) -> None:
    """Pause the job of a run whose target is gone, unless it has ended or calls another URL by now."""
    if pause_by_itself(records, run, partial(_pause_caller_of, called), TARGET_GONE):
        records.meter.count("targets_gone")


def pause_by_itself(records: RunRecords, run: Run, change: Edit, reason: str) -> bool:
    """Pause the job of a run by an edit, which says why. Whether it is paused for that now; what fails is logged."""
    edit = EditJob(records.jobs, records.runs, records.retention_ms)
    try:
        by = Actor(ActorType.SYSTEM, reason, run.key.run_id)
        paused = edit(run.tenant, run.key.job_id, records.clock.now_ms(), change, by=by)
    except (JobFinishedError, JobNotFoundError):
        return False
    except (TooManyEditsError, UnavailableError, UnreadableItemError) as error:
        records.meter.count("pauses_failed")
        said = {"action": "pause_failed", **facts(run), "why": str(error)}
        logger.warning("job not paused", extra=said)
        return False
    if paused.spec.state_reason != reason:
        return False
    logger.warning("job paused", extra={"action": "job_paused", **facts(run), "why": reason})
    return True


def _pause_caller_of(called: Target, seen: Definition, at: Moment) -> Edited:
    target = seen.spec.target
    calls_it = isinstance(target, HttpTarget) and isinstance(called, HttpTarget) and target.url == called.url
    return pause(seen, at, reason=TARGET_GONE) if calls_it else Edited(seen)
