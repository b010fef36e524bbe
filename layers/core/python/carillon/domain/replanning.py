"""What a stored next occurrence is to become when the rules of its zone have changed since it was planned.

The stored instant is the answer of the old rules, so it is matched with its twin. What has been planned stands for its
twin and runs no second time; what was promised and has not run is not lost.
"""

from carillon.domain.job import Definition, RevisionKind
from carillon.domain.schedule import Schedule
from carillon.domain.twins import LONGEST_SHIFT_MS, is_occurrence, nearest_twin


def next_by_the_rules(schedule: Schedule, *, stored_ms: int, planned_ms: int | None, now_ms: int) -> int:
    """The next occurrence by the present rules; the stored one where it is to stay.

    It stays when it is due already, and when its twin is past or planned: by the present rules it would have been
    missed, and it still runs, once, when it was promised. No misfire is made up.

    Args:
        schedule: by the present rules.
        stored_ms: the nominal time that is stored as next, epoch ms.
        planned_ms: the last nominal time that was planned of this schedule, epoch ms; None when none was.
        now_ms: the present, epoch ms.
    """
    if stored_ms <= now_ms or (planned_ms is not None and _follows_twin(schedule, planned_ms, stored_ms)):
        return stored_ms
    past_ms = max(now_ms, planned_ms or 0)
    shift_ms = None if planned_ms is None else _common_shift(schedule, planned_ms, stored_ms)
    if shift_ms is not None:
        moved_ms = stored_ms + shift_ms
        return moved_ms if moved_ms > past_ms and is_occurrence(schedule, moved_ms) else stored_ms
    twin_ms = nearest_twin(schedule, stored_ms)
    if twin_ms is not None and twin_ms <= past_ms:
        return stored_ms
    ran_ms = None if planned_ms is None else nearest_twin(schedule, planned_ms)
    upcoming = schedule.next_after(max(past_ms, ran_ms or 0))
    return stored_ms if upcoming is None else upcoming


def is_right_for_sure(schedule: Schedule, stored_ms: int, now_ms: int) -> bool:
    """Whether a stored next occurrence is right whatever was planned before it, so that nobody has to look that up."""
    if stored_ms <= now_ms:
        return True
    return stored_ms - now_ms > LONGEST_SHIFT_MS and schedule.next_after(now_ms) == stored_ms


def last_planned(seen: Definition) -> int | None:
    """The last nominal time that was planned of a job's present schedule, epoch ms; None when none was."""
    defined = (r.since for r in seen.spec.revisions if r.kind is not RevisionKind.REPLANNED)
    since = max(defined, default=seen.job.created_at)
    is_of_it = since <= seen.job.planned_until < (seen.job.scheduled_for or 0)
    return seen.job.planned_until if is_of_it else None


def _follows_twin(schedule: Schedule, planned_ms: int, stored_ms: int) -> bool:
    """Whether what is stored is the occurrence after a twin of the last planned one: so it is, once it is right."""
    before_ms = schedule.previous_before(stored_ms)
    return (
        is_occurrence(schedule, stored_ms) and before_ms is not None and abs(before_ms - planned_ms) <= LONGEST_SHIFT_MS
    )


def _common_shift(schedule: Schedule, planned_ms: int, stored_ms: int) -> int | None:
    """The shortest way by which both move to neighbouring occurrences, ms; None when there is none.

    The later one may move out of the schedule, behind its end.
    """
    twins = schedule.between(planned_ms - LONGEST_SHIFT_MS - 1, planned_ms + LONGEST_SHIFT_MS)
    shifts = [twin_ms - planned_ms for twin_ms in twins]
    common = (shift for shift in shifts if schedule.next_after(planned_ms + shift) in (stored_ms + shift, None))
    return min(common, key=abs, default=None)
