"""The limit of a tenant's jobs is exact, whoever creates at once; every ending frees a place, and frees it once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from carillon.adapters.dynamodb.freeing import DynamoFreedJobs
from carillon.application.create_job import CreateJob, NewJob, NoOccurrenceError, ShardCount
from carillon.domain import editing
from carillon.domain.counting import SLICES
from carillon.domain.job import Definition, HttpTarget, JobState
from carillon.domain.limits import NO_LIMITS
from carillon.domain.schedule import OneOff
from carillon.domain.settling import Moment
from contract.counting import Counted, outcome_of
from contract.samples import NOW_MS, TENANT, a_definition, as_due

# ------------------------------------------------------------------------------------------------------- exact limits


@pytest.mark.parametrize(
    ("limit", "there", "creations"),
    [
        pytest.param(10, 9, 20, id="B236-one-left"),
        pytest.param(0, 0, 3, id="none-at-all"),
        pytest.param(110, 108, 6, id="several-slices"),
    ],
)
def test_as_many_succeed_as_there_is_room_for(counted: Counted, limit: int, there: int, creations: int) -> None:
    """However many create at once: the count, the table and the answers agree."""
    counted.limit(jobs=limit)
    counted.creates(there)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: outcome_of(counted.create), range(creations)))
    assert (outcomes.count("created"), outcomes.count("jobs")) == (limit - there, creations - limit + there)
    assert counted.used == counted.stored == limit


def test_b239_refused_creations_leave_the_count(counted: Counted) -> None:
    """Five refused at once change nothing: nothing was reserved, so nothing is given back."""
    counted.limit(jobs=3)
    counted.creates(3)
    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(lambda _: outcome_of(counted.create), range(5))) == ["jobs"] * 5
    assert counted.used == counted.stored == 3


def test_b238_a_deletion_and_a_creation_at_once(counted: Counted) -> None:
    """The last job is cancelled while another is created: the count is the number of jobs, and never below."""
    last = counted.create()
    with ThreadPoolExecutor(2) as pool:
        pool.submit(counted.edit, last, editing.cancel).result()
        pool.submit(counted.create).result()
    assert counted.used == counted.stored == 1
    counted.limit(jobs=1)
    assert counted.creates(1) == ["jobs"]


@pytest.mark.parametrize("limits", [{}, {"jobs": 1}], ids=["unlimited", "limited"])
def test_b241_what_creates_nothing_uses_nothing(counted: Counted, limits: dict[str, int]) -> None:
    """A schedule without an occurrence, a repeat of the same creation, a taken name."""
    counted.limit(**limits)
    first = counted.create(name="backup")
    counted.stores.jobs.create(first, limits=counted.stores.limits.of(TENANT))
    assert outcome_of(lambda: counted.create(name="backup")) == "name"
    create = CreateJob(
        counted.stores.jobs, Ids(), ShardCount(counted.stores.shards, 1), limits_of=counted.stores.limits.of
    )
    with pytest.raises(NoOccurrenceError):
        create(TENANT, NewJob(schedule=OneOff(NOW_MS - 1), target=HttpTarget("https://example.com")), NOW_MS)
    assert counted.used == counted.stored == 1


class Ids:
    """Names that nobody gets to use."""

    def job_id(self, now_ms: int) -> str:
        """One."""
        return f"job_{now_ms}"

    def token(self) -> str:
        """None."""
        raise NotImplementedError

    def unit(self) -> float:
        """None."""
        raise NotImplementedError

    def secret_bytes(self, count: int) -> bytes:
        """None."""
        raise NotImplementedError


def test_neighbours_notice_nothing(counted: Counted) -> None:
    """A tenant at its limit is refused; another one's limit, count and creations are its own."""
    counted.limit(jobs=1)
    assert counted.creates(2) == ["created", "jobs"]
    assert outcome_of(lambda: counted.create(tenant="globex")) == "created"
    assert counted.used == 1


# ------------------------------------------------------------------------------------------------------ changed limits


def test_a_limit_counts_what_there_was_before_it(counted: Counted) -> None:
    """Jobs made without a limit are counted all the same; taking the limit away lets more be made."""
    assert counted.creates(5) == ["created"] * 5
    counted.limit(jobs=6)
    assert counted.creates(2) == ["created", "jobs"]
    counted.limit()
    assert counted.creates(1) == ["created"]
    assert counted.used == 7


def test_below_a_lowered_limit_one_is_made_again(counted: Counted) -> None:
    """A limit below what there is refuses until as many have ended, and then allows that many and no more."""
    jobs = [counted.create() for _ in range(6)]
    counted.limit(jobs=4)
    for job in jobs[:2]:
        assert counted.creates(1) == ["jobs"]
        counted.edit(job, editing.cancel)
    assert counted.used == 4
    assert counted.creates(1) == ["jobs"]
    counted.edit(jobs[2], editing.cancel)
    counted.follow()
    assert counted.creates(2) == ["created", "jobs"]
    assert counted.used == counted.stored == 4


@pytest.mark.parametrize("second", range(SLICES))
def test_a_lowered_limit_holds_wherever_places_are_freed(counted: Counted, second: int) -> None:
    """Jobs of the time without a limit are freed in one slice by the second: it counts less than none, without room."""
    jobs = [counted.create() for _ in range(6)]
    counted.limit(jobs=2)
    counted.told_at = 1_790_000_000 + second
    for job in jobs[:4]:
        counted.edit(job, editing.cancel)
        counted.follow()
        assert counted.creates(4) == ["jobs"] * 4
    counted.edit(jobs[4], editing.cancel)
    counted.follow()
    assert counted.creates(2) == ["created", "jobs"]
    assert counted.used == counted.stored == 2


def test_room_in_slices_that_are_used_no_more_is_found(counted: Counted) -> None:
    """Places that become free in slices of a larger limit are given to jobs under a smaller one."""
    jobs = [counted.create() for _ in range(20)]
    counted.limit(jobs=20)
    for job in jobs[:7]:
        counted.edit(job, editing.cancel)
    counted.follow()
    assert counted.creates(8) == ["created"] * 7 + ["jobs"]
    assert counted.used == counted.stored == 20


def test_whoever_knows_an_old_limit_keeps_to_the_new_one(counted: Counted) -> None:
    """Limits are remembered for a while by who creates; that of jobs holds at once."""
    counted.limit(jobs=2)
    outcomes = []
    for _ in range(3):
        definition = a_definition()
        outcomes.append(outcome_of(lambda made=definition: counted.stores.jobs.create(made, limits=NO_LIMITS)))
    assert outcomes == ["created", "created", "jobs"]


# ------------------------------------------------------------------------------------------------------------- endings


def cancelled(counted: Counted, job: Definition) -> None:
    """The tenant cancels it."""
    counted.edit(job, editing.cancel)


def dispatched(counted: Counted, job: Definition) -> None:
    """Its only run is on its way: whatever becomes of that, success or not, the job has ended."""
    counted.dispatch(job)


def completed(counted: Counted, job: Definition) -> None:
    """Its last run was planned."""
    counted.dispatch(job, JobState.COMPLETED)


def broken(counted: Counted, job: Definition) -> None:
    """It could not be decided."""
    assert counted.stores.jobs.set_error(as_due(counted.stored_of(job).job), "damaged")


def removed(counted: Counted, job: Definition) -> None:
    """It was removed while it counted."""
    counted.stores.drop_hot_half(job.job.id)


ENDINGS = [cancelled, dispatched, completed, broken, removed]


@pytest.mark.parametrize("end", ENDINGS, ids=[f"B242-{end.__name__}" for end in ENDINGS])
def test_every_ending_frees_one_place(counted: Counted, end: Callable[[Counted, Definition], None]) -> None:
    """Once, also when the stream tells of it again, alone or with what comes after it."""
    counted.limit(jobs=2)
    jobs = [counted.create() for _ in range(2)]
    end(counted, jobs[0])
    assert counted.used == 1
    if counted.streams is not None:
        counted.tell(counted.events)
        counted.tell(counted.events[-1:])
    assert counted.used == 1
    if end is not removed:
        counted.stores.drop_hot_half(jobs[0].job.id)  # by retention, later: it does not count any more
        assert counted.used == 1
    assert counted.creates(2) == ["created", "jobs"]


def test_b242_a_paused_job_counts(counted: Counted) -> None:
    """A pause, a resume and any other edit of a job that counts neither free its place nor take another."""
    counted.limit(jobs=1)
    job = counted.create()
    for change in (editing.pause, lambda seen, at: editing.resume(seen, at, catch_up=False), relabelled):
        counted.edit(job, change)
        assert counted.used == 1
        assert counted.creates(1) == ["jobs"]


def relabelled(seen: Definition, at: Moment) -> editing.Edited:
    """Another label."""
    return editing.change(seen, replace(seen, spec=replace(seen.spec, labels={"tier": "1"})), at)


@pytest.mark.parametrize(("room", "outcome"), [(1, "created"), (0, "jobs")])
def test_a_job_that_is_brought_back_counts_again(counted: Counted, room: int, outcome: str) -> None:
    """An edit that plans anew what had ended takes a place, or is refused and changes nothing."""
    job = counted.create()
    broken(counted, job)
    assert counted.used == 0
    counted.limit(jobs=room)
    assert outcome_of(lambda: counted.edit(job, relabelled)) == outcome
    assert counted.used == counted.stored == room
    broken_still = counted.stored_of(job).job.state is JobState.ERROR
    assert broken_still is (outcome == "jobs")


def test_many_are_freed_at_once(counted: Counted) -> None:
    """More than fit into one transaction, and all of the same second."""
    if counted.stores.database is None:
        pytest.skip("memory keeps no count")
    jobs = [counted.create() for _ in range(104)]
    freed = {f"event-{position}": counted.stored_of(job).job.counted or 0 for position, job in enumerate(jobs)}
    for _ in range(2):
        DynamoFreedJobs(counted.stores.database).free(TENANT, NOW_MS // 1000, freed)
    assert sum(each.used for each in counted.stores.counts.slices(TENANT)) == 0
