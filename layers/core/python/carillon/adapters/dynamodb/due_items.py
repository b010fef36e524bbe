"""What the due index shows, read strictly: a damaged entry becomes one that says so, and stops no neighbour."""

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, text
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.job_items import job_id_of
from carillon.adapters.dynamodb.run_items import run_key_of
from carillon.adapters.dynamodb.writes import key_of, setting, update
from carillon.domain.due import DueEntry, DueJob, DueRun, UnreadableEntry
from carillon.domain.job import JobState, Lane, Priority
from carillon.domain.run import RunState
from carillon.ports.errors import UnreadableItemError

LONGEST_REASON = 200


def due_entry(item: Item) -> DueEntry:
    """The entry in an item of the due index (or of the table)."""
    fields = Fields(item)
    try:
        match fields.text(k.KIND):
            case k.JOB_KIND | k.SEGMENT_KIND:
                return _due_job(fields)
            case k.RUN_KIND:
                return _due_run(fields)
            case _:
                raise fields.unreadable("of no known kind")
    except UnreadableItemError as error:
        return UnreadableEntry(item[k.PK]["S"], item[k.SK]["S"], int(item[k.SHARD]["N"]), str(error))


def _due_job(fields: Fields) -> DueJob:
    return DueJob(
        job_id=job_id_of(fields),
        tenant=fields.text(k.TENANT),
        shard=fields.number(k.SHARD),
        next_fire_time=fields.number(k.NEXT_FIRE_TIME),
        scheduled_for=fields.number(k.SCHEDULED_FOR),
        version=fields.number(k.VERSION),
        generation=fields.number(k.GENERATION),
        lane=fields.one_of(Lane, k.LANE),
        priority=fields.one_of(Priority, k.PRIORITY),
        schedule=fields.text(k.SCHEDULE),
        rules=fields.text(k.RULES),
        planned=fields.number(k.PLANNED),
        granted=fields.flag(k.GRANTED),
        segment=k.segment_in(fields.text(k.SK)),
    )


def _due_run(fields: Fields) -> DueRun:
    key = run_key_of(fields)
    return DueRun(
        job_id=key.job_id,
        name=key.name,
        tenant=fields.text(k.TENANT),
        shard=fields.number(k.SHARD),
        next_fire_time=fields.number(k.NEXT_FIRE_TIME),
        wait=fields.number(k.WAIT),
        generation=fields.number(k.GENERATION),
        lane=fields.one_of(Lane, k.LANE),
        priority=fields.one_of(Priority, k.PRIORITY),
        granted=fields.flag(k.GRANTED),
        state=fields.one_of(RunState, k.STATE),
    )


def set_item_aside(database: Database, pk: str, sk: str, reason: str) -> None:
    """Take an item that cannot be read out of the due index; it stays in the table, for a person to look at."""
    attributes = {k.STATE: text(JobState.ERROR), k.ERROR: text(reason[:LONGEST_REASON])}
    change, values = setting(attributes, removing=(k.SHARD, k.NEXT_FIRE_TIME, k.COUNTED))
    database.write(update(database.jobs, key_of(pk, sk), change, f"attribute_exists(#{k.SHARD})", values))
