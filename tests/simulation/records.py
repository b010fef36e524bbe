"""The promises about records: every occurrence that existed has exactly one, and it says what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from carillon.domain.job import JobState, MisfirePolicy
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import OneOff

from .history import Bounds, EditKind, Story
from .oracle import Phase, edits_are_in_order, phases
from .watch import offset_of

MOST_QUICK_EDITS_MS = 50
"""Edits at the same instant are a millisecond apart; a job has no more of them."""

SURELY_PLANNED = frozenset({RunState.SUCCEEDED, RunState.DEAD_LETTERED, RunState.CANCELLED})


@dataclass(frozen=True, slots=True)
class _Covered:
    """An occurrence with its record.

    In limbo is one whose run was begun between the instant of an edit and its write: the edit takes it out, and it ran.
    """

    nominal: int
    phase: Phase
    run: Run
    is_limbo: bool = False


def record_violations(story: Story, bounds: Bounds) -> Iterator[str]:
    """What is wrong with the records of a job, and with its own state."""
    if not edits_are_in_order(story):
        yield f"disorder: an edit governs from before an earlier one: {[edit.at_ms for edit in story.edits]}"
    for edit in story.edits:
        if edit.at_ms > edit.stored_at + bounds.skew_ms + MOST_QUICK_EDITS_MS:
            yield f"disorder: {edit.kind} of {edit.stored_at} governs from the future, {edit.at_ms}"
    times = phases(story)
    expected = {nominal: phase for phase in times for nominal in phase.nominal_times()}
    singles = {run.scheduled_for: run for run in story.records.values() if run.block is None and not run.key.is_manual}
    covered: dict[int, _Covered] = {}
    for nominal, run in singles.items():
        phase = _in_limbo(story, run, expected.get(nominal))
        if phase is not None:
            covered[nominal] = _Covered(nominal, phase, run, is_limbo=phase is not expected.get(nominal))
        else:
            yield f"extra record: {run.key.name} {run.state} ({run.reason})"
    for run in story.records.values():
        if run.block is not None:
            yield from _spread(story, run, expected, covered)
        elif run.key.is_manual:
            yield from _wrong_manual_end(story, run)
    yield from _missing(story, expected, covered)
    for one in covered.values():
        yield from _wrong_end(story, one, bounds)
    yield from _wrong_job_state(story, covered)


def _in_limbo(story: Story, run: Run, phase: Phase | None) -> Phase | None:
    """The phase of an occurrence: by the edits that the writer of its record knew, or else by all of them."""
    if phase is not None and not phase.is_skipped:
        return phase
    return _known_phase(story, run, run.scheduled_for) or phase


def _known_phase(story: Story, run: Run, nominal: int) -> Phase | None:
    """The phase of an occurrence by the edits that the writer of its record knew."""
    known = phases(story, story.edits[: story.known_at(story.born.get(run.key.name, 0))])
    return next((phase for phase in known if not phase.is_skipped and phase.has(nominal)), None)


def _spread(story: Story, run: Run, expected: dict[int, Phase], covered: dict[int, _Covered]) -> Iterator[str]:
    """Lay a block over the occurrences that it stands for."""
    block = run.block
    assert block
    phase = expected.get(block.last)
    if phase is None:
        yield f"extra record: block {run.key.name} ends where no occurrence is"
        return
    inside = [nominal for nominal in phase.nominal_times() if block.first <= nominal <= block.last]
    open_ones = [nominal for nominal in inside if nominal not in covered or _is_apart(story, covered[nominal], run)]
    if len(open_ones) != block.count or not open_ones or (open_ones[0], open_ones[-1]) != (block.first, block.last):
        with_own = [covered[nominal].run.key.name for nominal in inside if nominal in covered]
        yield (
            f"wrong block: {run.key.name} ({run.reason}) says {block.count} from {block.first} to {block.last}, "
            f"{len(open_ones)} of {len(inside)} are open; have their own: {with_own[:5]}"
        )
    for nominal in open_ones:
        covered.setdefault(nominal, _Covered(nominal, phase, run))


def _is_apart(story: Story, one: _Covered, block: Run) -> bool:
    """Whether a block may count an occurrence that ran all the same, because nobody could know of it.

    Its worker had read the job before an edit, and began the run while the edit was being written (then the dispatcher
    that plans the new definition sums it up with others) or after a summary of the edit was written.
    """
    name, unknown = one.run.key.name, story.edits[story.known_at(story.born.get(one.run.key.name, 0)) :]
    if one.run.block is not None or not unknown:
        return False
    known_to_nobody = unknown[0].read_seq if block.reason == "misfire" else story.written.get(block.key.name, 0)
    return story.written.get(name, 0) > known_to_nobody


def _missing(story: Story, expected: dict[int, Phase], covered: dict[int, _Covered]) -> Iterator[str]:
    missing = [nominal for nominal in expected if nominal not in covered]
    most = story.rules.max_runs
    if most is None:
        yield from (f"missing: no record of {nominal}" for nominal in missing[:5])
        return
    live = [one for one in covered.values() if not (one.phase.is_skipped or one.is_limbo) and _was_planned(story, one)]
    surely = [one for one in live if one.run.state in SURELY_PLANNED or one.run.reason == "deadline"]
    counted = [one for one in surely if not _was_given_back(story, one)]
    if len(counted) > most:
        yield f"too many runs: {len(counted)} of at most {most}"
    last_live = max((one.nominal for one in covered.values() if not one.phase.is_skipped), default=0)
    gaps = [nominal for nominal in missing if nominal < last_live or expected[nominal].is_skipped]
    yield from (f"missing: no record of {nominal}" for nominal in gaps[:5])
    if missing and len(live) < most:
        yield f"missing: only {len(live)} of {most} runs, and {len(missing)} occurrences without one, from {missing[0]}"


def _was_given_back(story: Story, one: _Covered) -> bool:
    """Whether an edit took an occurrence out, and its run off the count, while its worker, not knowing, began it."""
    born = story.born.get(one.run.key.name, 0)
    revoking = (EditKind.PAUSE, EditKind.CHANGE, EditKind.CANCEL)
    return any(edit.kind in revoking and edit.seq > born and edit.at_ms < one.nominal for edit in story.edits)


def _was_planned(story: Story, one: _Covered) -> bool:
    """Whether an occurrence counts as planned. What an edit found unconfirmed does, though it be skipped later."""
    if one.run.reason != "misfire":
        return True
    born = story.born.get(one.run.key.name, 0)
    return any(edit.seq < born and edit.at_ms >= one.nominal for edit in story.edits)


# ------------------------------------------------------------------------------------------------------------- endings


def _wrong_end(story: Story, one: _Covered, bounds: Bounds) -> Iterator[str]:
    run, name = one.run, one.run.key.name
    if not run.state.has_ended:
        yield f"not ended: {name} is {run.state}"
    elif run.reason == "run_cancelled":
        yield from _wrong_cancel(story, run)
    elif run.state is RunState.CANCELLED and not _was_cancelled(story, one):
        yield f"wrong end: {name} is cancelled, and the job was not"
    elif run.state is RunState.SKIPPED and not _may_be_skipped(story, one, bounds):
        yield f"wrong end: {name} is skipped ({run.reason})"
    elif one.phase.is_skipped and (run.state, run.reason) != (RunState.SKIPPED, "paused"):
        yield f"wrong end: {name} is {run.state} ({run.reason}) in a pause"
    yield from _wrong_decision(story, one)
    yield from _wrong_start(story, one, bounds)


def _wrong_cancel(story: Story, run: Run) -> Iterator[str]:
    """A run ends as cancelled by itself only if a client has asked for that very run."""
    if run.state is not RunState.CANCELLED or run.key.name not in story.cancels:
        yield f"wrong end: {run.key.name} is {run.state} ({run.reason}), and nobody cancelled it"


def _wrong_manual_end(story: Story, run: Run) -> Iterator[str]:
    """A run by hand ignores pause, misfire and deadline; only a cancel ends it unstarted."""
    if not run.state.has_ended:
        yield f"not ended: {run.key.name} is {run.state}"
    elif run.reason == "run_cancelled":
        yield from _wrong_cancel(story, run)
    elif run.state is RunState.SKIPPED or (run.state is RunState.CANCELLED and story.state is not JobState.CANCELLED):
        yield f"wrong end: {run.key.name} is {run.state} ({run.reason})"


def _was_cancelled(story: Story, one: _Covered) -> bool:
    """Whether the job was cancelled at or after an occurrence's time, or before it while its worker began the run."""
    born = story.born.get(one.run.key.name, 0)
    unknown = (edit.kind for edit in story.edits if edit.seq > born)
    return _has_edit(story, EditKind.CANCEL, one.nominal) or (one.is_limbo and EditKind.CANCEL in unknown)


def _has_edit(story: Story, kind: EditKind, nominal: int) -> bool:
    """Whether the job was edited so at or after an occurrence's time."""
    return any(edit.kind is kind and edit.at_ms >= nominal for edit in story.edits)


def _may_be_skipped(story: Story, one: _Covered, bounds: Bounds) -> bool:
    run = one.run
    match run.reason:
        case "paused":
            is_due = _has_edit(story, EditKind.PAUSE, one.nominal)
            return one.phase.is_skipped or is_due or _precedes_a_run_of_a_pause(story, one.nominal)
        case "deadline":
            by_ms = one.nominal + min(_offsets(story)) + (story.deadline_ms or 0)
            return story.deadline_ms is not None and (run.ended_at or 0) > by_ms
        case "misfire":
            last = one.nominal if run.block is None else run.block.last
            phase = _known_phase(story, run, last) or one.phase
            return not one.phase.is_skipped and _was_missed_by_policy(
                story, phase, last, run.created_at + bounds.skew_ms
            )
    return False


def _precedes_a_run_of_a_pause(story: Story, nominal: int) -> bool:
    """Whether a later occurrence ran in the same pause, because its worker had read the job before."""
    before = [edit.seq for edit in story.edits if edit.kind is EditKind.PAUSE and edit.at_ms < nominal]
    return any(
        run.scheduled_for > nominal and story.born.get(name, 0) < seq
        for seq in before
        for name, run in story.records.items()
    )


def _offsets(story: Story) -> set[int]:
    """How much later than their nominal times runs may be due, by all the windows that the job has had."""
    windows = {story.rules.window_ms, *(edit.window_ms for edit in story.edits if edit.window_ms is not None)}
    return {offset_of(story.job_id, window_ms) for window_ms in windows}


def _kept(story: Story) -> int:
    rules = story.rules
    return {MisfirePolicy.SKIP: 0, MisfirePolicy.FIRE_ONCE: 1, MisfirePolicy.FIRE_ALL: rules.max_catch_up}[
        rules.misfire
    ]


def _was_missed_by_policy(story: Story, phase: Phase, nominal: int, by_ms: int) -> bool:
    """Whether an occurrence, and as many newer ones as the policy keeps, had been missed by an instant."""
    return _was_skippable(story, phase, nominal, by_ms - offset_of(story.job_id, phase.window_ms))


def _was_skippable(story: Story, phase: Phase, nominal: int, by_nominal_ms: int) -> bool:
    newest_kept = next(islice(phase.schedule.between(nominal - 1, phase.until_ms), _kept(story), None), None)
    return newest_kept is not None and newest_kept + story.rules.misfire_grace_ms < by_nominal_ms


def _wrong_decision(story: Story, one: _Covered) -> Iterator[str]:
    """An occurrence that was sent although the policy skips it, as of the instant of its first decision."""
    decided_at, due_ms = story.decided.get(one.nominal, (0, one.nominal))
    if _was_skippable(story, one.phase, one.nominal, decided_at - (due_ms - one.nominal)):
        yield f"wrong policy: {one.run.key.name} was sent as of {decided_at}, and {story.rules.misfire} skips it"


def _wrong_start(story: Story, one: _Covered, bounds: Bounds) -> Iterator[str]:
    run = one.run
    if not run.attempts:
        return
    first = run.attempts[0].started_at
    phase = (_known_phase(story, run, one.nominal) if story.edits else None) or one.phase
    due_ms = one.nominal + offset_of(story.job_id, phase.window_ms)
    if first < due_ms - bounds.set_back_ms:
        yield f"early: {run.key.name} starts {due_ms - first} ms too early"
    if story.deadline_ms is not None and first > one.nominal + max(_offsets(story)) + story.deadline_ms:
        yield f"late: {run.key.name} starts after its deadline"
    if bounds.prompt_ms is not None and not _may_be_held_up(story, run, bounds):
        ready_ms = max([due_ms, story.created_at, *(edit.at_ms for edit in story.edits if edit.at_ms <= first)])
        if first > ready_ms + bounds.prompt_ms:
            yield f"late: {run.key.name} starts {first - ready_ms} ms late, and nothing stood in its way"


def _may_be_held_up(story: Story, run: Run, bounds: Bounds) -> bool:
    """Whether something that is meant to may stand in a run's way: a rate, a target that is down, a pace."""
    first = run.attempts[0].started_at
    is_paced = bounds.paces_late and any(edit.kind is EditKind.CATCH_UP and edit.at_ms <= first for edit in story.edits)
    return story.limit is not None or run.key.name in story.parked or is_paced


# ----------------------------------------------------------------------------------------------------------- job state


def _wrong_job_state(story: Story, covered: dict[int, _Covered]) -> Iterator[str]:
    allowed = _states(story, [one.run for one in covered.values()])
    if story.state not in allowed:
        yield f"wrong state: the job is {story.state}, not {' or '.join(allowed)}"


def _states(story: Story, runs: Sequence[Run]) -> tuple[JobState, ...]:
    if story.edits and story.edits[-1].kind is EditKind.CANCEL:
        return (JobState.CANCELLED,)
    changed = [edit.schedule for edit in story.edits if edit.schedule is not None]
    if not isinstance(changed[-1] if changed else story.schedule, OneOff):
        return (JobState.COMPLETED,)
    if story.edits or story.rules.max_runs is not None:
        return (JobState.DISPATCHED, JobState.COMPLETED)
    return (JobState.COMPLETED if all(run.reason == "misfire" for run in runs) else JobState.DISPATCHED,)
