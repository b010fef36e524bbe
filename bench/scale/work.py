"""What is due in the model, and what it costs, told by the code that decides it: nothing here is assumed of a decision.

Jobs have ids as the API makes them, so that their shards are those of real jobs. A sample of them goes through
`decide`; what the plans ask for gives the units of a dispatch.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from statistics import mean

from bench.scale import facts
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import size_of
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.spec_items import spec_item
from carillon.adapters.sqs.batches import MOST_ENTRIES
from carillon.adapters.store_rules import due_job
from carillon.domain.identity import MOST_SHARDS, RunKey, shard_of, ulid
from carillon.domain.instants import DAY_MS
from carillon.domain.job import Definition, HttpTarget, Job, JobSpec, JobState, Lane, PlanningRules, Priority, Revision
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.planning import Plan, decide, fire_time
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import CronSchedule, OneOff, encode

DUE_MS = 1_796_083_200_000
"""A midnight in UTC: 2026-12-01."""

CREATED_MS = DUE_MS - 30 * DAY_MS
HASHED = 100_000
"""Ids that are hashed; larger counts are spread like these: a little less evenly than they would be."""

SAMPLE = 500
DAILY = encode(CronSchedule("0 0 * * *", "UTC", "shift", "first"))
ONCE = encode(OneOff(DUE_MS))


@dataclass(frozen=True)
class Cost:
    """What dispatching one job asks for, on average over the sample.

    Attributes:
        sends: messages.
        table_writes: write units of claim and confirm.
        index_writes: write units in the due index.
    """

    sends: float
    table_writes: float
    index_writes: float


@dataclass(frozen=True)
class Sizes:
    """Bytes, as DynamoDB and SQS count them."""

    job: int
    spec: int
    entry: int
    message: int

    @property
    def entries_of_a_page(self) -> int:
        """How many entries a query's page holds."""
        return facts.PAGE_BYTES // self.entry


def job_id(number: int) -> str:
    """The id of a job that was created like any other: by time, and 80 bits that nobody chose."""
    scattered = (number * 0x9E3779B97F4A7C15F39CC0605CEDC835 + 1) % 2**80
    return "job_" + ulid(CREATED_MS + number // 10, scattered.to_bytes(10, "big"))


@cache
def _hashed(count: int) -> Counter[int]:
    return Counter(shard_of(job_id(number), MOST_SHARDS) for number in range(count))


@cache
def shares(shards: int, hashed: int = HASHED) -> tuple[float, ...]:
    """Which share of all jobs lives in each shard."""
    if MOST_SHARDS % shards:
        counts = Counter(shard_of(job_id(number), shards) for number in range(hashed))
    else:  # the same hash by a divisor: no need to hash all ids again
        counts = Counter()
        for slot, count in _hashed(hashed).items():
            counts[slot % shards] += count
    return tuple(counts[shard] / hashed for shard in range(shards))


def a_job(number: int, schedule: str, rules: PlanningRules | None = None) -> Job:
    """A job that is due at that midnight."""
    own = job_id(number)
    rules = rules or PlanningRules()
    return Job(
        id=own,
        tenant=f"tenant-{number % 50}",
        state=JobState.SCHEDULED,
        schedule=schedule,
        rules=rules.encode(),
        shard=shard_of(own, 64),
        lane=Lane.SHORT,
        priority=Priority.NORMAL,
        version=7,
        generation=1,
        created_at=CREATED_MS,
        scheduled_for=DUE_MS,
        next_fire_time=fire_time(own, rules, DUE_MS),
        planned=6,
    )


def plans(schedule: str, decided_at: int, look_ahead_ms: int) -> list[Plan]:
    """The plans of a sample of jobs with one schedule, as of an instant (epoch ms)."""
    entries = [due_job(a_job(number, schedule)) for number in range(SAMPLE)]
    return [decide(entry, decided_at, look_ahead_ms) for entry in entries if entry]


@cache
def cost_of(schedule: str, decided_at: int, look_ahead_ms: int) -> Cost:
    """What a sample of jobs with one schedule asks for, as of an instant (epoch ms)."""
    made = plans(schedule, decided_at, look_ahead_ms)
    return Cost(
        sends=mean(len(plan.sends) for plan in made),
        table_writes=1 + mean(_confirm_writes(plan) for plan in made),
        index_writes=mean(facts.INDEX_MOVE_WRITES if plan.upcoming else facts.INDEX_REMOVAL_WRITES for plan in made),
    )


def _confirm_writes(plan: Plan) -> int:
    """Records of skipped occurrences go into one transaction with the confirm."""
    return facts.TRANSACTION_FACTOR * (1 + len(plan.skips)) if plan.skips else 1


@cache
def sizes() -> Sizes:
    """The sizes of a typical job and of its message."""
    job = a_job(0, DAILY)
    item = job_item(job)
    in_index = {name: item[name] for name in (k.PK, k.SK, k.SHARD, k.NEXT_FIRE_TIME, *k.DUE_PROJECTION) if name in item}
    return Sizes(
        job=size_of(item),
        spec=size_of(spec_item(_definition(job).spec)),
        entry=size_of(in_index),
        message=len(_message(job).encode()),
    )


def queue_chunks() -> int:
    """For how many requests a batch of messages is billed."""
    return -(-MOST_ENTRIES * sizes().message // facts.QUEUE_CHUNK_BYTES)


def _definition(job: Job) -> Definition:
    spec = JobSpec(
        job_id=job.id,
        tenant=job.tenant,
        target=HttpTarget("https://hooks.example.net/callbacks/nightly"),
        retry=RetryPolicy(),
        revisions=(Revision(1, 0),),
        revision=1,
        created_at=CREATED_MS,
        updated_at=CREATED_MS,
        name="nightly-report",
        labels={"team": "billing"},
        payload=b"x" * 400,
    )
    return Definition(job, spec)


def _message(job: Job) -> WorkMessage:
    return WorkMessage(
        kind=MessageKind.FIRST,
        key=RunKey.of(job.id, DUE_MS),
        tenant=job.tenant,
        due_ms=DUE_MS,
        generation=job.generation,
        wait=0,
        claim_id=ulid(DUE_MS, b"0123456789"),
    )
