"""Work on many jobs: every job once in effect and once in the counts, wherever whoever does it dies."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from carillon.adapters.memory.edges import RecordingMeter
from carillon.adapters.memory.world import MemoryWorld
from carillon.application import bulk
from carillon.application.bulk import CancelOperation, GetOperation, StartOperation, TryBulk
from carillon.application.create_job import CreateJob, NewJob, ShardCount
from carillon.application.drive_operation import ActOnJob, DriveOperation
from carillon.application.edit_job import EditJob
from carillon.application.read_jobs import GetJob
from carillon.application.trigger_run import TriggerRun
from carillon.domain.editing import cancel, pause
from carillon.domain.job import HttpTarget, JobState
from carillon.domain.job_filter import JobFilter
from carillon.domain.operation_errors import OperationEndedError, OperationNotFoundError
from carillon.domain.operations import KEPT_MS, BulkAction, Operation, OperationState, Progress
from carillon.domain.schedule import Every
from carillon.ports.errors import UnavailableError, UnreadableItemError
from support.world import KilledError

TENANT = "acme"
DAY_MS = 24 * 3600 * 1000
RETENTION_MS = 30 * DAY_MS
LATER_MS = 10**15
STATES = {
    BulkAction.PAUSE: JobState.PAUSED,
    BulkAction.RESUME: JobState.SCHEDULED,
    BulkAction.CANCEL: JobState.CANCELLED,
}


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of three jobs, so that few jobs make many pages."""
    monkeypatch.setattr(bulk, "PAGE", 3)


class Deadly:
    """A port that counts its calls together with others, and ends the process at one of them."""

    def __init__(self, port: Any, count: Iterator[None], *, behind: bool) -> None:
        self._port, self._count, self._behind = port, count, behind

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if not self._behind:
                next(self._count)
            answer = method(*arguments, **options)
            if self._behind:
                next(self._count)
            return answer

        return call


def dying_at(call: int, error: BaseException) -> Iterator[None]:
    """Nothing, until the call of that number."""
    for _ in range(call - 1):
        yield
    raise error


@dataclass
class Bulk:
    """A tenant's jobs, and whoever works on them."""

    world: MemoryWorld = field(default_factory=MemoryWorld)
    meter: RecordingMeter = field(default_factory=RecordingMeter)

    def add(self, count: int, **changes: Any) -> list[str]:
        """Create jobs, a second apart; the oldest first."""
        create = CreateJob(self.world.jobs, self.world.ids, ShardCount(self.world.shards, 4))
        made = []
        for _ in range(count):
            self.world.clock.advance(1_000)
            now_ms = self.world.clock.now_ms()
            new = NewJob(schedule=Every(3_600_000, now_ms), target=HttpTarget("https://svc.carillon.dev/hook"))
            made.append(create(changes.get("tenant", TENANT), replace(new, **changes.get("fields", {})), now_ms).job.id)
        return made

    def edit(self, job_id: str, change: Any) -> None:
        """Edit a job."""
        EditJob(self.world.jobs, self.world.runs, RETENTION_MS)(TENANT, job_id, self.world.clock.now_ms(), change)

    def start(self, action: BulkAction, wanted: JobFilter | None = None) -> Operation:
        """Ask for work."""
        start = StartOperation(self.world.operations, self.world.operation_queue, self.world.ids)
        return start(TENANT, action, wanted or JobFilter(), self.world.clock.now_ms())

    def driver(self, wrap: Callable[[Any], Any] = lambda port: port) -> DriveOperation:
        """Somebody who carries on."""
        jobs, runs, operations = map(wrap, (self.world.jobs, self.world.runs, self.world.operations))
        act = ActOnJob(EditJob(jobs, runs, RETENTION_MS), TriggerRun(jobs, runs, self.world.ids, RETENTION_MS))
        return DriveOperation(operations, jobs, act, self.world.clock, self.meter)

    def drive(self, operation: Operation, until_ms: int = LATER_MS) -> bool:
        """Carry an operation on."""
        return self.driver()(TENANT, operation.id, until_ms)

    def ended(self, operation: Operation) -> Operation:
        """Carry an operation to its end."""
        assert self.drive(operation)
        return self.now(operation)

    def now(self, operation: Operation) -> Operation:
        """The operation as it is stored."""
        stored = self.world.operations.get(TENANT, operation.id)
        assert stored is not None
        return stored

    def state(self, job_id: str) -> JobState:
        """The state of a job."""
        return self.world.state.jobs[job_id].state

    def runs_of(self, job_id: str) -> list[str]:
        """The names of a job's runs."""
        return list(self.world.state.runs[job_id])


@pytest.mark.parametrize("action", STATES)
def test_every_job_is_acted_on(action: BulkAction) -> None:
    """All of the tenant's jobs, over all pages, and nobody else's; jobs that are as wanted already count as done."""
    bulk_ = Bulk()
    jobs, others = bulk_.add(10), bulk_.add(2, tenant="globex")
    for job_id in jobs[:4]:
        bulk_.edit(job_id, pause)
    ended = bulk_.ended(bulk_.start(action))
    assert {bulk_.state(job_id) for job_id in jobs} == {STATES[action]}
    assert {bulk_.state(job_id) for job_id in others} == {JobState.SCHEDULED}
    assert (ended.state, ended.progress) == (OperationState.SUCCEEDED, Progress(walked=10, matched=10, done=10))
    assert ended.ended_at == bulk_.world.clock.now_ms()


def test_a_trigger_makes_a_run_each_that_is_due_now() -> None:
    """Paused jobs too. The run is named by when it was asked for, and due when its turn comes."""
    bulk_ = Bulk()
    jobs = bulk_.add(4)
    bulk_.edit(jobs[0], pause)
    operation = bulk_.start(BulkAction.TRIGGER)
    bulk_.world.clock.advance(90_000)
    bulk_.ended(operation)
    for job_id in jobs:
        (run,) = bulk_.world.state.runs[job_id].values()
        assert run.key.is_manual
        assert (run.scheduled_for, run.next_fire_time) == (operation.created_at, bulk_.world.clock.now_ms())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (JobFilter(), [0, 1, 2, 3, 4, 5]),
        (JobFilter(state=JobState.PAUSED), [0]),
        (JobFilter(labels=(("team", "infra"),)), [2, 3]),
        (JobFilter(labels=(("team", "infra"), ("tier", "1"))), []),
        (JobFilter(name_prefix="nightly/"), [4]),
        (JobFilter(state=JobState.SCHEDULED, name_prefix="nightly/"), [4]),
    ],
)
def test_only_what_the_filter_admits(wanted: JobFilter, expected: list[int]) -> None:
    """All conditions hold, and the counts tell what was looked at and what was admitted."""
    bulk_ = Bulk()
    jobs = [*bulk_.add(2), *bulk_.add(2, fields={"labels": {"team": "infra"}})]
    jobs += [*bulk_.add(1, fields={"name": "nightly/a"}), *bulk_.add(1, fields={"name": "weekly"})]
    bulk_.edit(jobs[0], pause)
    trial = TryBulk(bulk_.world.jobs, RETENTION_MS)(TENANT, BulkAction.TRIGGER, wanted, bulk_.world.clock.now_ms())
    ended = bulk_.ended(bulk_.start(BulkAction.TRIGGER, wanted))
    assert [at for at, job_id in enumerate(jobs) if bulk_.runs_of(job_id)] == expected
    assert ended.progress == trial.progress == Progress(walked=6, matched=len(expected), done=len(expected))


def test_jobs_that_come_later_are_left_alone() -> None:
    """Whoever cancels and creates anew does not lose what is new, though the operation is carried out after that."""
    bulk_ = Bulk()
    old = bulk_.add(5)
    operation = bulk_.start(BulkAction.CANCEL)
    new = bulk_.add(3)
    ended = bulk_.ended(operation)
    assert {bulk_.state(job_id) for job_id in old} == {JobState.CANCELLED}
    assert {bulk_.state(job_id) for job_id in new} == {JobState.SCHEDULED}
    assert ended.progress.walked == 5


@pytest.mark.parametrize("action", [BulkAction.PAUSE, BulkAction.RESUME, BulkAction.TRIGGER])
def test_what_cannot_be_done_is_counted_by_its_reason(action: BulkAction) -> None:
    """A cancelled job stops nobody; a trial tells the same, and changes nothing."""
    bulk_ = Bulk()
    jobs = bulk_.add(5)
    for job_id in jobs[1:3]:
        bulk_.edit(job_id, cancel)
    before = dict(bulk_.world.state.jobs)
    trial = TryBulk(bulk_.world.jobs, RETENTION_MS)(TENANT, action, JobFilter(), bulk_.world.clock.now_ms())
    assert bulk_.world.state.jobs == before
    ended = bulk_.ended(bulk_.start(action))
    assert ended.progress == trial.progress == Progress(walked=5, matched=5, done=3, refused={"job_finished": 2})


def test_a_job_that_breaks_the_code_stops_nobody() -> None:
    """It is counted as such, told in the log, and the others are done."""
    bulk_ = Bulk()
    jobs = bulk_.add(4)
    replace_ = bulk_.world.jobs.replace
    errors = {jobs[1]: ZeroDivisionError("inner"), jobs[2]: UnreadableItemError("damaged")}

    def sometimes(definition: Any, **options: Any) -> bool:
        if definition.job.id in errors:
            raise errors[definition.job.id]
        return replace_(definition, **options)

    bulk_.world.jobs.replace = sometimes  # type: ignore[method-assign,assignment]  # the store of this test
    ended = bulk_.ended(bulk_.start(BulkAction.PAUSE))
    assert ended.progress == Progress(walked=4, matched=4, done=2, refused={"internal_error": 1, "unreadable": 1})


# ------------------------------------------------------------------------------------------------------------ deaths


@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("error", [KilledError(), UnavailableError("no answer")], ids=["death", "silence"])
@pytest.mark.parametrize("action", [BulkAction.PAUSE, BulkAction.CANCEL, BulkAction.TRIGGER])
def test_whoever_takes_it_up_again_ends_it_as_if_nobody_had_died(
    action: BulkAction, error: BaseException, *, behind: bool
) -> None:
    """At every call of every store, before it and behind it: each job once in effect, each once in the counts."""
    for call in range(1, 500):
        bulk_ = Bulk()
        jobs = bulk_.add(7)
        bulk_.edit(jobs[3], cancel)
        operation = bulk_.start(action, JobFilter(state=JobState.SCHEDULED))
        count = dying_at(call, error)
        dying = bulk_.driver(partial(Deadly, count=count, behind=behind))
        try:
            dying(TENANT, operation.id, LATER_MS)
        except type(error):
            bulk_.world.clock.advance(150_000)
        except StopIteration:  # pragma: no cover - the count is spent: it ended in a thread of its own
            raise
        else:
            break
        ended = bulk_.ended(operation)
        wanted = [job_id for job_id in jobs if job_id != jobs[3]]
        if action is BulkAction.TRIGGER:
            assert [len(bulk_.runs_of(job_id)) for job_id in jobs] == [1, 1, 1, 0, 1, 1, 1], call
        else:
            assert {bulk_.state(job_id) for job_id in wanted} == {STATES[action]}, call
            assert {bulk_.world.state.specs[job_id].revision for job_id in wanted} == {2}, call
        assert ended.progress == Progress(walked=7, matched=6, done=6), call
    assert call > 20, "the operation has that many calls to die at"


def test_two_at_once_do_it_once() -> None:
    """A message that came twice: both act on the page in hand, one counts it, the other one leaves."""
    bulk_ = Bulk()
    jobs = bulk_.add(7)
    operation = bulk_.start(BulkAction.TRIGGER)
    replace_ = bulk_.world.operations.replace
    others: list[bool] = []

    def after_another(moved: Operation) -> bool:
        bulk_.world.operations.replace = replace_  # type: ignore[method-assign]  # once
        others.append(bulk_.driver()(TENANT, operation.id, LATER_MS))
        return replace_(moved)

    bulk_.drive(operation, until_ms=0)
    bulk_.world.operations.replace = after_another  # type: ignore[method-assign]  # the store of this test
    assert bulk_.drive(operation)
    assert others == [True]
    assert {len(bulk_.runs_of(job_id)) for job_id in jobs} == {1}
    assert bulk_.now(operation).progress == Progress(walked=7, matched=7, done=7)


def test_time_that_runs_out_leaves_the_rest_for_the_next_turn() -> None:
    """A turn ends between pages; the next one goes on where it ended."""
    bulk_ = Bulk()
    bulk_.add(10)
    operation = bulk_.start(BulkAction.PAUSE)
    driver = bulk_.driver()
    bulk_.world.clock.sleep_ms(1)
    turns, done = 0, False
    while not done:
        slow = replace(driver, spread=lambda act, ids: (bulk_.world.clock.advance(40_000), list(map(act, ids)))[1])  # type: ignore[arg-type,misc]
        done = slow(TENANT, operation.id, bulk_.world.clock.now_ms() + 60_000)
        turns += 1
        states = {OperationState.RUNNING} if not done else {OperationState.SUCCEEDED}
        assert {bulk_.now(operation).state} == states
    assert turns == 3
    assert bulk_.now(operation).progress == Progress(walked=10, matched=10, done=10)


def test_a_page_is_all_that_is_held() -> None:
    """However many jobs there are, the record holds one page of ids, and the list is read by pages."""
    bulk_ = Bulk()
    bulk_.add(30)
    read: list[int] = []
    list_newest = bulk_.world.jobs.list_newest

    def counted(tenant: str, limit: int, after: str | None) -> Any:
        read.append(limit)
        return list_newest(tenant, limit, after)

    bulk_.world.jobs.list_newest = counted  # type: ignore[method-assign]  # the store of this test
    held: list[int] = []
    replace_ = bulk_.world.operations.replace

    def seen(moved: Operation) -> bool:
        held.append(len(moved.in_hand))
        return replace_(moved)

    bulk_.world.operations.replace = seen  # type: ignore[method-assign]  # the store of this test
    bulk_.ended(bulk_.start(BulkAction.PAUSE))
    assert (max(held), {*read}) == (3, {3})
    assert len(held) == 11, "a write a page, and one for the end"


def test_a_filter_that_admits_little_writes_little() -> None:
    """Pages without a wanted job are passed over without a write."""
    bulk_ = Bulk()
    bulk_.add(40)
    ended = bulk_.ended(bulk_.start(BulkAction.PAUSE, JobFilter(name_prefix="none")))
    assert (ended.rev, ended.progress) == (2, Progress(walked=40))


# -------------------------------------------------------------------------------------------------- asking and ending


def test_the_same_request_is_the_same_operation() -> None:
    """Asked again under the same names, it is not begun anew, however far it has come; it is sent again."""
    bulk_ = Bulk()
    bulk_.add(4)
    ids = MemoryWorld().ids
    asked = [
        StartOperation(bulk_.world.operations, bulk_.world.operation_queue, ids_)(
            TENANT, BulkAction.PAUSE, JobFilter(), 5
        )
        for ids_ in (ids, MemoryWorld().ids)
    ]
    assert asked[0] == asked[1]
    assert [message.operation_id for message in bulk_.world.operation_queue.messages] == [asked[0].id] * 2
    ended = bulk_.ended(asked[0])
    again = StartOperation(bulk_.world.operations, bulk_.world.operation_queue, MemoryWorld().ids)
    assert again(TENANT, BulkAction.PAUSE, JobFilter(), 5) == ended


def test_an_operation_that_is_cancelled_goes_no_further() -> None:
    """Between two pages, and while a page is acted on: no further page is taken up; cancelled twice is once."""
    bulk_ = Bulk()
    jobs = bulk_.add(10)
    operation = bulk_.start(BulkAction.PAUSE)
    now_ms = bulk_.world.clock.now_ms()
    cancel_it = CancelOperation(bulk_.world.operations)
    replace_ = bulk_.world.operations.replace

    def cancelling(moved: Operation) -> bool:
        if moved.progress.done:
            bulk_.world.operations.replace = replace_  # type: ignore[method-assign]  # once
            cancel_it(TENANT, operation.id, now_ms)
        return replace_(moved)

    bulk_.world.operations.replace = cancelling  # type: ignore[method-assign]  # the store of this test
    assert bulk_.drive(operation)
    stored = bulk_.now(operation)
    assert (stored.state, stored.in_hand, stored.ended_at) == (OperationState.CANCELLED, (), now_ms)
    assert [bulk_.state(job_id) for job_id in jobs].count(JobState.PAUSED) == 3
    assert cancel_it(TENANT, operation.id, now_ms + 1) == stored
    assert bulk_.drive(operation)
    assert bulk_.now(operation) == stored


def test_what_has_ended_cannot_be_cancelled() -> None:
    """It is done."""
    bulk_ = Bulk()
    operation = bulk_.ended(bulk_.start(BulkAction.PAUSE))
    with pytest.raises(OperationEndedError):
        CancelOperation(bulk_.world.operations)(TENANT, operation.id, bulk_.world.clock.now_ms())


def test_b253_operations_are_forgotten_after_their_time() -> None:
    """B253: whether or not the table has removed it; another tenant's was never there."""
    bulk_ = Bulk()
    operation = bulk_.start(BulkAction.PAUSE)
    get = GetOperation(bulk_.world.operations)
    assert get(TENANT, operation.id, operation.created_at + KEPT_MS - 1) == operation
    for tenant, now_ms in ((TENANT, operation.created_at + KEPT_MS), ("globex", operation.created_at)):
        with pytest.raises(OperationNotFoundError):
            get(tenant, operation.id, now_ms)


def test_an_operation_that_is_gone_is_done() -> None:
    """Its message is not kept for ever."""
    assert Bulk().driver()(TENANT, "op_x", LATER_MS)


def test_a_trial_goes_on_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """In portions that end within a request's time; all together count every job once."""
    monkeypatch.setattr(bulk, "MOST_PAGES_TRIED", 2)
    bulk_ = Bulk()
    bulk_.add(20)
    position, walked, portions = None, 0, 0
    while position is not None or not portions:
        trial = TryBulk(bulk_.world.jobs, RETENTION_MS)(
            TENANT, BulkAction.PAUSE, JobFilter(), bulk_.world.clock.now_ms(), position
        )
        position, walked, portions = trial.position, walked + trial.progress.walked, portions + 1
    assert (walked, portions) == (20, 4)


def test_a_job_that_is_gone_meanwhile_is_counted_as_such() -> None:
    """Between the list and its turn it was removed."""
    bulk_ = Bulk()
    jobs = bulk_.add(2)
    operation = bulk_.start(BulkAction.PAUSE)
    replace_ = bulk_.world.operations.replace

    def removing(moved: Operation) -> bool:
        bulk_.world.state.jobs.pop(jobs[0], None)
        return replace_(moved)

    bulk_.world.operations.replace = removing  # type: ignore[method-assign]  # the store of this test
    assert bulk_.ended(operation).progress.refused == {"not_found": 1}
    assert GetJob(bulk_.world.jobs)(TENANT, jobs[1]).job.state is JobState.PAUSED
