"""The promise to and about a tenant with a dispatch rate: never more starts than the rate allows.

It is held where nothing goes wrong. A dispatcher that takes over the claim of a dead one sends all of it, because it
may have been sent; a worker that wakes up late starts what had its slot long ago.
"""

from collections.abc import Iterator, Sequence

from carillon.domain.limits import DispatchLimit

from .history import History

_ON_ITS_WAY_MS = 2_500
"""Queues delay by whole seconds, and are looked at now and then."""


def rate_violations(history: History) -> Iterator[str]:
    """Where more starts were sent for, or were made, than the rate allows."""
    limits = {job_id: story.limit for job_id, story in history.stories.items() if story.limit is not None}
    if not limits:
        return
    limit = next(iter(limits.values()))
    yield from _beyond(limit, sorted(history.slots.values()), history.bounds.found_after_ms, "sent for")
    yield from _beyond(limit, sorted(c.at_ms for c in history.calls if c.job_id in limits), _ON_ITS_WAY_MS, "made")


def _beyond(limit: DispatchLimit, times_ms: Sequence[int], slack_ms: int, what: str) -> Iterator[str]:
    """The first span of time with too many: time is cut into cells of one interval, and each start takes one.

    So the starts of a span are at most its cells, and the burst less one before it. Each may be late by the slack, and
    have had an earlier cell.
    """
    most_ahead = float("-inf")
    for count, at_ms in enumerate(times_ms):
        if limit.pace.cell_of(at_ms) - count < most_ahead - (limit.burst - 1):
            yield f"too fast: {count + 1} starts {what} by {at_ms}, at {limit.rate_milli / 1000:g} a second"
            return
        most_ahead = max(most_ahead, limit.pace.cell_of(at_ms - slack_ms) - count)
