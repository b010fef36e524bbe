"""What plans have besides, each from draws of its own: so the rest of a seed's plan is what it would be without."""

from dataclasses import replace

from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import OneOff

from .plan import SECOND_MS, JobPlan, Plan, draws


def added(plan: Plan) -> Plan:
    """A plan with everything."""
    plan = _with_delays(plan)
    return plan if plan.is_calm else _with_corrections(_with_more_shards(plan))


def _instants(plan: Plan, what: str, counts: tuple[int, ...]) -> tuple[int, ...]:
    """So many instants (true clock) within the load."""
    draw = draws(f"{what} {plan.seed}")
    return tuple(plan.start_ms + draw.randrange(plan.length_ms) for _ in range(draw.choice(counts)))


def _with_delays(plan: Plan) -> Plan:
    """Jobs that run once, a second or two after the API has taken them: within every look-ahead."""
    at_ms = _instants(plan, "delays", (0, 0, 2, 6))
    first = max((job.number for job in plan.jobs), default=-1) + 1
    return replace(plan, jobs=(*plan.jobs, *(_delayed(first + n, at) for n, at in enumerate(at_ms))))


def _delayed(number: int, at_ms: int) -> JobPlan:
    delay_ms = (1 + number % 2) * SECOND_MS
    retry = RetryPolicy(max_attempts=3, base_ms=SECOND_MS, max_delay_ms=10_000)
    return JobPlan(number, at_ms, OneOff(at_ms + delay_ms), retry=retry, delay_ms=delay_ms)


def _with_more_shards(plan: Plan) -> Plan:
    """A deployment that raises the count of shards."""
    at_ms = _instants(plan, "shards", (0, 0, 0, 1))
    return replace(plan, more_shards=1 + plan.seed % 4, more_shards_at_ms=at_ms[0]) if at_ms else plan


def _with_corrections(plan: Plan) -> Plan:
    """Clocks that are set, forward and back."""
    return replace(plan, corrections_ms=_instants(plan, "clocks", (0, 0, 1, 4)))
