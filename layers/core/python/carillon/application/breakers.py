"""The workers' side of circuit breakers: whom to let through, and what is learnt from each call.

Each process counts failures in a row for itself, and stores a breaker only when it opens one: a target that answers
costs no write. What others have opened is known from a read that is remembered for a little while.
"""

import logging
from dataclasses import dataclass, field
from threading import Lock

from carillon.domain.breaker import (
    Abandon,
    Breaker,
    BreakerRules,
    Park,
    Pass,
    Probe,
    admit,
    first_opened,
    is_down,
    park,
    target_of,
)
from carillon.domain.outcomes import Outcome
from carillon.ports.edges import Ids, Meter
from carillon.ports.errors import UnavailableError, UnreadableItemError
from carillon.ports.execution import BreakerStore

logger = logging.getLogger("carillon")

FORGOTTEN_AFTER_MS = 300_000
"""Failures with so much time between them are not in a row."""

MOST_COUNTED = 4_096


@dataclass(slots=True)
class Breakers:
    """All breakers, as one process knows them."""

    store: BreakerStore
    meter: Meter
    ids: Ids
    rules: BreakerRules = field(default_factory=BreakerRules)
    _failures: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def admit(self, tenant: str, url: str, *, timeout_ms: int, due_ms: int, now_ms: int) -> Pass | Park | Abandon:
        """Whether a run to this URL may start, perhaps as a probe.

        Args:
            tenant: whose run it is.
            url: its target.
            timeout_ms: how long its call takes at most.
            due_ms: when it was due, epoch ms.
            now_ms: the present, epoch ms.
        """
        breaker = self._breaker(tenant, target_of(url))
        if breaker is None:
            return Pass()
        verdict = admit(breaker, due_ms=due_ms, now_ms=now_ms, unit=self.ids.unit(), rules=self.rules)
        if not isinstance(verdict, Probe):
            return verdict
        probed = breaker.probed(now_ms, timeout_ms, self.ids.token())
        if self._save(probed):
            return Pass()
        return park(probed, due_ms=due_ms, now_ms=now_ms, unit=self.ids.unit(), rules=self.rules)

    def learn(self, tenant: str, url: str, outcome: Outcome, now_ms: int) -> None:
        """What a call that has ended says of its target."""
        down = is_down(outcome)
        if down is None:
            return
        key = (tenant, target_of(url))
        failures = self._count(key, now_ms, down=down)
        if down:
            self._note_failure(key, failures, now_ms)
        else:
            self._note_answer(key, now_ms)

    def _count(self, key: tuple[str, str], now_ms: int, *, down: bool) -> int:
        """Failures in a row so far, with this one."""
        with self._lock:
            if not down:
                self._failures.pop(key, None)
                return 0
            count, last_ms = self._failures.get(key, (0, now_ms))
            count = count + 1 if now_ms - last_ms < FORGOTTEN_AFTER_MS else 1
            if len(self._failures) >= MOST_COUNTED:
                self._failures.clear()
            self._failures[key] = (count, now_ms)
            return count

    def _note_failure(self, key: tuple[str, str], failures: int, now_ms: int) -> None:
        """Open the breaker, if it was enough, or if it was the probe of an open one."""
        breaker = self._breaker(*key)
        is_open = breaker is not None and not breaker.closed_at
        was_probe = is_open and breaker is not None and now_ms < breaker.probe_until
        if was_probe or (failures >= self.rules.failures and not is_open):
            opened = breaker.opened(now_ms, self.rules) if breaker else first_opened(*key, now_ms, self.rules)
            if self._save(opened):
                self.meter.count("breakers_opened")
                said = {"action": "breaker_opened", "tenant": key[0], "level": opened.level}
                logger.warning("breaker opened", extra=said)

    def _note_answer(self, key: tuple[str, str], now_ms: int) -> None:
        breaker = self._breaker(*key)
        if breaker is not None and not breaker.closed_at and self._save(breaker.closed(now_ms)):
            self.meter.count("breakers_closed")
            logger.info("breaker closed", extra={"action": "breaker_closed", "tenant": key[0]})

    def _breaker(self, tenant: str, target: str) -> Breaker | None:
        """A target's breaker; where that cannot be read, there is none: calls matter more."""
        try:
            return self.store.of(tenant).get(target)
        except (UnavailableError, UnreadableItemError):
            self.meter.count("breakers_unread")
            return None

    def _save(self, breaker: Breaker) -> bool:
        try:
            return self.store.save(breaker)
        except UnavailableError:
            self.meter.count("breakers_unread")
            return False
