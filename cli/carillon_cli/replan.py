"""`carillon replan`: plans anew what older zone rules have planned, with the operator's AWS credentials."""

from collections.abc import Mapping
from dataclasses import asdict

import click

from carillon.application.edit_job import EditJob
from carillon.application.replan import Move, Replan, ReplanCounts
from carillon.domain.instants import DAY_MS, format_instant
from carillon.domain.zones import zone_data_version
from carillon.ports.errors import UnavailableError
from carillon_cli.aws import AwsUnreachableError, Place, as_one_line, output, outputs_of, uses_stack
from carillon_cli.config import json_option
from carillon_cli.output import REFUSED, note, print_json, print_table

# ruff: noqa: PLC0415 - botocore takes longer to import than most commands take: only who talks to AWS loads it

_COLUMNS = ("JOB", "TENANT", "SCHEDULE", "WAS", "IS")
_RETENTION_MS = 30 * DAY_MS
"""Of ended jobs: no job ends by being planned anew, so it does not matter which."""


@click.command("replan")
@click.option("--dry-run", is_flag=True, help="Only list what would be moved.")
@uses_stack
@json_option
def replan(place: Place, *, dry_run: bool, as_json: bool) -> None:
    """Plan jobs anew whose next run is no longer what the rules of their zone give.

    To be run after an update of the zone data: from the same version of Carillon that is deployed, because the rules
    are those of this command's own package. Each job moves only if it has not changed meanwhile. A run that is past by
    the new rules, or has runs before it on their way, keeps its time. Leaves with 1 when a job is still to be moved.
    """
    walk, counts = _walk_of(place, outputs_of(place)), ReplanCounts()
    with as_one_line():
        try:
            moves = list(walk(counts, dry_run=dry_run))
        except UnavailableError as error:
            raise AwsUnreachableError(f"AWS does not answer: {error}") from error
    if as_json:
        print_json(
            {"zone_data": zone_data_version(), "dry_run": dry_run, "moved": [*map(_shown, moves)], **_rest(counts)}
        )
    else:
        _print_for_people(moves, counts, dry_run=dry_run)
    if not dry_run and (counts.sent_ahead or counts.failed):
        raise click.exceptions.Exit(REFUSED)


def _print_for_people(moves: list[Move], counts: ReplanCounts, *, dry_run: bool) -> None:
    if moves:
        print_table(_COLUMNS, [tuple(_shown(move).values()) for move in moves])
    moved = "to be moved" if dry_run else "moved"
    note(f"zone data {zone_data_version()}: {counts.cron_jobs} cron jobs, {counts.moved} {moved}")
    for name, meaning in _MEANINGS.items():
        if count := getattr(counts, name):
            note(f"{count} {meaning}")


_MEANINGS = {
    "sent_ahead": "left, because runs before the next one are on their way: run this again in a minute",
    "failed": "left, because they were edited too often lately or kept changing: run this again later",
    "unreadable": "not readable, by these rules or at all: look at the jobs in the state error",
}


def _shown(move: Move) -> dict[str, str]:
    return {
        "job_id": move.job_id,
        "tenant": move.tenant,
        "schedule": f"{move.schedule.expression} {move.schedule.timezone}",
        "was": format_instant(move.from_ms),
        "is": format_instant(move.to_ms),
    }


def _rest(counts: ReplanCounts) -> dict[str, int]:
    return {name: count for name, count in asdict(counts).items() if name != "moved"}


def _walk_of(place: Place, outputs: Mapping[str, str]) -> Replan:
    """The walk over the tables of a stack."""
    from carillon.adapters.aws import new_client
    from carillon.adapters.dynamodb.control import DynamoShardLedger
    from carillon.adapters.dynamodb.database import Database
    from carillon.adapters.dynamodb.due import DynamoDueIndex
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.adapters.dynamodb.runs import DynamoRunStore
    from carillon.adapters.system import SystemClock

    tables = output(outputs, "JobsTable"), output(outputs, "ControlTable")
    with as_one_line():
        client = new_client(place.session(), "dynamodb", endpoint_url=place.endpoint_url)
    database = Database(client, *tables)
    jobs = DynamoJobStore(database)
    edit = EditJob(jobs, DynamoRunStore(database), _RETENTION_MS)
    return Replan(DynamoDueIndex(database), jobs, edit, DynamoShardLedger(database), SystemClock())
