"""Processes of the API whose calls of stores are counted, and that may die at one of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.api import ApiUnderTest

STORES = ("keys", "jobs", "runs", "requests", "destinations", "trail", "operation_queue")
STORES_ON_DEMAND = ("operations", "failure_targets")


class KilledError(BaseException):
    """The process is gone: nothing in it may handle this."""


@dataclass
class Life:
    """Counts the calls of stores, and ends at one of them: `behind` it has been carried out. At None it never ends."""

    ends_at: int | None = None
    behind: bool = False
    calls: list[str] = field(default_factory=list)

    def watch(self, port: Any, name: str) -> Any:
        """A store whose calls count."""
        return _Watched(port, name, self)

    def call(self, name: str, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """One call."""
        self.calls.append(name)
        is_last = len(self.calls) - 1 == self.ends_at
        if is_last and not self.behind:
            raise KilledError
        answer = method(*arguments, **options)
        if is_last:
            raise KilledError
        return answer


class _Watched:
    def __init__(self, port: Any, name: str, life: Life) -> None:
        self._port, self._name, self._life = port, name, life

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._port, name)
        if not callable(attribute):
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            return self._life.call(f"{self._name}.{name}", attribute, *arguments, **options)

        return call


def living(api: ApiUnderTest, life: Life) -> None:
    """Let the API be served by a process of this life."""
    stores = {name: life.watch(getattr(api.world, name), name) for name in STORES}
    late = {name: lambda name=name: life.watch(getattr(api.world, name), name) for name in STORES_ON_DEMAND}
    api.handle = api.build(**stores, **late)
