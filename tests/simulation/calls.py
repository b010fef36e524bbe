"""The promises about calls: by the rules of the job, each attempt once, in a rising order, and told as they were."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from carillon.domain.completions import Report
from carillon.domain.run import MOST_ATTEMPTS_LOST, Run, RunState

from .history import Bounds, Call, EditKind, Story
from .oracle import phases

PERMANENT = frozenset({"http_status", "target_gone", "redirect_not_followed", "target_blocked", "cancelled"})
RETRYABLE_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


def call_violations(story: Story, calls: Sequence[Call], bounds: Bounds) -> Iterator[str]:
    """What is wrong with the calls of a job, and with what its records say of them."""
    by_run: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_run[call.name].append(call)
    for name, run in story.records.items():
        yield from _of_run(story, run, by_run.pop(name, []), bounds)
    yield from (f"extra call: {name} has no record" for name in by_run)
    if story.edits and story.rezoned is None:
        yield from _against_the_rules(story, calls)


def _of_run(story: Story, run: Run, calls: Sequence[Call], bounds: Bounds) -> Iterator[str]:
    name, highest = run.key.name, 0
    by_attempt: dict[int, Call] = {}
    for call in calls:
        if call.attempt in by_attempt:
            yield f"called twice: attempt {call.attempt} of {name}"
        by_attempt[call.attempt] = call
        if call.attempt < highest and call.healthy:
            yield f"order: attempt {call.attempt} of {name} is called after attempt {highest}"
        highest = max(highest, call.attempt)
    if _most_attempts(story, run) == 1 and len(calls) > 1:
        yield f"not at most once: {name} is called {len(calls)} times, and its job allows one attempt"
    if max(highest, run.attempt) > _most_attempts(story, run):
        yield f"too many attempts: {max(highest, run.attempt)} of {name}, at most {_most_attempts(story, run)}"
    if highest > run.attempt:
        yield f"untold: attempt {highest} of {name} was called, the record knows {run.attempt}"
    yield from _wrong_attempts(story, run, by_attempt, bounds)
    if run.state.has_ended:
        yield from _wrong_outcome(story, run, by_attempt, bounds)


def _spent(story: Story, run: Run) -> int:
    """The attempts that a run had when it was last redriven: it got all of them anew."""
    return story.redrives.get(run.key.name, 0)


def _most_attempts(story: Story, run: Run) -> int:
    return _spent(story, run) + story.max_attempts


def _lost(story: Story, run: Run) -> int:
    """How many attempts were lost since the last redrive."""
    return sum(each.error == "worker_lost" and each.number > _spent(story, run) for each in run.attempts)


def _wrong_attempts(story: Story, run: Run, calls: dict[int, Call], bounds: Bounds) -> Iterator[str]:
    name = run.key.name
    if [attempt.number for attempt in run.attempts] != list(range(1, run.attempt + 1)):
        yield f"order: the attempts of {name} are {[attempt.number for attempt in run.attempts]}"
    if _lost(story, run) > MOST_ATTEMPTS_LOST:
        yield f"too many lost: {_lost(story, run)} attempts of {name}"
    for attempt in run.attempts:
        call = calls.get(attempt.number)
        if attempt.status is not None and (call is None or call.status != attempt.status):
            yield f"untrue: attempt {attempt.number} of {name} says {attempt.status}, the target {call and call.status}"
        if attempt.ended_at is None and run.state.has_ended:
            yield f"untold: attempt {attempt.number} of {name} has no end"
        if attempt.error == "worker_lost" and call and call.healthy and bounds.promises_health:
            yield f"healthy attempt lost: {attempt.number} of {name}"


def _wrong_outcome(story: Story, run: Run, calls: dict[int, Call], bounds: Bounds) -> Iterator[str]:
    call = calls.get(run.attempt)
    is_success = call is not None and _has_succeeded(call, run)
    name = f"{run.key.name} {run.state} ({run.reason})"
    if run.state is RunState.SUCCEEDED and not is_success:
        yield f"untrue: {name}, and the last call did not succeed"
    if is_success and call and call.healthy and run.state is not RunState.SUCCEEDED:
        yield f"untrue: {name}, and the last call did succeed"
    if run.state is RunState.SKIPPED and run.attempt:
        yield f"untrue: {name} after {run.attempt} attempts"
    if run.state is RunState.DEAD_LETTERED and not _may_be_dead(story, run, call, bounds):
        yield f"untrue: {name} after {run.attempt} of {story.max_attempts} attempts"


def _has_succeeded(call: Call, run: Run) -> bool:
    """Whether the last call of a run did what it was to do: by its answer, or by what its target reported later."""
    if call.is_accepted:
        return run.attempts[-1].report is Report.SUCCEEDED
    return call.status is not None and 200 <= call.status < 300


def _may_be_dead(story: Story, run: Run, call: Call | None, bounds: Bounds) -> bool:
    most = _most_attempts(story, run)
    match run.reason:
        case "attempts_exhausted":
            return run.attempt == most
        case "worker_lost":
            return run.attempts[-1].error == "worker_lost" and (
                run.attempt == most or _lost(story, run) == MOST_ATTEMPTS_LOST
            )
        case "failed_by_target":
            return run.attempts[-1].report is Report.FAILED_FOR_GOOD
        case "target_unavailable":
            return run.key.name in story.parked
        case "undeliverable":
            return bounds.gives_up
    return (
        run.reason in PERMANENT
        and call is not None
        and call.status is not None
        and call.status not in RETRYABLE_STATUSES
    )


# ---------------------------------------------------------------------------------------------- the rules of the job


def _against_the_rules(story: Story, calls: Sequence[Call]) -> Iterator[str]:
    """Calls by workers that had read the job after an edit which forbids them."""
    known = {count: phases(story, story.edits[:count]) for count in range(len(story.edits) + 1)}
    for call in calls:
        seen = story.known_at(call.read_seq)
        kinds = [edit.kind for edit in story.edits[:seen]]
        if EditKind.CANCEL in kinds:
            yield f"forbidden: {call.name} is called, and the job was cancelled before it was read"
        if "~" in call.name:
            continue
        if _is_paused(kinds):
            yield f"forbidden: {call.name} is called, and the job was paused before it was read"
        nominal = story.records[call.name].scheduled_for if call.name in story.records else 0
        if call.attempt == 1 and not any(phase.has(nominal) for phase in known[seen]):
            yield f"forbidden: {call.name} is called, and a newer definition had been read"


def _is_paused(kinds: Sequence[EditKind]) -> bool:
    paused = False
    for kind in kinds:
        if kind is EditKind.PAUSE:
            paused = True
        elif kind in (EditKind.RESUME, EditKind.CATCH_UP):
            paused = False
    return paused
