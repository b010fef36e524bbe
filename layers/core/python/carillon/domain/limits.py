"""The limits of a tenant, each of which it has or has not."""

from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import ClassVar, Self

from carillon.domain.slots import Pace

LOWEST_RATE_MILLI, HIGHEST_RATE_MILLI = 1, 10_000_000
LOWEST_RATE, HIGHEST_RATE = Decimal("0.001"), Decimal(10_000)
LARGEST_BURST = 100_000
MOST_JOBS = 1_000_000_000
MOST_PAYLOAD_BYTES = 1024**3


class BadLimitError(ValueError):
    """The numbers make no limit; says which, and what is allowed."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How often something may be: thousandths of a time a second, and how often at once after a rest.

    Raises:
        BadLimitError: outside the bounds.
    """

    rate_milli: int
    burst: int

    NAME: ClassVar[str]
    WHAT: ClassVar[str]
    SECONDS_AT_ONCE: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not LOWEST_RATE_MILLI <= self.rate_milli <= HIGHEST_RATE_MILLI:
            raise self._out_of_bounds()
        if not 1 <= self.burst <= LARGEST_BURST:
            raise BadLimitError(f"the {self.NAME} burst is from 1 to {LARGEST_BURST} {self.WHAT}")

    @classmethod
    def per_second(cls, rate: Decimal, burst: int | None = None) -> Self:
        """The limit of so many a second, in steps of 0.001; at once as many as some seconds' worth unless said.

        Raises:
            BadLimitError: outside the bounds, or between the steps.
        """
        if not rate.is_finite():
            raise cls._between_the_steps()
        if not LOWEST_RATE <= rate <= HIGHEST_RATE:  # before any arithmetic: 1E+999999 has none
            raise cls._out_of_bounds()
        if rate != round(rate, 3):
            raise cls._between_the_steps()
        usual = min(LARGEST_BURST, max(1, ceil(rate * cls.SECONDS_AT_ONCE)))
        return cls(int(rate * 1000), usual if burst is None else burst)

    @classmethod
    def _out_of_bounds(cls) -> BadLimitError:
        return BadLimitError(f"the {cls.NAME} rate is from 0.001 to 10000 {cls.WHAT} a second")

    @classmethod
    def _between_the_steps(cls) -> BadLimitError:
        return BadLimitError(f"the {cls.NAME} rate has at most three decimals")


class DispatchLimit(RateLimit):
    """How fast runs may start."""

    __slots__ = ()
    NAME = "dispatch"
    WHAT = "runs"

    @property
    def pace(self) -> Pace:
        """The same as a pace of slots."""
        return Pace(round(1_000_000_000 / self.rate_milli), self.burst)


class CreateLimit(RateLimit):
    """How fast jobs may be created: at most `burst` in each stretch of `window_ms`."""

    __slots__ = ()
    NAME = "create"
    WHAT = "jobs"
    SECONDS_AT_ONCE = 10

    @property
    def window_ms(self) -> int:
        """The stretch of time in which so many may be created as at once."""
        return max(1, self.burst * 1_000_000 // self.rate_milli)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a tenant may; None: as much as it likes.

    Attributes:
        dispatch: how fast its runs may start.
        create: how fast it may create jobs.
        jobs: how many jobs it may have of which something is still planned.
        payload_bytes: how large the payload of a job may be, inline or uploaded.

    Raises:
        BadLimitError: outside the bounds.
    """

    dispatch: DispatchLimit | None = None
    create: CreateLimit | None = None
    jobs: int | None = None
    payload_bytes: int | None = None

    def __post_init__(self) -> None:
        _check("the limit of jobs is", self.jobs, MOST_JOBS, "jobs")
        _check("the limit of payloads is", self.payload_bytes, MOST_PAYLOAD_BYTES, "bytes")


def _check(what: str, value: int | None, most: int, unit: str) -> None:
    if value is not None and not 0 <= value <= most:
        raise BadLimitError(f"{what} from 0 to {most} {unit}")


NO_LIMITS = Limits()
