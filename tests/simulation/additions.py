"""What plans have besides, each from draws of its own: so the rest of a seed's plan is what it would be without."""

from dataclasses import replace
from random import Random

from carillon.domain.job import Completion, MisfirePolicy, PlanningRules, Priority
from carillon.domain.limits import DispatchLimit
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import CronSchedule, Every, OneOff
from carillon.domain.slots import Pace

from .actors import LIMITED
from .history import EditKind
from .plan import (
    MINUTE_MS,
    SECOND_MS,
    AskKind,
    AskPlan,
    EditPlan,
    JobPlan,
    LaterPlan,
    Plan,
    TargetPlan,
    ZoneChange,
    draws,
)

_ZONE_CHANGES = (("Asia/Kathmandu", "Asia/Kolkata"), ("Asia/Kolkata", "Asia/Kathmandu"))
"""A quarter of an hour apart, as Nepal moved in 1986: no interval below has two twins equally near."""

_SPARSE_CRONS = ("*/12 * * * *", "*/20 * * * *", "7,27,47 * * * *", "*/4 * * * *")


def added(plan: Plan) -> Plan:
    """A plan with everything."""
    plan = _with_completions(_with_rates(_with_asks(_with_delays(plan))))
    return plan if plan.is_calm else _with_zone_change(_with_corrections(_with_more_shards(plan)))


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


def _with_asks(plan: Plan) -> Plan:
    """Single runs are cancelled, and dead letters redriven."""
    draw = draws(f"asks of {plan.seed}")
    asks = (
        AskPlan(
            job=draw.choice(plan.jobs).number,
            at_ms=at_ms,
            kind=draw.choice(tuple(AskKind)),
            share=draw.random(),
            client=draw.randrange(2),
        )
        for at_ms in (_instants(plan, "asks", (0, 0, 10, 40)) if plan.jobs else ())
    )
    return replace(plan, asks=tuple(asks))


def _with_more_shards(plan: Plan) -> Plan:
    """A deployment that raises the count of shards."""
    at_ms = _instants(plan, "shards", (0, 0, 0, 1))
    return replace(plan, more_shards=1 + plan.seed % 4, more_shards_at_ms=at_ms[0]) if at_ms else plan


def _with_corrections(plan: Plan) -> Plan:
    """Clocks that are set, forward and back."""
    return replace(plan, corrections_ms=_instants(plan, "clocks", (0, 0, 1, 4)))


def _with_rates(plan: Plan) -> Plan:
    """A tenant that asks for more than its dispatch rate, beside the others; and late runs of all that are paced."""
    draw = draws(f"rates {plan.seed}")
    if draw.random() < 0.2:
        plan = replace(plan, catch_up=Pace(draw.choice((20_000, 200_000, 1_000_000)), 1))
    if draw.random() < 0.8:
        return plan
    first = max((job.number for job in plan.jobs), default=-1) + 1
    jobs = tuple(_limited(first + n, plan, draw) for n in range(draw.randint(1, 4)))
    return replace(
        plan, limit=DispatchLimit(draw.choice((100, 500, 3_000)), draw.choice((1, 1, 3))), jobs=(*plan.jobs, *jobs)
    )


def _limited(number: int, plan: Plan, draw: Random) -> JobPlan:
    interval_ms = draw.choice((1, 3, 10)) * SECOND_MS
    at_ms = plan.start_ms + draw.randrange(plan.length_ms // 2)
    end_ms = min(at_ms + 200 * interval_ms, plan.end_ms)
    return JobPlan(
        number,
        at_ms,
        draw.choice((OneOff(at_ms + 5_000), Every(interval_ms, at_ms, None, end_ms))),
        PlanningRules(draw.choice(tuple(MisfirePolicy)), draw.choice((0, 5_000, 60_000)), draw.choice((1, 20, 100))),
        retry=RetryPolicy(max_attempts=3, base_ms=SECOND_MS, max_delay_ms=10_000),
        priority=draw.choice(tuple(Priority)),
        target=TargetPlan(fails=draw.choice((0.0, 0.1)), statuses=(503,)),
        tenant=LIMITED,
    )


def _with_completions(plan: Plan) -> Plan:
    """Jobs whose targets accept, and complete later; some of their runs are cancelled and redriven meanwhile."""
    draw = draws(f"completions {plan.seed}")
    if draw.random() < 0.75:
        return plan
    first = max((job.number for job in plan.jobs), default=-1) + 1
    jobs = tuple(_completing(first + n, plan, draw) for n in range(draw.randint(1, 3)))
    edits = tuple(
        EditPlan(draw.choice(jobs).number, plan.start_ms + draw.randrange(plan.length_ms), kind, client=1)
        for kind in draw.sample((EditKind.PAUSE, EditKind.RESUME, EditKind.TRIGGER, EditKind.CANCEL), 2)
    )
    asks = tuple(
        AskPlan(draw.choice(jobs).number, plan.start_ms + draw.randrange(plan.length_ms), kind, draw.random())
        for kind in draw.choices(tuple(AskKind), k=draw.choice((0, 5, 20)))
    )
    return replace(plan, jobs=(*plan.jobs, *jobs), edits=(*plan.edits, *edits), asks=(*plan.asks, *asks))


def _completing(number: int, plan: Plan, draw: Random) -> JobPlan:
    interval_ms = draw.choice((2, 10, 30)) * SECOND_MS
    at_ms = plan.start_ms + draw.randrange(plan.length_ms // 2)
    end_ms = min(at_ms + 60 * interval_ms, plan.end_ms)
    heartbeat_ms = draw.choice((None, 5_000, 20_000))
    timeout_ms = draw.choice((10_000, 60_000, 200_000))
    later = LaterPlan(
        most_ms=round(timeout_ms * draw.choice((0.1, 0.8, 1.4))),
        silent=draw.choice((0.0, 0.1, 0.5)),
        fails=draw.choice((0.0, 0.3)),
        beats_every_ms=None if heartbeat_ms is None else round(heartbeat_ms * draw.choice((0.4, 0.95))),
    )
    recurring = Every(interval_ms, at_ms, None, end_ms)
    kills = draw.choice((0.0, 0.02))
    return JobPlan(
        number,
        at_ms,
        draw.choice((OneOff(at_ms + 5_000), recurring, recurring)),
        PlanningRules(draw.choice(tuple(MisfirePolicy)), draw.choice((0, 5_000, 60_000)), draw.choice((1, 20, 100))),
        retry=RetryPolicy(max_attempts=draw.choice((1, 3, 3)), base_ms=SECOND_MS, max_delay_ms=10_000),
        target=TargetPlan(
            fails=draw.choice((0.0, 0.1)),
            kills=0.0 if plan.is_calm else kills,
            slow=0.2,
            slow_ms=2_000,
            later=later,
        ),
        completion=Completion(timeout_ms, heartbeat_ms),
    )


def _with_zone_change(plan: Plan) -> Plan:
    """Jobs in a zone whose rules change in the middle, with nothing else about them that could excuse a gap."""
    draw = draws(f"zones {plan.seed}")
    if plan.length_ms < 20 * MINUTE_MS or draw.random() < 0.7:
        return plan
    at_ms = plan.start_ms + round(plan.length_ms * draw.uniform(0.2, 0.7))
    change = ZoneChange(*draw.choice(_ZONE_CHANGES), at_ms, draw.randrange(1_000, 60_000))
    first = max((job.number for job in plan.jobs), default=-1) + 1
    schedules = [
        CronSchedule(expression, change.zone, end_ms=plan.end_ms) for expression in draw.sample(_SPARSE_CRONS, 3)
    ]
    rules = PlanningRules(misfire=MisfirePolicy.FIRE_ALL, misfire_grace_ms=60 * MINUTE_MS, max_catch_up=100)
    jobs = (JobPlan(first + n, plan.start_ms, schedule, rules) for n, schedule in enumerate(schedules))
    return replace(plan, zone_change=change, jobs=(*plan.jobs, *jobs))
