"""A due job is claimed by one owner at a time, by a newer owner only, and never twice for one version."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from carillon.domain.job import ClaimLease, JobState
from carillon.ports.jobs import Claimed, ClaimRefused
from contract.backends import Stores
from contract.conftest import LIVE, LIVE_BATCHED
from contract.samples import NOW_MS, a_claim, a_confirmation, a_definition, a_skipped, as_due, confirm_one, edited


@pytest.fixture(params=["memory", "moto", "moto-threads", LIVE, LIVE_BATCHED])
def world(request: pytest.FixtureRequest) -> str:
    """Claims also run over threads and in batched statements."""
    return str(request.param)


def test_a_claim_is_stored_and_leaves_the_index_alone(stores: Stores) -> None:
    """A claim writes its lease, and the due index goes on showing the job as before."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    assert stores.jobs.claim_many([claim]) == [Claimed(claim)]
    stored = stores.jobs.get(definition.job.id)
    lease = ClaimLease(100, NOW_MS + 30_000, claim.claim_id, NOW_MS)
    assert stored == replace(definition, job=replace(definition.job, lease=lease))
    assert stores.due_entries() == [as_due(definition.job)]


def test_a_claim_is_refused_while_another_holds(stores: Stores) -> None:
    """The second of two claims is refused, and learns whose lease stands until when."""
    definition = a_definition()
    stores.jobs.create(definition)
    stores.jobs.claim_many([a_claim(definition.job, "A" * 26)])
    [refused] = stores.jobs.claim_many([a_claim(definition.job, "B" * 26)])
    assert isinstance(refused, ClaimRefused)
    assert refused.job is not None
    assert refused.job.lease.claim_id == "A" * 26


def test_a_claim_whose_answer_was_lost_has_succeeded(stores: Stores) -> None:
    """The same claim again holds."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    assert stores.jobs.claim_many([claim]) == [Claimed(claim)]
    assert stores.jobs.claim_many([claim]) == [Claimed(claim)]


def test_b137_a_claim_of_another_version_is_refused(stores: Stores) -> None:
    """B137: what a stale index shows cannot be claimed."""
    definition = a_definition()
    stores.jobs.create(definition)
    stores.jobs.replace(edited(definition), seen_version=1, seen_revision=1, records=())
    [refused] = stores.jobs.claim_many([a_claim(definition.job)])
    assert isinstance(refused, ClaimRefused)
    assert refused.job is not None
    assert refused.job.version == 2


def test_a_claim_of_a_missing_job_is_refused(stores: Stores) -> None:
    """A claim brings no removed job back."""
    definition = a_definition()
    claim = a_claim(definition.job)
    assert stores.jobs.claim_many([claim]) == [ClaimRefused(claim, None)]
    assert stores.jobs.get(definition.job.id) is None


def test_b097_an_older_owner_is_fenced_off(stores: Stores) -> None:
    """B097: an owner whose epoch is below the stored one can neither claim nor take over."""
    definition = a_definition()
    stores.jobs.create(definition)
    first = a_claim(definition.job, epoch=100)
    stores.jobs.claim_many([first])
    confirm_one(stores.jobs, a_confirmation(first))
    now = stores.jobs.get(definition.job.id)
    assert now is not None
    [late] = stores.jobs.claim_many([a_claim(now.job, "Z" * 26, epoch=99)])
    assert isinstance(late, ClaimRefused)
    [late] = stores.jobs.claim_many([a_claim(now.job, "Z" * 26, epoch=99, takes_over=first.claim_id)])
    assert isinstance(late, ClaimRefused)
    [newer] = stores.jobs.claim_many([a_claim(now.job, "Z" * 26, epoch=100)])
    assert isinstance(newer, Claimed)


def test_a_claim_is_taken_over_by_its_name(stores: Stores) -> None:
    """A lease that has run out is taken over once: the second who read the same old claim is refused."""
    definition = a_definition()
    stores.jobs.create(definition)
    old = a_claim(definition.job, "A" * 26)
    stores.jobs.claim_many([old])
    second = a_claim(definition.job, "B" * 26, epoch=101, takes_over=old.claim_id)
    third = a_claim(definition.job, "C" * 26, epoch=102, takes_over=old.claim_id)
    assert stores.jobs.claim_many([second]) == [Claimed(second)]
    assert stores.jobs.claim_many([second]) == [Claimed(second)], "a repeat has succeeded"
    [refused] = stores.jobs.claim_many([third])
    assert isinstance(refused, ClaimRefused)
    assert not confirm_one(stores.jobs, a_confirmation(old)), "the first owner can confirm nothing any more"
    assert confirm_one(stores.jobs, a_confirmation(second))


def test_each_claim_stands_by_itself(stores: Stores) -> None:
    """Of many claims in one call some hold and some do not; each answer is at the place of its question."""
    definitions = [a_definition() for _ in range(60)]
    for definition in definitions[::2]:
        stores.jobs.create(definition)
    claims = [a_claim(d.job, f"{n:026}") for n, d in enumerate(definitions)]
    results = stores.jobs.claim_many(claims)
    assert [result.claim for result in results] == claims
    assert [isinstance(result, Claimed) for result in results] == [True, False] * 30


def test_one_job_twice_in_a_call_is_claimed_once(stores: Stores) -> None:
    """Two claims of one job in one call are two questions: one holds."""
    definition = a_definition()
    stores.jobs.create(definition)
    results = stores.jobs.claim_many([a_claim(definition.job, "A" * 26), a_claim(definition.job, "B" * 26)])
    assert Counter(map(type, results)) == Counter([Claimed, ClaimRefused])


def test_no_claims_are_no_work(stores: Stores) -> None:
    """Nothing asked, nothing answered."""
    assert stores.jobs.claim_many([]) == []


def test_a_confirm_moves_the_job_on(stores: Stores) -> None:
    """The next occurrence is planned, the version rises, the lease ends; a repeat has succeeded."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    confirmation = a_confirmation(claim)
    assert confirm_one(stores.jobs, confirmation)
    assert confirm_one(stores.jobs, confirmation)
    stored = stores.jobs.get(definition.job.id)
    later = NOW_MS + 60_000 + 3_600_000
    assert stored is not None
    assert stored.job == replace(
        definition.job,
        version=2,
        planned=1,
        scheduled_for=later,
        next_fire_time=later,
        lease=ClaimLease(100, 0, claim.claim_id, NOW_MS),
    )
    assert stores.due_entries() == [as_due(stored.job)]


@pytest.mark.parametrize("with_records", [False, True])
def test_after_a_partial_confirm_the_claim_is_taken_over(stores: Stores, *, with_records: bool) -> None:
    """What the queue did not accept can be claimed at once, and only by who learns as of when it was decided."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    records = (a_skipped(definition.job, NOW_MS),) if with_records else ()
    assert confirm_one(stores.jobs, a_confirmation(claim, is_partial=True, records=records))
    stored = stores.jobs.get(definition.job.id)
    assert stored is not None
    assert (stored.job.version, stored.job.lease) == (2, ClaimLease(100, 1, claim.claim_id, NOW_MS))
    [refused] = stores.jobs.claim_many([a_claim(stored.job, "B" * 26)])
    assert isinstance(refused, ClaimRefused)
    takeover = replace(a_claim(stored.job, "B" * 26), takes_over=claim.claim_id)
    assert stores.jobs.claim_many([takeover]) == [Claimed(takeover)]


def test_a_claim_is_confirmed_once(stores: Stores) -> None:
    """A second, different end of the same claim changes nothing."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    assert confirm_one(stores.jobs, a_confirmation(claim))
    confirmed = stores.jobs.get(definition.job.id)
    confirm_one(stores.jobs, a_confirmation(claim, upcoming=None, state=JobState.COMPLETED, planned=9))
    assert stores.jobs.get(definition.job.id) == confirmed


def test_a_confirm_of_the_last_occurrence_ends_the_job(stores: Stores) -> None:
    """A job with nothing to come leaves the index and is given its day of removal."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    end = a_confirmation(claim, upcoming=None, state=JobState.DISPATCHED, expires_at=1_800_000_000)
    assert confirm_one(stores.jobs, end)
    stored = stores.jobs.get(definition.job.id)
    assert stored is not None
    assert (stored.job.state, stored.job.next_fire_time, stored.job.scheduled_for) == (JobState.DISPATCHED, None, None)
    assert (stored.job.expires_at, stored.job.shard) == (1_800_000_000, 1)
    assert stores.due_entries() == []


def test_b097_a_confirm_without_the_claim_is_refused_whole(stores: Stores) -> None:
    """B097: who does not hold the claim changes nothing, and leaves no records."""
    definition = a_definition()
    stores.jobs.create(definition)
    never_made = a_claim(definition.job, "N" * 26)
    record = a_skipped(definition.job, NOW_MS)
    assert not confirm_one(stores.jobs, a_confirmation(never_made))
    assert not confirm_one(stores.jobs, a_confirmation(never_made, records=(record,)))
    assert stores.jobs.get(definition.job.id) == definition
    assert stores.runs.get(record.key) is None


def test_a_confirm_of_a_missing_job_is_refused(stores: Stores) -> None:
    """A confirm brings no removed job back."""
    definition = a_definition()
    assert not confirm_one(stores.jobs, a_confirmation(a_claim(definition.job)))
    assert not confirm_one(
        stores.jobs, a_confirmation(a_claim(definition.job), records=(a_skipped(definition.job, NOW_MS),))
    )
    assert stores.jobs.get(definition.job.id) is None


def test_a_confirm_writes_its_records_and_spares_those_that_exist(stores: Stores) -> None:
    """Records of skipped occurrences are written with the confirm; a run that has one keeps it. A repeat succeeds."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    existing = a_skipped(definition.job, NOW_MS, count=5)
    stores.runs.save(existing, seen=None)
    records = tuple(a_skipped(definition.job, NOW_MS + offset) for offset in range(0, 11_000, 1_000))
    confirmation = a_confirmation(claim, records=records)
    assert confirm_one(stores.jobs, confirmation)
    assert confirm_one(stores.jobs, confirmation)
    assert stores.runs.list_newest(definition.job.id, 20, None).runs[::-1] == (existing, *records[1:])


def test_b124_a_confirm_whose_records_all_exist_moves_the_job_on(stores: Stores) -> None:
    """B124: a block that was recorded before does not keep the next occurrence from being planned."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    record = a_skipped(definition.job, NOW_MS)
    stores.runs.save(record, seen=None)
    assert confirm_one(stores.jobs, a_confirmation(claim, records=(record,)))
    stored = stores.jobs.get(definition.job.id)
    assert stored is not None
    assert stored.job.version == 2


def test_a_granted_slot_lasts_until_its_occurrence_is_sent(stores: Stores) -> None:
    """The confirm says whether what comes next has its rate slot; the occurrence behind it has to ask anew."""
    definition = a_definition(granted=True)
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    assert confirm_one(stores.jobs, replace(a_confirmation(claim), granted=True))
    stored = stores.jobs.get(definition.job.id)
    assert stored is not None
    assert stored.job.granted
    claim = a_claim(stored.job, "D" * 26)
    stores.jobs.claim_many([claim])
    assert confirm_one(stores.jobs, a_confirmation(claim))
    stored = stores.jobs.get(definition.job.id)
    assert stored is not None
    assert not stored.job.granted


def test_of_many_racing_claimers_one_wins_each_job(stores: Stores) -> None:
    """Claimers that start together get every job, and none of them twice."""
    definitions = [a_definition() for _ in range(12)]
    for definition in definitions:
        stores.jobs.create(definition)
    claimers, start = 6, Barrier(6)

    def claim_all(claimer: int) -> list[str]:
        claims = [a_claim(d.job, f"{claimer:026}", epoch=100 + claimer) for d in definitions]
        start.wait(timeout=30)
        return [r.claim.entry.job_id for r in stores.jobs.claim_many(claims) if isinstance(r, Claimed)]

    with ThreadPoolExecutor(claimers) as pool:
        won = Counter(job_id for ids in pool.map(claim_all, range(claimers)) for job_id in ids)
    assert won == Counter(definition.job.id for definition in definitions)
