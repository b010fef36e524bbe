"""The checker rejects a bad history of each kind, and accepts the good one that each is made of."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carillon.domain.completions import Report
from carillon.domain.identity import RunKey
from carillon.domain.job import Completion, JobState, Lane, MisfirePolicy, PlanningRules, Priority
from carillon.domain.run import Attempt, Run, RunState, SkippedBlock
from carillon.domain.schedule import Every, OneOff
from simulation.checker import violations
from simulation.history import Bounds, Call, Edit, EditKind, History, Reported, Story
from simulation.shrinking import kinds_of

T = 1_790_000_000_000
JOB = "job_0000000000000000000000000A"
EVERY = Every(10_000, T, None, T + 40_000)
TIMES = tuple(T + at for at in (10_000, 20_000, 30_000, 40_000))
Change = Callable[[History], object]


def a_run(nominal: int, state: RunState = RunState.SUCCEEDED, **facts: Any) -> Run:
    """The record of an occurrence: one attempt that succeeded, unless said otherwise."""
    if state is RunState.SUCCEEDED:
        facts = {"attempt": 1, "attempts": (Attempt(1, nominal, nominal + 5, 200),)} | facts
    return Run(
        key=RunKey.of(JOB, nominal),
        tenant="acme",
        state=state,
        scheduled_for=nominal,
        generation=1,
        priority=Priority.NORMAL,
        lane=Lane.SHORT,
        shard=0,
        ended_at=nominal + 5,
        **({"created_at": nominal} | facts),
    )


def skipped(nominal: int, reason: str = "misfire", **facts: Any) -> Run:
    """The record of an occurrence that was skipped, long after its time."""
    return a_run(nominal, RunState.SKIPPED, **({"reason": reason, "created_at": nominal + 90_000} | facts))


def a_call(nominal: int, attempt: int = 1, status: int | None = 200, **facts: Any) -> Call:
    """A call that was answered."""
    name = RunKey.of(JOB, nominal).name
    return Call(JOB, name, attempt, nominal, nominal, read_seq=100, status=status, answered=True, **facts)


def good(**facts: Any) -> History:
    """A job that ran four times, every ten seconds, without trouble."""
    story = Story(JOB, 0, T, EVERY, PlanningRules(misfire_grace_ms=1_000), max_attempts=3, state=JobState.COMPLETED)
    for name, value in facts.items():
        setattr(story, name, value)
    history = History(stories={JOB: story})
    put(history, *(a_run(nominal) for nominal in TIMES))
    history.calls = [a_call(nominal) for nominal in TIMES]
    return history


def story(history: History) -> Story:
    """Its only job."""
    return history.stories[JOB]


def of_first(history: History) -> Run:
    """The record of its first run."""
    return story(history).records[RunKey.of(JOB, TIMES[0]).name]


def put(history: History, *runs: Run) -> None:
    """Give occurrences these records, by writers that knew all edits."""
    story(history).born.update({run.key.name: 100 for run in runs})
    story(history).records = dict(story(history).records) | {run.key.name: run for run in runs}


def drop(history: History, nominal: int) -> None:
    """Take a record and its call away."""
    name = RunKey.of(JOB, nominal).name
    story(history).records = {key: run for key, run in story(history).records.items() if key != name}
    history.calls = [call for call in history.calls if call.name != name]


def put_uncalled(history: History, run: Run) -> None:
    """Give an occurrence a record of no call."""
    drop(history, run.scheduled_for)
    put(history, run)


def test_a_good_history_has_nothing_wrong() -> None:
    """All occurrences once, all calls answered and told."""
    assert violations(good()) == []


def edited(history: History, kind: EditKind, at_ms: int, *, seq: int = 50, **facts: Any) -> None:
    """Let an edit be stored."""
    story(history).edits.append(Edit(seq, kind, at_ms, at_ms, **facts))


def cancelled(history: History) -> None:
    """The job is cancelled after two runs, and its later runs are there all the same."""
    edited(history, EditKind.CANCEL, T + 25_000)
    story(history).state = JobState.CANCELLED


def paused_over(history: History) -> None:
    """The job is paused after two runs and resumed before the end, and all ran all the same."""
    edited(history, EditKind.PAUSE, T + 25_000)
    edited(history, EditKind.RESUME, T + 45_000, seq=60)


def failed_once(history: History, **facts: Any) -> None:
    """The first run needed two attempts."""
    attempts = (Attempt(1, TIMES[0], TIMES[0] + 5, 503), Attempt(2, TIMES[0] + 100, TIMES[0] + 105, 200))
    put(history, a_run(TIMES[0], attempt=2, attempts=attempts, **facts))
    history.calls[0] = a_call(TIMES[0], 1, 503)
    history.calls.append(a_call(TIMES[0], 2))


def lost(history: History, **facts: Any) -> None:
    """The only attempt of the first run was lost."""
    attempt = Attempt(1, TIMES[0], TIMES[0] + 60_000, error="worker_lost")
    dead = a_run(TIMES[0], RunState.DEAD_LETTERED, reason="worker_lost", attempt=1, attempts=(attempt,))
    put(history, dead)
    history.calls[0] = a_call(TIMES[0], 1, None, **facts)
    story(history).max_attempts = 1


def called_again(history: History) -> None:
    """The only attempt of the first run was lost, and its call is made once more."""
    lost(history)
    history.calls.append(a_call(TIMES[0], 1, 200))


def too_often_lost(history: History) -> None:
    """The first run lost four attempts."""
    attempts = tuple(Attempt(n, TIMES[0], TIMES[0] + 5, error="worker_lost") for n in (1, 2, 3, 4))
    put_uncalled(history, a_run(TIMES[0], RunState.DEAD_LETTERED, reason="worker_lost", attempt=4, attempts=attempts))
    story(history).max_attempts = 9


def dead(history: History, reason: str, *, status: int = 503, attempt: int = 1) -> None:
    """The first run is a dead letter."""
    attempts = tuple(Attempt(n, TIMES[0], TIMES[0] + 5, status) for n in range(1, attempt + 1))
    put(history, a_run(TIMES[0], RunState.DEAD_LETTERED, reason=reason, attempt=attempt, attempts=attempts))
    history.calls[0:1] = [a_call(TIMES[0], n, status) for n in range(1, attempt + 1)]


def accepted(history: History, report: Report | None, *, reports: bool = True, **facts: Any) -> None:
    """The target of the first run took it over, and its record says that it reported so, as it did."""
    story(history).completion = Completion(timeout_ms=60_000, heartbeat_ms=20_000)
    state = RunState.SUCCEEDED if report is Report.SUCCEEDED else RunState.DEAD_LETTERED
    attempt = replace(Attempt(1, TIMES[0], TIMES[0] + 5_000, 202, report=report), **facts)
    reason = {Report.SUCCEEDED: None, Report.FAILED_FOR_GOOD: "failed_by_target"}.get(report, "attempts_exhausted")
    put(history, a_run(TIMES[0], state, reason=reason, attempt=1, attempts=(attempt,)))
    history.calls[0] = a_call(TIMES[0], 1, 202, is_accepted=True)
    story(history).max_attempts = 1
    if reports and report is not None:
        says(history, report)


def says(history: History, report: Report | None, answer: str | None = Reported.TAKEN, **facts: Any) -> None:
    """The target of the first run reports of its first attempt."""
    said = Reported(JOB, RunKey.of(JOB, TIMES[0]).name, 1, report, TIMES[0] + 4_000, answer)
    history.reports.append(replace(said, **facts))


def given_up(history: History, error: str, after_ms: int) -> None:
    """The target of the first run was waited for, and given up so long after its call."""
    accepted(history, None, error=error, ended_at=TIMES[0] + after_ms)


def block(history: History, count: int, first: int, last: int) -> None:
    """Some occurrences share a record."""
    for nominal in TIMES:
        if first <= nominal <= last:
            drop(history, nominal)
    put(history, skipped(last, block=SkippedBlock(count, first, last)))


def limited(history: History, most: int) -> None:
    """The job may run so often only."""
    story(history).rules = replace(story(history).rules, max_runs=most)


def every_of(history: History, policy: MisfirePolicy) -> None:
    """The job has a misfire policy."""
    story(history).rules = replace(story(history).rules, misfire=policy, max_catch_up=2)


def decided_late(history: History, policy: MisfirePolicy, *nominal: int) -> None:
    """These were sent as of an instant long after their time."""
    every_of(history, policy)
    story(history).decided.update({at_ms: (T + 200_000, at_ms) for at_ms in nominal})


BAD: list[tuple[str, str, Change]] = [
    ("missing", "no record", lambda h: drop(h, TIMES[1])),
    ("missing", "the newest has none", lambda h: drop(h, TIMES[3])),
    ("missing", "a limit does not excuse a gap", lambda h: (limited(h, 3), drop(h, TIMES[1]))),
    ("missing", "fewer than the limit", lambda h: (limited(h, 4), drop(h, TIMES[3]))),
    ("too many runs", "more than the limit", lambda h: limited(h, 3)),
    ("extra record", "a time that never was", lambda h: put(h, a_run(T + 15_000))),
    ("extra record", "before the creation", lambda h: put(h, a_run(T))),
    ("extra record", "behind a cancel", cancelled),
    ("extra call", "a call without a record", lambda h: h.calls.append(a_call(T + 15_000))),
    ("extra call", "a job that never was", lambda h: h.stories.pop(JOB)),
    ("wrong block", "it counts too many", lambda h: block(h, 3, TIMES[0], TIMES[1])),
    ("wrong block", "one of it ran", lambda h: (block(h, 3, TIMES[0], TIMES[2]), put(h, a_run(TIMES[1])))),
    ("wrong block", "it begins where nothing is", lambda h: block(h, 2, T + 5_000, TIMES[1])),
    ("extra record", "it ends where nothing is", lambda h: put(h, skipped(T + 35_000, block=SkippedBlock(1, T, T)))),
    ("not ended", "it still runs", lambda h: put(h, a_run(TIMES[0], RunState.RUNNING))),
    ("wrong end", "cancelled without a cancel", lambda h: put_uncalled(h, a_run(TIMES[0], RunState.CANCELLED))),
    ("wrong end", "skipped before it was missed", lambda h: put_uncalled(h, skipped(TIMES[0], created_at=TIMES[0]))),
    ("wrong end", "the newest missed is kept", lambda h: put_uncalled(h, skipped(TIMES[3]))),
    ("wrong end", "paused without a pause", lambda h: put_uncalled(h, skipped(TIMES[0], "paused"))),
    ("wrong end", "a deadline that it has not", lambda h: put_uncalled(h, skipped(TIMES[0], "deadline"))),
    ("wrong end", "no such reason", lambda h: put_uncalled(h, skipped(TIMES[0], "weather"))),
    ("wrong end", "it ran in a pause", paused_over),
    ("wrong policy", "skip sends nothing missed", lambda h: decided_late(h, MisfirePolicy.SKIP, TIMES[0])),
    ("wrong policy", "fire_once sends the newest", lambda h: decided_late(h, MisfirePolicy.FIRE_ONCE, TIMES[2])),
    ("wrong policy", "fire_all sends the newest two", lambda h: decided_late(h, MisfirePolicy.FIRE_ALL, TIMES[1])),
    (
        "early",
        "before its time",
        lambda h: put(h, a_run(TIMES[0], attempts=(Attempt(1, TIMES[0] - 1, TIMES[0], 200),))),
    ),
    ("late", "past its deadline", lambda h: setattr(story(h), "deadline_ms", -1)),
    ("late", "for no reason", lambda h: setattr(h, "bounds", Bounds(prompt_ms=-1))),
    ("called twice", "one attempt", lambda h: h.calls.append(a_call(TIMES[0]))),
    ("order", "a lower attempt later", lambda h: (failed_once(h), h.calls.append(h.calls.pop(0)))),
    ("too many attempts", "beyond the limit", lambda h: (failed_once(h), setattr(story(h), "max_attempts", 1))),
    ("not at most once", "a second call", lambda h: (failed_once(h), setattr(story(h), "max_attempts", 1))),
    ("not at most once", "the same attempt again", called_again),
    ("too many lost", "more than three", too_often_lost),
    ("untold", "a call that the record knows not", lambda h: h.calls.append(a_call(TIMES[0], 2, 503))),
    ("untold", "an attempt without end", lambda h: put(h, a_run(TIMES[0], attempts=(Attempt(1, TIMES[0]),)))),
    ("untrue", "another status", lambda h: setattr(h.calls[0], "status", 204)),
    ("untrue", "it did not succeed", lambda h: setattr(h.calls[0], "status", 500)),
    ("untrue", "it did succeed", lambda h: (lost(h), setattr(h.calls[0], "status", 200))),
    ("untrue", "attempts were left", lambda h: dead(h, "attempts_exhausted")),
    ("untrue", "nobody was lost", lambda h: dead(h, "worker_lost", attempt=3)),
    ("untrue", "the queue gives nothing up", lambda h: dead(h, "undeliverable")),
    ("untrue", "it could be tried again", lambda h: dead(h, "http_status")),
    ("untrue", "skipped after a call", lambda h: put(h, skipped(TIMES[0], attempt=1, attempts=(Attempt(1, T, T),)))),
    (
        "healthy attempt lost",
        "its worker lived",
        lambda h: (lost(h), setattr(h, "bounds", Bounds(promises_health=True))),
    ),
    ("forbidden", "cancelled before the read", cancelled),
    ("forbidden", "paused before the read", lambda h: edited(h, EditKind.PAUSE, T + 25_000)),
    (
        "forbidden",
        "by an older definition",
        lambda h: edited(h, EditKind.CHANGE, T + 25_000, schedule=OneOff(T + 50_000)),
    ),
    ("wrong state", "not completed", lambda h: setattr(story(h), "state", JobState.SCHEDULED)),
    ("wrong state", "cancelled by nobody", lambda h: setattr(story(h), "state", JobState.CANCELLED)),
    ("disorder", "edits out of order", lambda h: (paused_over(h), story(h).edits.reverse())),
    (
        "disorder",
        "from the future",
        lambda h: (
            edited(h, EditKind.PAUSE, T + 99_000, seq=1)
            or story(h).edits.append(replace(story(h).edits.pop(), stored_at=T))
        ),
    ),
    (
        "lost report",
        "the record says otherwise",
        lambda h: (accepted(h, Report.SUCCEEDED), says(h, Report.FAILED)),
    ),
    (
        "lost report",
        "the record says nothing",
        lambda h: (given_up(h, "completion_timeout", 60_000), says(h, Report.SUCCEEDED)),
    ),
    ("untrue report", "nobody said so", lambda h: accepted(h, Report.SUCCEEDED, reports=False)),
    ("untrue report", "it gave a sign of life", lambda h: (accepted(h, Report.FAILED, reports=False), says(h, None))),
    ("unknown token", "it was given", lambda h: (accepted(h, Report.SUCCEEDED), says(h, None, "WrongTokenError"))),
    ("given up early", "the whole time", lambda h: given_up(h, "completion_timeout", 59_999)),
    ("given up early", "no sign of life", lambda h: given_up(h, "heartbeat_timeout", 19_999)),
    (
        "given up early",
        "after a sign of life",
        lambda h: (given_up(h, "heartbeat_timeout", 23_999), says(h, None)),
    ),
    (
        "untrue",
        "nobody was waited for",
        lambda h: (given_up(h, "completion_timeout", 90_000), setattr(story(h), "completion", None)),
    ),
    ("report of nothing", "no such attempt", lambda h: says(h, None, attempt=2)),
    ("report of nothing", "no such job", lambda h: says(h, None, job_id="job_0000000000000000000000000B")),
    (
        "untrue",
        "a 202 is no success",
        lambda h: (accepted(h, Report.FAILED), put(h, replace(of_first(h), state=RunState.SUCCEEDED, reason=None))),
    ),
    (
        "untrue",
        "it did not fail for good",
        lambda h: (accepted(h, Report.FAILED), put(h, replace(of_first(h), reason="failed_by_target"))),
    ),
    ("left over", "a message", lambda h: h.left.append("message in normal")),
    ("broken", "seen as it happened", lambda h: h.broken.append("an ended record is written again")),
]


@pytest.mark.parametrize(
    ("kind", "why", "change"), BAD, ids=[f"{kind}: {why}".replace(" ", "-") for kind, why, _ in BAD]
)
def test_a_bad_history_is_rejected(kind: str, why: str, change: Change) -> None:
    """Each way to break a promise is told by the name of the rule."""
    del why
    history = good()
    change(history)
    assert kind in kinds_of(violations(history))


ALLOWED: list[tuple[str, Change]] = [
    ("a second attempt", failed_once),
    ("the worker died", lambda h: lost(h, healthy=False)),
    ("missed and skipped, with a newer one", lambda h: put_uncalled(h, skipped(TIMES[0], created_at=T + 90_000))),
    ("a block", lambda h: (every_of(h, MisfirePolicy.SKIP), block(h, 4, TIMES[0], TIMES[3]))),
    ("a limit reached", lambda h: (limited(h, 2), drop(h, TIMES[3]), drop(h, TIMES[2]))),
    ("a permanent failure", lambda h: dead(h, "http_status", status=404)),
    ("all attempts failed", lambda h: dead(h, "attempts_exhausted", attempt=3)),
    ("completed later", lambda h: accepted(h, Report.SUCCEEDED)),
    ("failed for good later", lambda h: accepted(h, Report.FAILED_FOR_GOOD)),
    ("a report without an answer", lambda h: (accepted(h, Report.SUCCEEDED), says(h, Report.FAILED, None))),
    ("a report too late", lambda h: (given_up(h, "completion_timeout", 60_000), says(h, Report.FAILED, "Stale"))),
    ("no sign of life", lambda h: (given_up(h, "heartbeat_timeout", 24_000), says(h, None))),
    ("a late worker calls out of order", lambda h: (failed_once(h), late_caller(h))),
]


def late_caller(history: History) -> None:
    """The first attempt's worker froze between its start and its call."""
    first = history.calls.pop(0)
    first.healthy = False
    history.calls.append(first)


@pytest.mark.parametrize(("why", "change"), ALLOWED, ids=[why.replace(" ", "-") for why, _ in ALLOWED])
def test_what_may_happen_is_accepted(why: str, change: Change) -> None:
    """Trouble that the promises allow for is no violation."""
    del why
    history = good()
    change(history)
    assert violations(history) == []


def test_a_run_begun_before_an_edit_is_in_limbo() -> None:
    """A worker that had read the job before the pause was stored may run an occurrence behind its instant."""
    history = good()
    edited(history, EditKind.PAUSE, T + 25_000)
    edited(history, EditKind.RESUME, T + 39_000, seq=60)
    story(history).born = {RunKey.of(JOB, TIMES[2]).name: 49}
    history.calls[2].read_seq = 49
    assert violations(history) == []
    story(history).born = {RunKey.of(JOB, TIMES[2]).name: 51}
    assert "wrong end" in kinds_of(violations(history))


def test_a_run_begun_before_a_cancel_may_be_cancelled() -> None:
    """Its occurrence lies behind the cancel, and its worker had read the job before that was stored."""
    history = good()
    cancelled(history)
    name = RunKey.of(JOB, TIMES[2]).name
    for call in history.calls:
        call.read_seq = 40
    drop(history, TIMES[3])
    put_uncalled(history, a_run(TIMES[2], RunState.CANCELLED, reason="job_cancelled"))
    story(history).born = {name: 49}
    assert violations(history) == []
    story(history).born = {name: 51}
    assert "extra record" in kinds_of(violations(history))


def test_a_run_that_was_given_back_while_it_began_may_exceed_the_limit() -> None:
    """A pause took it off the count, and its worker had read the job before; the resume gave its time back."""
    history = good()
    limited(history, 3)
    edited(history, EditKind.PAUSE, T + 35_000)
    edited(history, EditKind.CATCH_UP, T + 39_000, seq=60)
    name = RunKey.of(JOB, TIMES[3]).name
    history.calls[3].read_seq = 49
    story(history).born[name] = 49
    assert violations(history) == []
    story(history).born[name] = 51
    assert "too many runs" in kinds_of(violations(history))
