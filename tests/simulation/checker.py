"""Holds a history against the promises. Each violation is a line of text that begins with the rule it breaks."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

from .calls import call_violations
from .completions import completion_violations
from .history import Bounds, Call, History, Reported, Story
from .rates import rate_violations
from .records import record_violations
from .zones import zone_violations


def violations(history: History) -> list[str]:
    """Everything in a history that no run of the product may show."""
    return list(_all(history))


def _record_violations(story: Story, bounds: Bounds) -> Iterator[str]:
    return record_violations(story, bounds) if story.rezoned is None else zone_violations(story, story.rezoned, bounds)


def _all(history: History) -> Iterator[str]:
    yield from (f"broken: {what}" for what in history.broken)
    yield from (f"left over: {what}" for what in history.left)
    by_job: defaultdict[str, list[Call]] = defaultdict(list)
    for call in history.calls:
        by_job[call.job_id].append(call)
    reports: defaultdict[str, list[Reported]] = defaultdict(list)
    for report in history.reports:
        reports[report.job_id].append(report)
    for job_id, story in history.stories.items():
        calls, said = by_job.pop(job_id, []), reports.pop(job_id, [])
        found = chain(
            completion_violations(story, calls, said, history.bounds),
            _record_violations(story, history.bounds),
            call_violations(story, calls, history.bounds),
        )
        yield from (f"{line} [job {story.number}]" for line in found)
    if history.bounds.prompt_ms is not None:
        yield from rate_violations(history)
    for job_id in by_job:
        yield f"extra call: job {job_id} was never created"
    for job_id in reports:
        yield f"report of nothing: job {job_id} was never created"
