"""What an edit leaves of the old plan is claimed and confirmed like a job, by itself, and removed once drained."""

from dataclasses import replace

from carillon.domain.job import Definition, Job, JobState
from carillon.ports.jobs import Claimed, ClaimRefused
from contract.backends import Stores
from contract.samples import NOW_MS, a_claim, a_confirmation, a_definition, a_skipped, as_due, confirm_one, edited


def an_edit_with_a_segment(stores: Stores) -> tuple[Definition, Job]:
    """A job as edited, and the segment of its old plan."""
    before = a_definition()
    stores.jobs.create(before)
    after = edited(before, generation=2, next_fire_time=NOW_MS + 90_000, scheduled_for=NOW_MS + 90_000)
    segment = replace(before.job, segment=1)
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=(), segment=segment)
    return after, segment


def test_an_edit_stores_its_segment(stores: Stores) -> None:
    """The old plan is due beside the new one; the job that is read is the new one."""
    after, segment = an_edit_with_a_segment(stores)
    assert stores.due_entries() == [as_due(segment), as_due(after.job)]
    assert stores.jobs.get(after.job.id) == after


def test_a_refused_edit_leaves_no_segment(stores: Stores) -> None:
    """All or nothing."""
    before = a_definition()
    stores.jobs.create(before)
    segment = replace(before.job, segment=1)
    assert not stores.jobs.replace(edited(before), seen_version=2, seen_revision=1, records=(), segment=segment)
    assert stores.due_entries() == [as_due(before.job)]


def test_job_and_segment_are_claimed_apart(stores: Stores) -> None:
    """A claim of one is no claim of the other, also when both are asked for in one call."""
    after, segment = an_edit_with_a_segment(stores)
    claims = [a_claim(segment, "S" * 26), a_claim(after.job, "J" * 26)]
    assert stores.jobs.claim_many(claims) == [Claimed(claim) for claim in claims]
    [refused] = stores.jobs.claim_many([a_claim(segment, "T" * 26)])
    assert isinstance(refused, ClaimRefused)
    assert refused.job is not None
    assert refused.job.segment == 1


def test_a_segment_is_drained(stores: Stores) -> None:
    """It moves on while something is left, and is removed with its last records; the job is untouched."""
    after, segment = an_edit_with_a_segment(stores)
    first = a_claim(segment, "S" * 26)
    stores.jobs.claim_many([first])
    moved = a_confirmation(first)
    assert confirm_one(stores.jobs, moved)
    [entry] = [entry for entry in stores.due_entries() if entry != as_due(after.job)]
    last = replace(first, entry=entry, claim_id="T" * 26)
    assert stores.jobs.claim_many([last]) == [Claimed(last)]
    record = a_skipped(segment, NOW_MS)
    end = a_confirmation(last, upcoming=None, state=JobState.COMPLETED, records=(record,))
    assert confirm_one(stores.jobs, end)
    assert confirm_one(stores.jobs, end), "a repeat has succeeded"
    assert stores.due_entries() == [as_due(after.job)]
    assert stores.runs.get(record.key) == record
    assert stores.jobs.get(after.job.id) == after


def test_a_broken_segment_is_set_aside_alone(stores: Stores) -> None:
    """An error in the old plan does not stop the new one."""
    after, segment = an_edit_with_a_segment(stores)
    assert stores.jobs.set_error(as_due(segment), "broken")
    assert stores.due_entries() == [as_due(after.job)]
    assert stores.jobs.get(after.job.id) == after
