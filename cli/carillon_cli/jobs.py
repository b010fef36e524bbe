"""`carillon jobs`: create, apply, list, show, change, pause, resume, trigger, cancel and import jobs, one or many."""

from collections.abc import Mapping
from typing import Any

import click

from carillon.client import Client
from carillon_cli.config import Service, uses_service
from carillon_cli.definition import (
    SCHEDULE_OPTIONS,
    TARGET_OPTIONS,
    definition_text,
    encoded,
    schedule_of,
    settings_of,
    with_options,
)
from carillon_cli.importing.command import import_jobs
from carillon_cli.job_apply import apply
from carillon_cli.job_output import print_job, schedule_text
from carillon_cli.job_update import update
from carillon_cli.listing import list_options, print_page
from carillon_cli.operations import bulk
from carillon_cli.output import print_fields, print_json
from carillon_cli.payload_files import payload_of, payload_options

_STATES = ("scheduled", "dispatched", "paused", "completed", "cancelled", "error")
_COLUMNS = ("ID", "NAME", "STATE", "SCHEDULE", "NEXT FIRE", "TARGET")


@click.group()
def jobs() -> None:
    """Create, apply, list, show, change, pause, resume, trigger, cancel and import jobs."""


jobs.add_command(apply)
jobs.add_command(bulk)
jobs.add_command(import_jobs)
jobs.add_command(update)


@jobs.command()
@click.option("--name", help="A name, unique among your jobs.")
@with_options(SCHEDULE_OPTIONS)
@with_options(TARGET_OPTIONS)
@click.option("--payload", metavar="JSON|@FILE", help="The body of the call; @FILE or @- reads it.")
@payload_options
@click.option("--from-file", metavar="FILE|-", help="The whole definition as JSON, instead of the flags above.")
@click.option("--idempotency-key", metavar="KEY", help="A repeat with the same key gives the first answer again.")
@uses_service(url_is_target=True)
def create(service: Service, from_file: str | None, idempotency_key: str | None, **flags: Any) -> None:
    """Create a job.

    \b
    carillon jobs create --delay 10s --url https://svc.example.com/hook --payload '{"n": 1}'
    carillon jobs create --every 1h --queue https://sqs.eu-west-1.amazonaws.com/111122223333/q --payload '{"n": 1}'
    carillon jobs create --delay 1m --url https://svc.example.com/images --payload-file logo.png
    carillon jobs create --name nightly --cron "0 2 * * *" --timezone Asia/Kolkata --url https://svc.example.com/backup
    """  # noqa: D301 - click reads \b as "keep these lines"
    body = _from_flags(service.client, flags) if from_file is None else definition_text(from_file, flags).encode()
    print_job(service.client.create_job(body, idempotency_key=idempotency_key), as_json=service.as_json)


@jobs.command("list")
@click.option("--state", type=click.Choice(_STATES), help="Only jobs in this state.")
@click.option("--label", metavar="KEY=VALUE", help="Only jobs with this label.")
@click.option("--name-prefix", metavar="TEXT", help="Only jobs whose name begins so.")
@list_options
@uses_service()
def list_jobs(service: Service, most: int | None, cursor: str | None, label: str | None, **filters: str | None) -> None:
    """List jobs, newest first."""
    wanted = {**filters, "label": label and label.replace("=", ":", 1), "cursor": cursor}
    page = service.client.first_jobs(wanted, most)
    print_page(page, _COLUMNS, _row, as_json=service.as_json)


@jobs.command()
@click.argument("job_id", metavar="ID")
@uses_service()
def get(service: Service, job_id: str) -> None:
    """Show a job."""
    print_job(service.client.job(job_id), as_json=service.as_json)


@jobs.command()
@click.argument("job_id", metavar="ID")
@uses_service()
def pause(service: Service, job_id: str) -> None:
    """Pause a job: what has not started does not run."""
    print_job(service.client.pause_job(job_id), as_json=service.as_json)


@jobs.command()
@click.argument("job_id", metavar="ID")
@click.option("--catch-up", is_flag=True, help="Make up for the paused time, as the job's misfire policy says.")
@uses_service()
def resume(service: Service, job_id: str, *, catch_up: bool) -> None:
    """Resume a paused job, from now on."""
    print_job(service.client.resume_job(job_id, catch_up=catch_up), as_json=service.as_json)


@jobs.command()
@click.argument("job_id", metavar="ID")
@uses_service()
def trigger(service: Service, job_id: str) -> None:
    """Run a job now, be it paused or finished; shows the run."""
    run = service.client.trigger_job(job_id)
    if service.as_json:
        print_json(run)
    else:
        print_fields([(name, run.get(name)) for name in ("id", "state", "scheduled_for")])


@jobs.command()
@click.argument("job_id", metavar="ID")
@uses_service()
def cancel(service: Service, job_id: str) -> None:
    """Cancel a job: what has not started never runs."""
    service.client.cancel_job(job_id)
    if service.as_json:
        print_json({"id": job_id, "cancelled": True})
    else:
        click.echo(f"cancelled {job_id}")


def _from_flags(client: Client, flags: Mapping[str, Any]) -> bytes:
    name = {} if flags["name"] is None else {"name": flags["name"]}
    definition = name | {"schedule": schedule_of(flags)} | settings_of(flags)
    upload, text = payload_of(client, flags)
    return encoded(definition | upload, text)


def _row(job: Mapping[str, Any]) -> tuple[object, ...]:
    target = job.get("target") or {}
    schedule, called = schedule_text(job.get("schedule") or {}), target.get("url") or target.get("queue_url")
    return (job.get("id"), job.get("name"), job.get("state"), schedule, job.get("next_fire_time"), called)
