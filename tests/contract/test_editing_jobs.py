"""Edits hold only against the job that was read, and never undo a dispatcher's claim by accident."""

from dataclasses import replace

import pytest

from carillon.domain.job import ClaimLease, Definition, JobState
from carillon.ports.errors import NameTakenError
from carillon.ports.jobs import Claimed, Renaming
from contract.backends import Stores
from contract.samples import (
    NOW_MS,
    a_claim,
    a_confirmation,
    a_definition,
    a_run,
    a_skipped,
    as_due,
    cancelled_now,
    confirm_one,
    edited,
)


def test_an_edit_is_stored_with_its_records(stores: Stores) -> None:
    """Both halves and the records are written together; the due index shows the new planning."""
    before = a_definition(name="daily")
    stores.jobs.create(before)
    after = edited(before, next_fire_time=NOW_MS + 1, scheduled_for=NOW_MS + 1)
    record = a_skipped(before.job, NOW_MS)
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=[record])
    assert stores.jobs.get(before.job.id) == after
    assert stores.runs.get(record.key) == record
    assert stores.due_entries() == [as_due(after.job)]


def test_cancelling_takes_the_job_out_of_the_index(stores: Stores) -> None:
    """A cancelled job is due no more."""
    before = a_definition()
    stores.jobs.create(before)
    assert stores.jobs.replace(cancelled_now(before), seen_version=1, seen_revision=1, records=())
    assert stores.jobs.get(before.job.id) == cancelled_now(before)
    assert stores.due_entries() == []


def test_b137_a_stale_edit_is_refused_whole(stores: Stores) -> None:
    """B137: against a newer version or a newer revision nothing is written, the records neither."""
    before = a_definition()
    stores.jobs.create(before)
    record = a_skipped(before.job, NOW_MS)
    for version, revision in ((2, 1), (1, 2)):
        after = edited(before, generation=2)
        assert not stores.jobs.replace(after, seen_version=version, seen_revision=revision, records=[record])
    assert stores.jobs.get(before.job.id) == before
    assert stores.runs.get(record.key) is None


def test_an_edit_of_a_missing_job_is_refused(stores: Stores) -> None:
    """What is gone is not brought back by an edit."""
    before = a_definition()
    assert not stores.jobs.replace(edited(before), seen_version=1, seen_revision=1, records=())
    assert stores.jobs.get(before.job.id) is None


def test_a_repeated_edit_has_succeeded(stores: Stores) -> None:
    """An edit whose answer was lost may be repeated; a different edit from the same reading has lost."""
    before = a_definition()
    stores.jobs.create(before)
    after = edited(before)
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=())
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=())
    other = replace(after, spec=replace(after.spec, updated_at=NOW_MS + 2_000))
    assert not stores.jobs.replace(other, seen_version=1, seen_revision=1, records=())


def test_a_record_that_exists_stays(stores: Stores) -> None:
    """A run that has a record keeps it, and the rest of the edit is stored."""
    before = a_definition()
    stores.jobs.create(before)
    begun, new = a_run(before.job, NOW_MS), a_skipped(before.job, NOW_MS + 1_000)
    stores.runs.save(begun, seen=None)
    records = [a_skipped(before.job, NOW_MS), new]
    assert stores.jobs.replace(cancelled_now(before), seen_version=1, seen_revision=1, records=records)
    assert stores.runs.get(begun.key) == begun
    assert stores.runs.get(new.key) == new


def test_cancelling_frees_no_other_jobs_name(stores: Stores) -> None:
    """A job that lost its name to another one is cancelled all the same, and the name stays with the other."""
    first, second = a_definition(name="nightly"), a_definition(name="nightly")
    stores.jobs.create(first)
    stores.jobs.replace(cancelled_now(first), seen_version=1, seen_revision=1, records=())
    stores.jobs.create(second)
    again = cancelled_now(first)
    again = replace(again, job=replace(again.job, version=3), spec=replace(again.spec, revision=3))
    assert stores.jobs.replace(again, seen_version=2, seen_revision=2, records=[a_skipped(first.job, NOW_MS)])
    assert stores.jobs.get(first.job.id) == again
    assert stores.jobs.replace(cancelled_now(second), seen_version=1, seen_revision=1, records=())


def renamed(definition: Definition, name: str | None) -> Definition:
    """The job in its next revision, under another name."""
    return replace(definition, spec=replace(definition.spec, revision=definition.spec.revision + 1, name=name))


def rename(stores: Stores, definition: Definition, name: str | None) -> bool:
    """Give a job of version 1 and revision 1 another name."""
    renaming = Renaming(definition.spec.name)
    return stores.jobs.replace(
        renamed(definition, name), seen_version=1, seen_revision=1, records=(), renaming=renaming
    )


@pytest.mark.parametrize(("former", "name"), [("a", "b"), (None, "b"), ("a", None)])
def test_a_renamed_job_holds_its_new_name_alone(stores: Stores, former: str | None, name: str | None) -> None:
    """The new name is taken and the former one is free, in the write of the edit."""
    job = a_definition(name=former)
    stores.jobs.create(job)
    assert rename(stores, job, name)
    assert rename(stores, job, name), "a repeat has succeeded"
    assert stores.jobs.get(job.job.id) == renamed(job, name)
    if name is not None:
        with pytest.raises(NameTakenError) as refused:
            stores.jobs.create(a_definition(name=name))
        assert refused.value.job_id == job.job.id
    if former is not None:
        stores.jobs.create(a_definition(name=former))


def test_b146_a_name_of_a_living_job_is_not_taken_by_renaming(stores: Stores) -> None:
    """B146: refused whole, told who holds it; the job keeps its own name."""
    holder, job = a_definition(name="daily"), a_definition(name="nightly")
    stores.jobs.create(holder)
    stores.jobs.create(job)
    with pytest.raises(NameTakenError) as refused:
        rename(stores, job, "daily")
    assert refused.value.job_id == holder.job.id
    assert stores.jobs.get(job.job.id) == job
    with pytest.raises(NameTakenError):
        stores.jobs.create(a_definition(name="nightly"))


def test_a_name_left_behind_is_taken_by_renaming(stores: Stores) -> None:
    """The name of a job that is gone can be taken; the job that lost it frees it no more."""
    gone, job = a_definition(name="daily"), a_definition(name="nightly")
    stores.jobs.create(gone)
    stores.jobs.create(job)
    stores.drop_hot_half(gone.job.id)
    assert rename(stores, job, "daily")
    stores.jobs.delete(gone.job.id)
    with pytest.raises(NameTakenError) as refused:
        stores.jobs.create(a_definition(name="daily"))
    assert refused.value.job_id == job.job.id


def test_b137_a_stale_renaming_changes_no_name(stores: Stores) -> None:
    """B137: an edit that lost its race neither takes the new name nor frees the former one."""
    job = a_definition(name="nightly")
    stores.jobs.create(job)
    newer = edited(job)
    assert stores.jobs.replace(newer, seen_version=1, seen_revision=1, records=())
    assert not rename(stores, job, "daily")
    stores.jobs.create(a_definition(name="daily"))
    with pytest.raises(NameTakenError):
        stores.jobs.create(a_definition(name="nightly"))


def test_names_of_other_tenants_are_not_in_the_way_of_renaming(stores: Stores) -> None:
    """Each tenant has its own names."""
    stores.jobs.create(a_definition(name="daily", tenant="umbrella"))
    job = a_definition(name="nightly")
    stores.jobs.create(job)
    assert rename(stores, job, "daily")


def test_a_new_version_voids_the_claim(stores: Stores) -> None:
    """After an edit of the planning the claim made before it confirms nothing, and its epoch still fences."""
    before = a_definition()
    stores.jobs.create(before)
    claim = a_claim(before.job)
    stores.jobs.claim_many([claim])
    after = edited(before, generation=2)
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=())
    assert not confirm_one(stores.jobs, a_confirmation(claim, records=(a_skipped(before.job, NOW_MS),)))
    stored = stores.jobs.get(before.job.id)
    assert stored is not None
    assert stored.job == replace(after.job, lease=ClaimLease(epoch=100))
    [late] = stores.jobs.claim_many([a_claim(after.job, epoch=99)])
    assert not isinstance(late, Claimed)


def test_an_edit_that_settles_knows_the_claim(stores: Stores) -> None:
    """An edit that names the claim it has seen is refused, whole, when the job has been claimed meanwhile."""
    before = a_definition()
    stores.jobs.create(before)
    stores.jobs.claim_many([a_claim(before.job, "A" * 26)])
    after, record = edited(before, generation=2), a_skipped(before.job, NOW_MS)
    for seen_claim in ("", "B" * 26):
        assert not stores.jobs.replace(after, seen_version=1, seen_revision=1, records=[record], seen_claim=seen_claim)
    assert stores.runs.get(record.key) is None
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=[record], seen_claim="A" * 26)


def test_an_edit_that_settles_an_unclaimed_job(stores: Stores) -> None:
    """A job that nobody has claimed yet is known by the empty name."""
    before = a_definition()
    stores.jobs.create(before)
    record = a_skipped(before.job, NOW_MS)
    assert stores.jobs.replace(
        edited(before, generation=2), seen_version=1, seen_revision=1, records=[record], seen_claim=""
    )


def test_an_edit_of_the_target_leaves_the_claim(stores: Stores) -> None:
    """An edit that changes no planning does not disturb the dispatcher that has claimed the job meanwhile."""
    before = a_definition()
    stores.jobs.create(before)
    claim = a_claim(before.job)
    stores.jobs.claim_many([claim])
    after = replace(before, spec=replace(before.spec, revision=2, labels={"team": "billing"}))
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=())
    assert confirm_one(stores.jobs, a_confirmation(claim))


def test_b137_a_broken_job_leaves_the_index(stores: Stores) -> None:
    """B137: a job that cannot be decided becomes an error once, and only in the version that was seen."""
    before = a_definition()
    stores.jobs.create(before)
    entry = as_due(before.job)
    assert not stores.jobs.set_error(replace(entry, version=7), "broken")
    assert stores.jobs.set_error(entry, "broken")
    assert stores.jobs.set_error(entry, "broken"), "a repeat has succeeded"
    stored = stores.jobs.get(before.job.id)
    assert stored is not None
    assert (stored.job.state, stored.job.error, stored.job.version) == (JobState.ERROR, "broken", 2)
    assert stores.due_entries() == []


def test_setting_an_error_on_a_missing_job_is_refused(stores: Stores) -> None:
    """What is gone is not brought back as an error."""
    before = a_definition()
    assert not stores.jobs.set_error(as_due(before.job), "broken")
    assert stores.jobs.get(before.job.id) is None
