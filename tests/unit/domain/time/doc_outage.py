"""The table of docs/time.md that tells what an outage does to a job, made by the decision that the dispatcher makes."""

from dataclasses import replace

from carillon.domain.instants import format_instant
from carillon.domain.job import Lane, MisfirePolicy, PlanningRules, Priority
from carillon.domain.planning import DueJob, decide
from carillon.domain.run import SkippedBlock
from carillon.domain.schedule import CronSchedule, encode
from tests.unit.domain.time.tables import utc

FIRST_MISSED, BACK = utc("2026-06-01T12:02"), utc("2026-06-01T12:31")
HOUR_MS = 3_600_000
RULES = {
    "`fire_once`, the default": PlanningRules(),
    "`fire_all`": PlanningRules(misfire=MisfirePolicy.FIRE_ALL),
    "`fire_all`, `max_catch_up` 3": PlanningRules(misfire=MisfirePolicy.FIRE_ALL, max_catch_up=3),
    "`skip`": PlanningRules(misfire=MisfirePolicy.SKIP),
    "any, `misfire_grace` `PT1H`": PlanningRules(misfire_grace_ms=HOUR_MS),
}
JOB = DueJob(
    job_id="job_01JABCDEFGHJKMNPQRSTVWXYZ0",
    tenant="acme",
    shard=0,
    next_fire_time=FIRST_MISSED,
    scheduled_for=FIRST_MISSED,
    version=1,
    generation=1,
    lane=Lane.SHORT,
    priority=Priority.NORMAL,
    schedule=encode(CronSchedule("*/2 * * * *")),
    rules="",
)


def after_an_outage() -> list[list[str]]:
    """What is made up for, left out and on time after half an hour, by rules; the first row is the head."""
    rows = [["rules", "made up for", "recorded as skipped", "on time", "next"]]
    for words, rules in RULES.items():
        plan = decide(replace(JOB, rules=rules.encode()), BACK, look_ahead_ms=0)
        sent = [one.scheduled_for for one in plan.sends]
        missed = [nominal for nominal in sent if nominal < BACK - rules.misfire_grace_ms]
        upcoming = "–" if plan.upcoming is None else clock(plan.upcoming.scheduled_for)
        skipped = ", ".join(map(block_text, plan.skips)) or "–"
        rows.append([words, span_text(missed), skipped, span_text(sent[len(missed) :]), upcoming])
    return rows


def span_text(times: list[int]) -> str:
    """A few times, or from which to which and how many."""
    if len(times) <= 3:
        return ", ".join(map(clock, times)) or "–"
    return f"{clock(times[0])} to {clock(times[-1])}: {len(times)}"


def block_text(block: SkippedBlock) -> str:
    """A record of occurrences that are skipped."""
    return f"{clock(block.first)} to {clock(block.last)}: {block.count} in one record"


def clock(instant_ms: int) -> str:
    """The time of day."""
    return format_instant(instant_ms)[11:16]
