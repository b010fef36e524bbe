"""The hot half of a job as an item."""

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import TRUE, Fields, Item, number, text
from carillon.adapters.dynamodb.writes import key_of
from carillon.domain.identity import is_job_id
from carillon.domain.job import ClaimLease, Job, JobState, Lane, Priority
from carillon.ports.errors import UnreadableItemError

LEASE_ATTRIBUTES = (k.LEASE_EPOCH, k.LEASE_UNTIL, k.CLAIM_ID, k.DECIDED_AT)
OPTIONAL_ATTRIBUTES = (
    k.SHARD,
    k.NEXT_FIRE_TIME,
    k.SCHEDULED_FOR,
    k.PLANNED_UNTIL,
    k.GRANTED,
    k.ERROR,
    k.EXPIRES_AT,
    k.HAS_OBJECTS,
    k.COUNTED,
)


def job_key(job_id: str, segment: int | None = None) -> Item:
    """The key of the hot half of a job, or of a segment of it."""
    return key_of(k.job_pk(job_id), k.plan_sk(segment))


def job_item(job: Job) -> Item:
    """The item of a job. It is in the due index while it has a next fire time."""
    item = job_key(job.id, job.segment) | {
        k.KIND: text(k.JOB_KIND if job.segment is None else k.SEGMENT_KIND),
        k.TENANT: text(job.tenant),
        k.STATE: text(job.state),
        k.SCHEDULE: text(job.schedule),
        k.RULES: text(job.rules),
        k.HOME_SHARD: number(job.shard),
        k.LANE: text(job.lane),
        k.PRIORITY: text(job.priority),
        k.VERSION: number(job.version),
        k.GENERATION: number(job.generation),
        k.CREATED_AT: number(job.created_at),
        k.PLANNED: number(job.planned),
        **lease_attributes(job.lease),
    }
    if job.next_fire_time is not None:
        item |= {k.SHARD: number(job.shard), k.NEXT_FIRE_TIME: number(job.next_fire_time)}
    if job.scheduled_for is not None:
        item[k.SCHEDULED_FOR] = number(job.scheduled_for)
    if job.planned_until:
        item[k.PLANNED_UNTIL] = number(job.planned_until)
    if job.granted:
        item[k.GRANTED] = TRUE
    if job.has_objects:
        item[k.HAS_OBJECTS] = TRUE
    if job.counted is not None:
        item[k.COUNTED] = number(job.counted)
    if job.error is not None:
        item[k.ERROR] = text(job.error)
    if job.expires_at is not None:
        item[k.EXPIRES_AT] = number(job.expires_at)
    return item


def lease_attributes(lease: ClaimLease) -> Item:
    """The attributes of a claim: none of them is in an index."""
    return {
        k.LEASE_EPOCH: number(lease.epoch),
        k.LEASE_UNTIL: number(lease.until),
        k.CLAIM_ID: text(lease.claim_id),
        k.DECIDED_AT: number(lease.decided_at),
    }


def job_of(item: Item) -> Job:
    """The job in an item.

    Raises:
        UnreadableItemError: it is damaged.
    """
    fields = Fields(item)
    return Job(
        id=job_id_of(fields),
        tenant=fields.text(k.TENANT),
        state=fields.one_of(JobState, k.STATE),
        schedule=fields.text(k.SCHEDULE),
        rules=fields.text(k.RULES),
        shard=fields.number(k.HOME_SHARD),
        lane=fields.one_of(Lane, k.LANE),
        priority=fields.one_of(Priority, k.PRIORITY),
        version=fields.number(k.VERSION),
        generation=fields.number(k.GENERATION),
        created_at=fields.number(k.CREATED_AT),
        scheduled_for=fields.number_or_none(k.SCHEDULED_FOR),
        next_fire_time=fields.number_or_none(k.NEXT_FIRE_TIME),
        planned=fields.number(k.PLANNED),
        planned_until=fields.number_or_none(k.PLANNED_UNTIL) or 0,
        segment=k.segment_in(fields.text(k.SK)),
        granted=fields.flag(k.GRANTED),
        lease=ClaimLease(
            epoch=fields.number(k.LEASE_EPOCH),
            until=fields.number(k.LEASE_UNTIL),
            claim_id=fields.text(k.CLAIM_ID),
            decided_at=fields.number(k.DECIDED_AT),
        ),
        error=fields.text_or_none(k.ERROR),
        expires_at=fields.number_or_none(k.EXPIRES_AT),
        has_objects=fields.flag(k.HAS_OBJECTS),
        counted=fields.number_or_none(k.COUNTED),
    )


def job_if_readable(item: Item | None) -> Job | None:
    """The job in an item, or None when there is none or it is damaged."""
    try:
        return None if item is None else job_of(item)
    except UnreadableItemError:
        return None


def job_id_of(fields: Fields) -> str:
    """The job that an item of the jobs table belongs to.

    Raises:
        UnreadableItemError: its key names none.
    """
    job_id = k.job_id_in(fields.text(k.PK))
    if job_id is None or not is_job_id(job_id):
        raise fields.unreadable("the key names no job")
    return job_id
