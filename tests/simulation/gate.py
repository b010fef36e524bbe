"""The gate in front of every port: the places where others may act, and where faults strike.

Calls are numbered. Whether a call is struck, and by what, depends on its number alone: it is drawn in advance, or
taken from a script. So a run can be repeated without some of its faults, which is how a failing one is made small.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import ClaimRefused

from .kernel import Kernel, KilledError
from .plan import FAULTS, Focus, Plan, Spell, Strike, draws

if TYPE_CHECKING:
    from random import Random

NEVER = 1 << 62
LONGEST_UNDISTURBED_MS = 3_000
MOST_ASLEEP = 60
"""Suspended actors at a time; beyond it, nobody more is suspended by a fault."""

_WEIGHTS = {
    "crash_before": 3,
    "crash_after": 4,
    "down": 3,
    "lost": 5,
    "again": 5,
    "pause_before": 8,
    "pause_after": 8,
    "part": 5,
}
_READS = frozenset({"get", "pages", "active", "highest", "list_newest"})
_BATCHES = frozenset({"send", "claim_many", "confirm_many"})
_FATES = ((True, True), (True, True), (True, False), (False, False))
"""What may become of an entry of a batch that is answered in part: whether it happens, and whether that is told."""


class Gate:
    """Where calls of ports pass."""

    def __init__(self, plan: Plan, kernel: Kernel, trace: Callable[..., None] | None) -> None:
        self.count = 0
        self.struck: list[Strike] = []
        self._plan = plan
        self._kernel = kernel
        self._trace = trace
        self._draw: Random = draws(f"faults {plan.seed}")
        self._spell_draw: Random = draws(f"spells {plan.seed}")
        self._script = {strike.number: strike for strike in plan.script or ()}
        self._spells: list[Spell] = []
        self._foci = () if plan.script is not None else plan.foci
        self._is_quiet = False
        self._next = NEVER
        if plan.script is None and plan.fault_every:
            self._actions = [kind for kind in FAULTS if kind in plan.faults]
            self._plan_next()
        elif self._script:
            self._next = min(self._script)
        self._look_at = self._next

    # ------------------------------------------------------------------------------------------------------- switching

    def begin(self, spell: Spell) -> None:
        """From now on some calls of a port fail."""
        self._spells.append(spell)
        self._look_at = 0

    def end(self, spell: Spell) -> None:
        """The port works again."""
        if spell in self._spells:
            self._spells.remove(spell)
        self._look_at = 0 if self._spells else self._next

    def fall_quiet(self) -> None:
        """Nothing strikes any more."""
        self._next = self._look_at = NEVER
        self._is_quiet = True
        self._spells.clear()

    # ---------------------------------------------------------------------------------------------------------- ports

    def port(self, name: str, real: object, methods: Sequence[str]) -> Any:
        """A port whose calls pass the gate."""
        gated = SimpleNamespace()
        for method in methods:
            setattr(gated, method, self.gated(name, method, getattr(real, method)))
        return gated

    def index(self, real: Any) -> Any:
        """The due index: each page is a call."""

        def pages(shard: int, until_ms: int) -> Iterator[Any]:
            read = iter(real.pages(shard, until_ms))
            turn = self.gated("index", "pages", lambda: next(read, None))
            while (page := turn()) is not None:
                yield page

        return SimpleNamespace(
            pages=pages,
            between=self.gated("index", "between", real.between),
            set_aside=self.gated("index", "set_aside", real.set_aside),
        )

    def gated(self, name: str, method: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a port whose calls pass the gate."""
        focus = next((one for one in self._foci if one.step == f"{name}.{method}"), None)

        def call(*args: object, **options: object) -> object:
            self.count += 1
            if self.count < self._look_at:
                return real(*args, **options)
            return self._look(name, method, partial(real, *args, **options))

        def hot_call(*args: object, **options: object) -> object:
            self.count += 1
            return self._look(name, method, partial(real, *args, **options), focus)

        return call if focus is None else hot_call

    def suspend(self, duration_ms: int) -> None:
        """Let the others act; whoever was killed meanwhile does not wake up."""
        kernel = self._kernel
        if kernel.current.batch is not None:
            kernel.current.batch.step_aside()
        kernel.suspend(duration_ms)
        kernel.current.check_alive(kernel.now)

    # --------------------------------------------------------------------------------------------------------- faults

    def _plan_next(self) -> None:
        self._next = self.count + 1 + int(self._draw.expovariate(1 / self._plan.fault_every))

    def _look(self, name: str, method: str, real: partial[Any], focus: Focus | None = None) -> Any:
        for spell in self._spells:
            if spell.what == name and self._spell_draw.random() < spell.share:
                self._kernel.current.is_healthy = False
                if method not in _READS and self._spell_draw.random() < 0.5:
                    real()
                raise UnavailableError(f"{name} is down")
        if focus and not self._is_quiet and self._draw.random() < focus.share:
            return self._strike(self._focused(focus), name, method, real)
        if self.count < self._next:
            return real()
        strike = self._script.get(self.count) or self._drawn(method)
        if self._script:
            self._next = min((number for number in self._script if number > self.count), default=NEVER)
        else:
            self._plan_next()
        self._look_at = 0 if self._spells else self._next
        return real() if strike is None else self._strike(strike, name, method, real)

    def _drawn(self, method: str) -> Strike | None:
        if self._script:
            return None
        weights = [_WEIGHTS[kind] for kind in self._actions]
        action = self._draw.choices(self._actions, weights)[0]
        if action in ("lost", "again") and method in _READS:
            return None
        if action == "part" and method not in _BATCHES:
            return None
        amount = self._pause_ms() if "pause" in action or action == "again" else self._draw.randrange(1, 1 << 30)
        return Strike(self.count, action, amount)

    def _focused(self, focus: Focus) -> Strike:
        is_pause = "pause" in focus.action
        return Strike(self.count, focus.action, self._draw.randrange(focus.most_ms if is_pause else 1 << 30))

    def _pause_ms(self) -> int:
        kind = self._draw.random()
        longest = 50 if kind < 0.5 else 3_000 if kind < 0.75 else 45_000 if kind < 0.92 else 600_000
        return self._draw.randrange(longest)

    def _strike(self, strike: Strike, name: str, method: str, real: partial[Any]) -> Any:
        self.struck.append(strike)
        actor = self._kernel.current
        if strike.action not in ("pause_before", "pause_after") or strike.amount > LONGEST_UNDISTURBED_MS:
            actor.is_healthy = False
        if self._trace:
            self._trace(
                "FAULT", f"{actor}", f"{strike.action} {strike.amount} at {name}.{method} (call {strike.number})"
            )
        match strike.action:
            case "crash_before":
                raise KilledError
            case "crash_after":
                real()
                raise KilledError
            case "down":
                raise UnavailableError(f"{name}.{method}")
            case "lost":
                real()
                raise UnavailableError(f"{name}.{method}: the answer was lost")
            case "again":
                real()
                self._pause(strike)
                return real()
            case "pause_before":
                self._pause(strike)
                return real()
            case "pause_after":
                result = real()
                self._pause(strike)
                return result
        return self._partly(strike, method, real)

    def _pause(self, strike: Strike) -> None:
        if self._kernel.asleep < MOST_ASLEEP:
            self.suspend(strike.amount)

    def _partly(self, strike: Strike, method: str, real: partial[Any]) -> Any:
        """Some claims of a batch were not answered for; some messages were refused, some accepted without an answer."""
        pick = draws(strike.amount)
        entries = [(entry, *pick.choice(_FATES)) for entry in real.args[0]]
        kept = [entry for entry, happens, _ in entries if happens]
        done = iter(real.func(kept, *real.args[1:]))
        if method == "claim_many":
            results = [(entry, next(done) if happens else None, is_told) for entry, happens, is_told in entries]
            return [result if is_told else ClaimRefused(entry, None) for entry, result, is_told in results]
        return [(next(done) if happens else False) and is_told for _, happens, is_told in entries]
