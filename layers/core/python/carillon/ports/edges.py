"""The edges of the world: time, names and randomness, figures."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The only source of the present."""

    def now_ms(self) -> int:
        """The present, epoch ms."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Let so much time pass."""
        ...


class Ids(Protocol):
    """The only source of randomness."""

    def job_id(self, now_ms: int) -> str:
        """A new job id."""
        ...

    def token(self) -> str:
        """A new unguessable name of a claim, a start or an owner: 26 characters."""
        ...

    def unit(self) -> float:
        """A draw in [0, 1)."""
        ...

    def secret_bytes(self, count: int) -> bytes:
        """Random bytes fit for keys."""
        ...


class Meter(Protocol):
    """Figures for operators. Names are stable; neither tenants nor jobs are ever a dimension. Groups are few."""

    def count(self, name: str, value: int = 1) -> None:
        """Add to a counter."""
        ...

    def observe_ms(self, name: str, value_ms: int) -> None:
        """Record a duration, ms."""
        ...

    def observe_group_ms(self, name: str, group: int, value_ms: int) -> None:
        """Record a duration of one shard group, ms."""
        ...
