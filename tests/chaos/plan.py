"""What a seed stands for: the jobs, what is done to them, the faults, and when processes are killed.

When things happen depends on the machine: a seed repeats what is tried, not how it goes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.simulation.history import EditKind
from tests.simulation.plan import draws

from .history import CATCHING_UP, RESUMES

Json = dict[str, Any]
RECURRING = 9
CRONS = 3
ONE_OFFS_A_SECOND = 1.0
EDITS_A_MINUTE = 3.0
"""Of each recurring job. No job may be edited more than 49 times."""

KILL_EVERY_SECONDS = 4.0
VICTIMS = ("WorkerFunction",) * 5 + ("DispatcherFunction",) * 4 + ("ApiFunction", "LongWorkerFunction")


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a client does to a job, so many seconds after the begin."""

    at_s: float
    kind: EditKind
    patch: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A job: when it is created, as what, and what is done to it in turn."""

    number: int
    at_s: float
    definition: Json
    acts: tuple[Act, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault: of what kind it is, at what share of which calls, and when (seconds from the begin; None: always)."""

    kind: str
    share: float
    fault: Mapping[str, Any]
    service: str
    operation: str | None = None
    between_s: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Kill:
    """A process of a function that is killed, by the key of the function's name among the stack's outputs."""

    at_s: float
    function: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is done in a run."""

    seed: int
    seconds: float
    scripts: tuple[Script, ...]
    rules: tuple[Rule, ...]
    kills: tuple[Kill, ...]


def plan_of(seed: int, seconds: float, url: str) -> Plan:
    """The plan of a seed, for a run of so many seconds against a receiver."""
    draw = draws(f"chaos {seed}")
    scripts = tuple(_scripts(draw, seconds, url))
    for script in scripts:
        script.definition["name"] = f"chaos-{seed}-{script.number}"
    return Plan(
        seed=seed,
        seconds=seconds,
        scripts=scripts,
        rules=(*_spells(draw, seconds), *STEADY),
        kills=tuple(_kills(draw, seconds)),
    )


# ---------------------------------------------------------------------------------------------------------------- jobs


def _scripts(draw: Random, seconds: float, url: str) -> Iterator[Script]:
    for number in range(RECURRING):
        yield _recurring(draw, number, seconds, {"every": f"PT{draw.randint(2, 6)}S"}, url)
    for number in range(RECURRING, RECURRING + CRONS):
        yield _recurring(draw, number, seconds, {"cron": "* * * * *"}, url)
    first = RECURRING + CRONS
    for number in range(first, first + round(ONE_OFFS_A_SECOND * seconds)):
        yield _one_off(draw, number, seconds, url)


def _recurring(draw: Random, number: int, seconds: float, schedule: Json, url: str) -> Script:
    at_s = draw.uniform(0, seconds * 0.2)
    definition = _definition(draw, number, schedule, url)
    definition |= draw.choice(({}, {"misfire_policy": "fire_all", "misfire_grace": "PT5S"}, {"window": "PT3S"}))
    definition["labels"] = {RESUMES: draw.choice((CATCHING_UP, "from-now"))}
    times = sorted(draw.uniform(at_s + 3, seconds) for _ in range(round(EDITS_A_MINUTE * seconds / 60)))
    return Script(number, at_s, definition, tuple(_edit(draw, at_s, "every" in schedule) for at_s in times))


def _edit(draw: Random, at_s: float, is_interval: bool) -> Act:  # noqa: FBT001 - a fact of the job
    kinds = [EditKind.PAUSE, EditKind.RESUME, EditKind.TRIGGER, EditKind.CHANGE]
    kind = draw.choices(kinds, (3, 3, 2, 3 if is_interval else 0))[0]
    patches: tuple[Json, ...] = (
        {"schedule": {"every": f"PT{draw.randint(2, 6)}S"}},
        {"window": f"PT{draw.randint(0, 4)}S"},
        {"priority": draw.choice(("high", "normal", "low"))},
    )
    return Act(at_s, kind, draw.choice(patches) if kind is EditKind.CHANGE else None)


def _one_off(draw: Random, number: int, seconds: float, url: str) -> Script:
    at_s, delay_s = draw.uniform(0, seconds), draw.randint(1, 25)
    definition = _definition(draw, number, {"delay": f"PT{delay_s}S"}, url)
    if draw.random() < 0.1:
        definition["deadline"] = "PT30S"
    kinds = (EditKind.CANCEL, EditKind.PAUSE, EditKind.TRIGGER)
    chance = draw.random()
    acts = (Act(at_s + draw.uniform(0, delay_s + 2), draw.choice(kinds)),) if chance < 0.25 else ()
    return Script(number, at_s, definition, acts)


def _definition(draw: Random, number: int, schedule: Json, url: str) -> Json:
    timeout = draw.choices(("PT2S", "PT10S", "PT2M"), (6, 3, 1))[0]
    return {
        "schedule": schedule,
        "target": {"type": "http", "url": url, "timeout": timeout},
        "payload": {"number": number},
        "priority": draw.choices(("high", "normal", "low"), (2, 5, 2))[0],
        "retry": {"max_attempts": draw.choices((1, 2, 5, 8), (1, 1, 5, 3))[0], "base": "PT1S", "max_delay": "PT4S"},
    }


# -------------------------------------------------------------------------------------------------------------- faults

LOST = {"response": {"abort_bytes": 0}}
"""The request is done, and its answer is lost."""

RESET = {"reset": True}
THROTTLED = {"error": {"code": "ThrottlingException", "status": 400}}
OVERRUN = {"error": {"code": "ProvisionedThroughputExceededException", "status": 400}}
BROKEN = {"error": {"code": "InternalServerError", "status": 500}}
SLOW = {"latency": {"min": 50, "max": 900}}
STUCK = {"latency": {"min": 3_000, "max": 7_000}}
"""Partly longer than a client waits: then the request is done all the same."""

STEADY = (
    Rule("throttled", 0.015, OVERRUN, "dynamodb"),
    Rule("reset", 0.01, RESET, "dynamodb"),
    Rule("lost", 0.015, LOST, "dynamodb"),
    Rule("broken", 0.005, BROKEN, "dynamodb"),
    Rule("slow", 0.03, SLOW, "dynamodb"),
    Rule("throttled", 0.02, THROTTLED, "sqs"),
    Rule("reset", 0.02, RESET, "sqs"),
    Rule("lost", 0.06, LOST, "sqs"),
    Rule("slow", 0.05, SLOW, "sqs"),
    Rule("throttled", 0.05, THROTTLED, "kms"),
    Rule("reset", 0.05, RESET, "kms"),
    Rule("lost", 0.05, LOST, "kms"),
)

SPELLS = (
    Rule("lost", 0.5, LOST, "sqs", "SendMessageBatch"),
    Rule("reset", 0.95, RESET, "sqs"),
    Rule("throttled", 0.7, OVERRUN, "dynamodb"),
    Rule("lost", 0.5, LOST, "dynamodb", "UpdateItem"),
    Rule("lost", 0.5, LOST, "dynamodb", "PutItem"),
    Rule("lost", 0.5, LOST, "dynamodb", "TransactWriteItems"),
    Rule("reset", 0.6, RESET, "dynamodb"),
    Rule("stuck", 0.5, STUCK, "dynamodb"),
    Rule("throttled", 0.9, THROTTLED, "kms"),
)
SPELL_SECONDS = (2.0, 6.0)
SPELL_EVERY_SECONDS = 9.0


def _spells(draw: Random, seconds: float) -> Iterator[Rule]:
    """Short times in which much of one thing goes wrong: each kind comes before any comes again."""
    at_s, bag = draw.uniform(2, SPELL_EVERY_SECONDS), list[Rule]()
    while at_s < seconds:
        bag = bag or draw.sample(SPELLS, len(SPELLS))
        one, until_s = bag.pop(), min(at_s + draw.uniform(*SPELL_SECONDS), seconds)
        yield Rule(one.kind, one.share, one.fault, one.service, one.operation, (at_s, until_s))
        at_s += draw.uniform(0.5, 1.5) * SPELL_EVERY_SECONDS


def _kills(draw: Random, seconds: float) -> Iterator[Kill]:
    at_s = draw.uniform(1, KILL_EVERY_SECONDS)
    while at_s < seconds:
        yield Kill(at_s, draw.choice(VICTIMS))
        at_s += draw.expovariate(1 / KILL_EVERY_SECONDS)
