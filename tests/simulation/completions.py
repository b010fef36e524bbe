"""The promises about attempts that targets complete: what was taken stands, and nobody is given up too soon."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from carillon.domain.completions import COMPLETION_TIMEOUT, HEARTBEAT_TIMEOUT
from carillon.domain.run import Attempt, Run

from .history import Bounds, Call, Reported, Story


def completion_violations(
    story: Story, calls: Sequence[Call], reports: Sequence[Reported], bounds: Bounds
) -> Iterator[str]:
    """What is wrong with the completed attempts of a job."""
    said: defaultdict[tuple[str, int], list[Reported]] = defaultdict(list)
    for report in reports:
        said[report.name, report.attempt].append(report)
    called = {(call.name, call.attempt): call for call in calls}
    for name, run in story.records.items():
        for attempt in run.attempts:
            own = said.pop((name, attempt.number), [])
            yield from _of_attempt(run, attempt, own)
            if attempt.error in (COMPLETION_TIMEOUT, HEARTBEAT_TIMEOUT):
                yield from _given_up_early(story, run, attempt, called.get((name, attempt.number)), own, bounds)
    yield from (f"report of nothing: attempt {number} of {name}" for name, number in said)


def _of_attempt(run: Run, attempt: Attempt, reports: Sequence[Reported]) -> Iterator[str]:
    which = f"attempt {attempt.number} of {run.key.name}"
    ends = [report for report in reports if report.report is not None]
    taken = {report.report for report in ends if report.answer == Reported.TAKEN}
    if taken and taken != {attempt.report}:
        yield f"lost report: {which} was reported {sorted(map(str, taken))}, its record says {attempt.report}"
    if attempt.report is not None and attempt.report not in {report.report for report in ends}:
        yield f"untrue report: {which} is {attempt.report}, and nobody said so"
    if any(report.answer == "WrongTokenError" for report in reports):
        yield f"unknown token: {which}"


def _given_up_early(
    story: Story, run: Run, attempt: Attempt, call: Call | None, reports: Sequence[Reported], bounds: Bounds
) -> Iterator[str]:
    """An attempt may be given up when its whole time is over, or so long after its last sign of life."""
    rules, which = story.completion, f"attempt {attempt.number} of {run.key.name}"
    if rules is None or call is None or attempt.ended_at is None:
        yield f"untrue: {which} ended by {attempt.error}, and nobody was waited for"
        return
    if attempt.error == COMPLETION_TIMEOUT:
        earliest_ms = call.own_ms + rules.timeout_ms
    else:
        alive = [report.said_ms for report in reports if report.report is None and report.answer == Reported.TAKEN]
        earliest_ms = max([call.own_ms, *(at_ms - bounds.skew_ms for at_ms in alive)]) + (rules.heartbeat_ms or 0)
    if attempt.ended_at < earliest_ms - bounds.set_back_ms:
        yield f"given up early: {which} by {attempt.error}, {earliest_ms - attempt.ended_at} ms too soon"
