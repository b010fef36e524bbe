"""The limit of a tenant's jobs is exact, whoever creates at once; every ending frees a place, and frees it once."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest

from carillon.adapters.aws import new_client
from carillon.adapters.dynamodb.freeing import DynamoFreedJobs
from carillon.adapters.memory.edges import RecordingMeter
from carillon.application.create_job import CreateJob, NewJob, NoOccurrenceError, ShardCount
from carillon.application.edit_job import Edit, EditJob
from carillon.application.recount import Recount, TenantBusyError
from carillon.domain import editing
from carillon.domain.counting import SLICES
from carillon.domain.due import DueJob
from carillon.domain.job import Definition, HttpTarget, JobState
from carillon.domain.limits import NO_LIMITS, CreateLimit, Limits
from carillon.domain.schedule import Every, OneOff, encode
from carillon.domain.settling import Moment
from carillon.domain.tenancy import Tenant
from carillon.entrypoint.removals import removal_handler
from carillon.ports.errors import LimitReachedError, NameTakenError, TooFastError
from carillon.ports.jobs import Claim, Confirmation
from contract.backends import Endpoint, Stores
from contract.samples import NOW_MS, TENANT, a_definition, as_due

DAY_MS = 24 * 3600 * 1000
HOURLY, TWO_HOURLY = (encode(Every(hours * 3_600_000, NOW_MS + 60_000)) for hours in (1, 2))


@dataclass
class Counted:
    """A tenant's jobs in a world, whose stream is read when it is asked."""

    stores: Stores
    streams: Any = None
    seen: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    def limit(self, **limits: Any) -> None:
        """Give the tenant limits."""
        self.stores.limits.set(TENANT, Limits(**limits))

    def create(self, **changes: Any) -> Definition:
        """Create a job under the tenant's limits."""
        definition = a_definition(**{"schedule": HOURLY, **changes})
        self.stores.jobs.create(definition, limits=self.stores.limits.of(definition.job.tenant))
        return definition

    def creates(self, number: int) -> list[str]:
        """What becomes of so many creations, one after the other."""
        return [outcome_of(self.create) for _ in range(number)]

    @property
    def used(self) -> int:
        """How many jobs count, with what the stream has told by now."""
        self.follow()
        return sum(each.used for each in self.stores.counts.slices(TENANT))

    @property
    def stored(self) -> int:
        """How many jobs in the table have something planned, or are paused."""
        page = self.stores.jobs.list_newest(TENANT, 1_000, None)
        return sum(each.job.state in (JobState.SCHEDULED, JobState.PAUSED) for each in page.definitions)

    def follow(self) -> None:
        """Let the function that follows the stream see what is new in it."""
        if self.streams is not None:
            self.events = list(self._records())
            self.tell(self.events[self.seen :])
            self.seen = len(self.events)

    def tell(self, records: Sequence[dict[str, Any]]) -> None:
        """Tell the function of these records."""
        assert self.stores.database is not None
        handle = removal_handler(lambda *_: None, DynamoFreedJobs(self.stores.database), RecordingMeter())
        assert handle({"Records": list(records)}, None) == {"batchItemFailures": []}  # type: ignore[arg-type]

    def stored_of(self, definition: Definition) -> Definition:
        """A job as it is stored."""
        stored = self.stores.jobs.get(definition.job.id)
        assert stored is not None
        return stored

    def edit(self, definition: Definition, change: Edit, now_ms: int = NOW_MS) -> Definition:
        """Edit a job as the API does."""
        edit = EditJob(self.stores.jobs, self.stores.runs, DAY_MS, self.stores.limits.of)
        return edit(TENANT, definition.job.id, now_ms, change)

    def dispatch(self, definition: Definition, state: JobState = JobState.DISPATCHED) -> None:
        """Claim a job and confirm that nothing comes next."""
        entry = as_due(self.stored_of(definition).job)
        claim = Claim(entry, 1, "claim", NOW_MS + 30_000, NOW_MS)
        self.stores.jobs.claim_many([claim])
        assert self.stores.jobs.confirm_many([Confirmation(claim, None, 1, state, None)]) == [True]

    def _records(self) -> Iterator[dict[str, Any]]:
        database = self.stores.database
        assert database is not None
        arn = database.client.describe_table(TableName=database.jobs)["Table"]["LatestStreamArn"]
        for shard in self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = self.streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            for record in self.streams.get_records(ShardIterator=iterator)["Records"]:
                told = record["dynamodb"]
                yield record | {
                    "dynamodb": told | {"ApproximateCreationDateTime": told["ApproximateCreationDateTime"].timestamp()}
                }


def outcome_of(create: Callable[[], object]) -> str:
    """What becomes of a creation."""
    try:
        create()
    except LimitReachedError as error:
        return error.limit
    except TooFastError:
        return "create_rate"
    except NameTakenError:
        return "name"
    return "created"


@pytest.fixture
def counted(world: str, stores: Stores, request: pytest.FixtureRequest) -> Counted:
    """A tenant's jobs in each world."""
    if world == "memory":
        return Counted(stores)
    endpoint: Endpoint = request.getfixturevalue("endpoint")
    return Counted(stores, new_client(endpoint.session, "dynamodbstreams", endpoint_url=endpoint.url))


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


# ---------------------------------------------------------------------------------------------------- rate of creating


def test_as_many_are_created_in_a_stretch_of_time_as_may(counted: Counted) -> None:
    """Then none until the next begins; what is refused says how long that takes, and uses nothing."""
    counted.limit(create=CreateLimit.per_second(Decimal("0.5"), 3))
    begin = NOW_MS - NOW_MS % 6_000
    assert [outcome_of(lambda: counted.create(created_at=begin + 1_000)) for _ in range(5)] == [
        *["created"] * 3,
        *["create_rate"] * 2,
    ]
    with pytest.raises(TooFastError) as refused:
        counted.create(created_at=begin + 1_500)
    assert refused.value.wait_ms == 4_500
    assert [outcome_of(lambda: counted.create(created_at=begin + 6_000)) for _ in range(4)][2:] == [
        "created",
        "create_rate",
    ]
    assert counted.used == 6


def test_a_fast_rate_is_used_up_in_all_slices(counted: Counted) -> None:
    """Also by processes that know nothing of each other's turns."""
    counted.limit(create=CreateLimit.per_second(Decimal(40), 40))
    outcomes = []
    for _ in range(45):
        outcomes.append(outcome_of(counted.create))
        if counted.stores.database is not None:  # another process
            counted.stores.jobs.__init__(counted.stores.database)  # type: ignore[misc]
    assert (outcomes.count("created"), outcomes.count("create_rate")) == (40, 5)


def test_both_limits_hold_at_once(counted: Counted) -> None:
    """The one that is reached first is named."""
    counted.limit(jobs=2, create=CreateLimit.per_second(Decimal(1), 3))
    assert counted.creates(3) == ["created", "created", "jobs"]
    counted.limit(jobs=9, create=CreateLimit.per_second(Decimal(1), 3))
    assert counted.creates(2) == ["created", "create_rate"]


def test_no_item_is_hot(counted: Counted) -> None:
    """Without a limit, jobs are counted all over the slices; a small limit is not scattered."""
    if counted.stores.database is None:
        pytest.skip("memory keeps no count")
    counted.creates(100)
    assert sum(each.used > 0 for each in counted.stores.counts.slices(TENANT)) == SLICES
    for tenant, most, slices in (("small", 50, 1), ("large", 400, 4)):
        counted.stores.limits.set(tenant, Limits(jobs=most))
        shares = [each.share for each in counted.stores.counts.slices(tenant)]
        assert (sum(share or 0 for share in shares), sum(bool(share) for share in shares)) == (most, slices)


def test_a_segment_does_not_count(counted: Counted) -> None:
    """What a new schedule leaves of the old one frees nothing when it is drained."""
    job = counted.create()
    counted.edit(
        job,
        lambda seen, at: editing.change(seen, replace(seen, job=replace(seen.job, schedule=TWO_HOURLY)), at),
        NOW_MS + 120_000,
    )
    left = [entry for entry in counted.stores.due_entries() if isinstance(entry, DueJob) and entry.segment is not None]
    claim = Claim(left[0], 1, "claim", NOW_MS + 150_000, NOW_MS + 120_000)
    counted.stores.jobs.claim_many([claim])
    assert counted.stores.jobs.confirm_many([Confirmation(claim, None, 1, JobState.SCHEDULED, None)]) == [True]
    assert counted.used == counted.stored == 1


class _AnyTenant:
    """A store in which every tenant is."""

    def get(self, tenant_id: str) -> Tenant:
        """The tenant."""
        return Tenant(tenant_id, NOW_MS)


def recount(counted: Counted, meanwhile: Callable[[], object] = lambda: None) -> Recount:
    """The counting anew, as the operator asks for it; something may happen while it waits for the stream."""
    stores = counted.stores
    return Recount(_AnyTenant(), stores.jobs, stores.counts, stores.limits, lambda: meanwhile() and None)  # type: ignore[arg-type]  # only `get` is asked


@pytest.mark.parametrize("limit", [None, 10], ids=["no limit", "a limit"])
@pytest.mark.parametrize("drift", [3, -1], ids=["too many", "too few"])
def test_a_count_that_has_drifted_is_made_anew(counted: Counted, world: str, drift: int, limit: int | None) -> None:
    """A trial only tells; then the count is that of the jobs, and under a limit there is room for the others alone."""
    if world == "memory":
        pytest.skip("memory keeps no count")
    counted.limit(jobs=limit)
    counted.creates(4)
    fullest = max(counted.stores.counts.slices(TENANT), key=lambda each: each.used)
    assert counted.stores.counts.correct(TENANT, fullest, fullest.used + drift)
    told = recount(counted)(TENANT, dry_run=True)
    assert (told.before, told.jobs, counted.used) == (4 + drift, 4, 4 + drift)
    recount(counted)(TENANT, dry_run=False)
    assert counted.used == 4
    if limit is not None:
        assert counted.creates(8).count("created") == limit - 4


def test_a_count_is_not_made_anew_while_it_changes(counted: Counted, world: str) -> None:
    """It would count what is only half there: the operator is told, and nothing is changed."""
    if world == "memory":
        pytest.skip("memory keeps no count")
    counted.creates(2)
    with pytest.raises(TenantBusyError):
        recount(counted, counted.create)(TENANT, dry_run=False)
    assert counted.used == 3
