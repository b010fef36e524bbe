"""Circuit breakers: what is known of a target that does not answer, and what that means for the next run to it.

A target is a host and a port, of one tenant. As long as it answers nothing is stored of it. When it fails a few times
in a row it is open: runs wait, with no attempt spent, and one at a time probes it, at longer and longer intervals. The
first answer closes it, and runs are let through again bit by bit, so that what has waited does not knock it over.

Whatever answers is alive, be it with an error of its own: 502, 503 and 504 are what proxies say of one that is not.
"""

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from carillon.domain.outcomes import Failure, Outcome

TARGET_UNAVAILABLE: Final = "target_unavailable"
"""Why a run waits that found its target's breaker open, and why it is given up if that goes on for too long."""

RAMP_MS: Final = 60_000
"""How long after its first answer a target gets only a share of its runs, which grows to all of them."""

LEAST_SHARE: Final = 0.1
"""That share at the beginning."""

LONGEST_PAUSE_MS: Final = 300_000
MOST_DOUBLINGS: Final = 16
KEPT_MS: Final = 24 * 3600 * 1000
"""How long after its last change a breaker is remembered."""

PROBE_MARGIN_MS: Final = 10_000
"""How long after its timeout a probe is given up: its worker is dead."""

_DOWN: Final = frozenset(
    {
        Failure.DNS_ERROR,
        Failure.CONNECT_ERROR,
        Failure.CONNECT_TIMEOUT,
        Failure.TLS_ERROR,
        Failure.TIMEOUT,
        Failure.PROTOCOL_ERROR,
    }
)
_UNTOLD: Final = frozenset(
    {Failure.TARGET_BLOCKED, Failure.PAYLOAD_MISSING, Failure.PAYLOAD_UNAVAILABLE, Failure.CANCELLED}
)
_GATEWAY_ERRORS: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """When a breaker opens, and for how long.

    Attributes:
        failures: so many in a row open it, as one process sees them.
        first_pause_ms: how long it lets nobody through at first.
        longest_wait_ms: how long after it was due a run waits at most for its target. Then it is a dead letter.
    """

    failures: int = 5
    first_pause_ms: int = 10_000
    longest_wait_ms: int = 24 * 3600 * 1000

    def pause_ms(self, level: int) -> int:
        """How long a breaker that has opened so often in a row (1-based) lets nobody through."""
        return min(self.first_pause_ms << min(level - 1, MOST_DOUBLINGS), LONGEST_PAUSE_MS)


@dataclass(frozen=True, slots=True)
class Breaker:
    """A breaker that has opened. Instants in epoch ms.

    Attributes:
        tenant: whose target it is.
        target: the host and the port, as in `hooks.example.com:443`.
        rev: how often it was written.
        level: how often it has opened in a row.
        retry_at: from when on it may be probed.
        probe_until: until when a probe is under way, at the latest; 0: there is none.
        probe_id: of that probe: two that say so at the same millisecond are not the same.
        closed_at: since when the target answers again; 0: it is open.
    """

    tenant: str
    target: str
    rev: int
    level: int
    retry_at: int
    probe_until: int = 0
    probe_id: str = ""
    closed_at: int = 0

    def probed(self, now_ms: int, timeout_ms: int, probe_id: str) -> "Breaker":
        """A run probes it, with a call that takes no longer than this."""
        until_ms = now_ms + timeout_ms + PROBE_MARGIN_MS
        return replace(self, rev=self.rev + 1, probe_until=until_ms, probe_id=probe_id)

    def closed(self, now_ms: int) -> "Breaker":
        """The target has answered."""
        return replace(self, rev=self.rev + 1, probe_until=0, closed_at=now_ms)

    def opened(self, now_ms: int, rules: BreakerRules) -> "Breaker":
        """It fails once more: the pause doubles, unless it had been well for longer than its ramp."""
        is_new = bool(self.closed_at) and now_ms >= self.closed_at + RAMP_MS
        level = 1 if is_new else self.level + 1
        retry_at = now_ms + rules.pause_ms(level)
        return replace(self, rev=self.rev + 1, level=level, retry_at=retry_at, probe_until=0, closed_at=0)


def first_opened(tenant: str, target: str, now_ms: int, rules: BreakerRules) -> Breaker:
    """The breaker of a target that has none yet, and fails."""
    return Breaker(tenant, target, rev=1, level=1, retry_at=now_ms + rules.pause_ms(1))


@dataclass(frozen=True, slots=True)
class Pass:
    """The run may start."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The run may start as a probe, if it is the first to say so."""


@dataclass(frozen=True, slots=True)
class Park:
    """The run waits until this instant (epoch ms)."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class Abandon:
    """The run has waited for too long: it is given up."""


def admit(
    breaker: Breaker | None, *, due_ms: int, now_ms: int, unit: float, rules: BreakerRules
) -> Pass | Probe | Park | Abandon:
    """What a run that is about to start has to do.

    Args:
        breaker: of its target; None: it has none.
        due_ms: when the run was due, epoch ms.
        now_ms: the present, epoch ms.
        unit: a draw in [0, 1).
        rules: of the stage.
    """
    if breaker is None:
        return Pass()
    if breaker.closed_at:
        return _in_ramp(breaker.closed_at, now_ms, unit)
    if now_ms >= max(breaker.retry_at, breaker.probe_until):
        return Probe()
    if now_ms > due_ms + rules.longest_wait_ms:
        return Abandon()
    return park(breaker, due_ms=due_ms, now_ms=now_ms, unit=unit, rules=rules)


def park(breaker: Breaker, *, due_ms: int, now_ms: int, unit: float, rules: BreakerRules) -> Park:
    """How long a run waits for an open breaker: the arguments are those of `admit`.

    Runs are spread over as much time again as the pause, so that they do not all come at once; and over a quarter of
    the time that they have waited for. So a long outage costs little, and what waited for an hour looks again within a
    quarter of one.
    """
    spread_ms = max(rules.pause_ms(breaker.level), (now_ms - due_ms) // 4)
    return Park(max(breaker.retry_at, breaker.probe_until) + round(unit * spread_ms))


def _in_ramp(closed_at: int, now_ms: int, unit: float) -> Pass | Park:
    share = max((now_ms - closed_at) / RAMP_MS, LEAST_SHARE)
    if unit < share:
        return Pass()
    left_ms = closed_at + RAMP_MS - now_ms
    return Park(now_ms + round(left_ms * (unit - share) / (1 - share)))


def is_down(outcome: Outcome) -> bool | None:
    """Whether an outcome says that the target is down; None: it says nothing about it."""
    if outcome.failure is not None:
        return None if outcome.failure in _UNTOLD else outcome.failure in _DOWN
    return outcome.status in _GATEWAY_ERRORS


def target_of(url: str) -> str:
    """The host and the port of a URL that has been accepted, as in `hooks.example.com:443`."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
