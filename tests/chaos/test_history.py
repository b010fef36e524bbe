"""The history that is told from the table's changes and the receiver's calls, and what the checker says of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Item
from carillon.adapters.dynamodb.breakers import breaker_item
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.run_items import run_item
from carillon.adapters.dynamodb.spec_items import spec_item
from carillon.domain import editing
from carillon.domain.breaker import BreakerRules, first_opened
from carillon.domain.editing import Edited
from carillon.domain.identity import RunKey
from carillon.domain.job import (
    ClaimLease,
    Definition,
    HttpTarget,
    Job,
    JobSpec,
    JobState,
    Lane,
    PlanningRules,
    Priority,
    Revision,
)
from carillon.domain.retry import RetryPolicy
from carillon.domain.run import Attempt, Run, RunState
from carillon.domain.schedule import Every, encode
from carillon.domain.settling import Moment
from tests.chaos.changes import Change
from tests.chaos.history import CATCHING_UP, RESUMES, Heard, history_of
from tests.simulation.checker import violations
from tests.simulation.history import EditKind, History
from tests.simulation.shrinking import kinds_of

T = 1_790_000_000_000
JOB = "job_0000000000000000000000000A"
EVERY = Every(10_000, T, None, T + 40_000)
TIMES = tuple(T + at for at in (10_000, 20_000, 30_000, 40_000))
RULES = PlanningRules(misfire_grace_ms=1_000)
HOUR_MS = 3_600_000


@dataclass
class Table:
    """A table that notes its changes, and a receiver that notes its calls. A write is at the second it is told."""

    changes: list[Change] = field(default_factory=list)
    calls: list[Heard] = field(default_factory=list)
    items: dict[str, Item] = field(default_factory=dict)

    def put(self, at_ms: int, *items: Item) -> None:
        """Write items."""
        for item in items:
            sk = item[k.SK]["S"]
            change = Change(len(self.changes) + 1, at_ms - at_ms % 1_000, self.items.get(sk), item)
            self.changes.append(change)
            self.items[sk] = item

    def drop(self, at_ms: int, sk: str) -> None:
        """Remove an item."""
        self.changes.append(Change(len(self.changes) + 1, at_ms, self.items.pop(sk), None))

    def edit(self, at_ms: int, edited: Edited) -> Definition:
        """Write what an edit wants."""
        self.put(at_ms, job_item(edited.definition.job), spec_item(edited.definition.spec))
        self.put(at_ms, *map(run_item, edited.records))
        return edited.definition

    def history(self) -> History:
        """What the changes and the calls tell."""
        return history_of(self.changes, self.calls)

    def found(self) -> set[str]:
        """The rules that are broken."""
        return kinds_of(violations(self.history()))


def definition(**facts: Any) -> Definition:
    """A new job, every ten seconds, four times."""
    job = Job(
        id=JOB,
        tenant="acme",
        state=JobState.SCHEDULED,
        schedule=encode(EVERY),
        rules=RULES.encode(),
        shard=0,
        lane=Lane.SHORT,
        priority=Priority.NORMAL,
        version=1,
        generation=1,
        created_at=T,
        scheduled_for=TIMES[0],
        next_fire_time=TIMES[0],
    )
    spec = JobSpec(
        job_id=JOB,
        tenant="acme",
        target=HttpTarget("https://svc.carillon.dev/"),
        retry=RetryPolicy(max_attempts=3),
        revisions=(Revision(1, T),),
        revision=1,
        created_at=T,
        updated_at=T,
        **facts,
    )
    return Definition(job, spec)


def succeeded(nominal: int, *, revision: int = 1, **facts: Any) -> Run:
    """A run whose first attempt succeeded."""
    attempt = Attempt(1, nominal + 1, nominal + 5, 200, revision=revision)
    return a_run(nominal, RunState.SUCCEEDED, attempt=1, attempts=(attempt,), rev=2, ended_at=nominal + 5, **facts)


def a_run(nominal: int, state: RunState, **facts: Any) -> Run:
    """The record of an occurrence."""
    return Run(
        key=RunKey.of(JOB, nominal),
        tenant="acme",
        state=state,
        scheduled_for=nominal,
        generation=1,
        priority=Priority.NORMAL,
        lane=Lane.SHORT,
        shard=0,
        **({"created_at": nominal} | facts),
    )


def begun(run: Run) -> Run:
    """The record of a run when its attempt began."""
    attempt = replace(run.attempts[-1], ended_at=None, status=None, error=None)
    return replace(run, state=RunState.RUNNING, rev=run.rev - 1, ended_at=None, attempts=(*run.attempts[:-1], attempt))


def call(nominal: int, attempt: int = 1, status: int = 200) -> Heard:
    """A call as the receiver saw it."""
    return Heard(JOB, RunKey.of(JOB, nominal).name, attempt, nominal + 2, status)


def ran(table: Table, *times: int, **facts: Any) -> None:
    """Occurrences whose runs succeed."""
    for nominal in times:
        run = succeeded(nominal, **facts)
        table.put(nominal, run_item(begun(run)), run_item(run))
        table.calls.append(call(nominal))


def dispatched(table: Table, job: Job, times: Iterable[int | None], decided_at: int | None = None) -> Job:
    """Let a dispatcher claim and confirm up to each of these upcoming times."""
    for upcoming in times:
        at_ms = (job.next_fire_time or 0) - 5_000 if decided_at is None else decided_at
        lease = ClaimLease(7, at_ms + 30_000, f"claim {at_ms}", at_ms)
        table.put(at_ms, job_item(replace(job, lease=lease)))
        job = replace(
            job,
            version=job.version + 1,
            scheduled_for=upcoming,
            next_fire_time=upcoming,
            state=JobState.SCHEDULED if upcoming else JobState.COMPLETED,
            lease=replace(lease, until=0),
        )
        table.put(at_ms, job_item(job))
    return job


def good() -> Table:
    """A job that ran four times without trouble."""
    table, new = Table(), definition()
    table.put(T, job_item(new.job), spec_item(new.spec))
    dispatched(table, new.job, (*TIMES[1:], None))
    ran(table, *TIMES)
    return table


def test_a_good_run_has_nothing_wrong() -> None:
    """Its job, its four records and their calls are told as they were."""
    history = good().history()
    assert violations(history) == []
    assert history.occurrences() == 4
    assert history.stories[JOB].state is JobState.COMPLETED
    assert sorted(history.stories[JOB].decided) == list(TIMES)


def lost(table: Table) -> None:
    """The second occurrence has no record."""
    sk = k.run_sk(RunKey.of(JOB, TIMES[1]).name)
    table.changes = [change for change in table.changes if change.item[k.SK]["S"] != sk]
    table.calls.pop(1)


def overwritten(table: Table) -> None:
    """A record that had ended is begun again, as by a worker that asks for nothing."""
    table.put(TIMES[3], run_item(begun(succeeded(TIMES[0]))))
    table.put(TIMES[3], run_item(succeeded(TIMES[0])))


def unended(table: Table) -> None:
    """A run is begun by hand and never ends."""
    key = RunKey.from_parts(JOB, RunKey.of(JOB, TIMES[0]).name + "~AAAA")
    table.put(TIMES[0], run_item(replace(a_run(TIMES[0], RunState.QUEUED, next_fire_time=TIMES[0]), key=key)))


def still_due(table: Table) -> None:
    """The plan goes on for ever."""
    job = replace(definition().job, version=9, scheduled_for=TIMES[3], next_fire_time=TIMES[3])
    table.put(TIMES[3], job_item(job))


def older_owner(table: Table) -> None:
    """Somebody with an older epoch writes."""
    job = replace(definition().job, version=9, lease=ClaimLease(6, 0, "old", 0), state=JobState.COMPLETED)
    table.put(TIMES[3], job_item(replace(job, scheduled_for=None, next_fire_time=None)))


def out_of_turn(table: Table) -> None:
    """Occurrences are sent as of an instant when the policy skips all but the newest of them."""
    table.changes = table.changes[:2] + [change for change in table.changes if k.RUN_PREFIX in change.item[k.SK]["S"]]
    table.items[k.JOB_SK] = job_item(definition().job)
    dispatched(table, definition().job, (None,), decided_at=T + 200_000)


BAD: list[tuple[str, str, Callable[[Table], object]]] = [
    ("missing", "an occurrence without a record", lost),
    ("broken", "a start without its condition", overwritten),
    ("broken", "an older owner", older_owner),
    ("broken", "a record is removed", lambda t: t.drop(TIMES[3], k.run_sk(RunKey.of(JOB, TIMES[0]).name))),
    ("not ended", "a run that never ends", unended),
    ("left over", "something is due for ever", still_due),
    ("left over", "half a job", lambda t: t.changes.pop(1)),
    ("left over", "a segment", lambda t: t.put(TIMES[3], job_item(replace(definition().job, segment=1)))),
    ("wrong policy", "sent although it was missed", out_of_turn),
    ("called twice", "an attempt is called again", lambda t: t.calls.append(call(TIMES[0]))),
    ("untold", "a call that no record knows", lambda t: t.calls.append(call(TIMES[0], attempt=2))),
    ("extra call", "a run without a record", lambda t: t.calls.append(call(T + 15_000))),
    ("extra call", "a job that never was", lambda t: t.calls.append(replace(call(T), job_id="job_0"))),
    ("untrue", "another status than was answered", lambda t: t.calls.append(replace(t.calls.pop(0), status=500))),
    ("early", "before its time", lambda t: t.put(TIMES[3], run_item(early()))),
]


def early() -> Run:
    """A run that began too early."""
    run = succeeded(TIMES[3])
    return replace(run, rev=3, attempts=(replace(run.attempts[0], started_at=TIMES[3] - 1),))


@pytest.mark.parametrize(("kind", "why", "change"), BAD, ids=[why.replace(" ", "-") for _, why, _ in BAD])
def test_bad_records_are_told(kind: str, why: str, change: Callable[[Table], object]) -> None:
    """What the product may never write, or do to a receiver, is a violation of the rule that it breaks."""
    del why
    table = good()
    change(table)
    assert kind in table.found()


def test_breakers_are_nobodys_records() -> None:
    """What is stored of a target that does not answer belongs to no job."""
    table = good()
    table.put(T, breaker_item(first_opened("acme", "svc.carillon.dev:443", T, BreakerRules())))
    assert table.found() == set()


def test_a_worker_that_was_killed_in_its_call_is_no_violation() -> None:
    """Its attempt is lost, was called, and its answer was heard by nobody; the next attempt succeeds."""
    table, nominal = good(), TIMES[3] + 1
    run = succeeded(TIMES[3])
    first = Attempt(1, nominal, nominal + 60_000, error="worker_lost", revision=1)
    second = Attempt(2, nominal + 60_100, nominal + 60_200, 200, revision=1)
    of_run = k.run_sk(run.key.name)
    table.changes = [change for change in table.changes if change.item[k.SK]["S"] != of_run]
    del table.items[of_run]
    started = begun(replace(run, attempts=(first,)))
    waiting = replace(started, state=RunState.RETRYING, rev=2, attempts=(first,), wait=1, next_fire_time=nominal)
    again = replace(waiting, state=RunState.RUNNING, rev=3, attempt=2, attempts=(first, replace(second, status=None)))
    table.put(nominal, *map(run_item, (started, waiting, again)))
    ended = replace(again, state=RunState.SUCCEEDED, rev=4, attempts=(first, second), next_fire_time=None)
    table.put(nominal + 60_200, run_item(ended))
    table.calls.append(call(TIMES[3], attempt=2))
    assert violations(table.history()) == []
    assert [one.healthy for one in table.history().calls] == [True, True, True, False, True]


@pytest.mark.parametrize(("label", "kind"), [(CATCHING_UP, EditKind.CATCH_UP), ("", EditKind.RESUME)])
def test_edits_are_told_by_what_they_left(label: str, kind: EditKind) -> None:
    """A pause, a resume of its kind, another interval, another window, a cancel; a new priority is none."""
    table, now = Table(), definition(labels={RESUMES: label})
    table.put(T, job_item(now.job), spec_item(now.spec))
    changes: list[Callable[[Definition, Moment], Edited]] = [
        editing.pause,
        lambda seen, at: editing.resume(seen, at, catch_up=kind is EditKind.CATCH_UP),
        lambda seen, at: editing.change(seen, replace(seen, job=replace(seen.job, priority=Priority.HIGH)), at),
        lambda seen, at: editing.change(seen, replace(seen, job=replace(seen.job, schedule=encode(HOURLY))), at),
        lambda seen, at: editing.change(seen, replace(seen, job=replace(seen.job, rules=SPREAD.encode())), at),
        editing.cancel,
    ]
    for number, change in enumerate(changes, start=1):
        at_ms = T + number * 1_000
        now = table.edit(at_ms, change(now, Moment(at_ms, HOUR_MS)))
    edits = table.history().stories[JOB].edits
    assert [edit.kind for edit in edits] == [EditKind.PAUSE, kind, EditKind.CHANGE, EditKind.CHANGE, EditKind.CANCEL]
    assert [edit.at_ms for edit in edits] == [T + number * 1_000 for number in (1, 2, 4, 5, 6)]
    assert [edit.schedule for edit in edits] == [None, None, HOURLY, None, None]
    assert [edit.window_ms for edit in edits] == [None, None, None, SPREAD.window_ms, None]
    assert violations(table.history()) == []


HOURLY = Every(HOUR_MS, T)
SPREAD = replace(RULES, window_ms=2_000)


def test_a_call_by_a_worker_that_had_read_the_cancel_is_forbidden() -> None:
    """Which definition a worker had read is what its attempt notes."""
    for revision, found in ((1, set()), (2, {"forbidden"})):
        table, now = Table(), definition()
        table.put(T, job_item(now.job), spec_item(now.spec))
        seen = replace(now, job=dispatched(table, now.job, TIMES[1:2]))
        table.edit(TIMES[0], editing.cancel(seen, Moment(TIMES[0], HOUR_MS, frozenset({TIMES[0]}))))
        ran(table, TIMES[0], revision=revision)
        assert table.found() == found
