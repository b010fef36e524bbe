"""`carillon runs`: what became of the occurrences of jobs, and what can be done about it."""

from collections.abc import Mapping
from typing import Any

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.definition import payload_text
from carillon_cli.listing import list_options, print_page
from carillon_cli.output import print_fields, print_json, print_table, shown_ms

_STATES = (
    "queued",
    "running",
    "awaiting_completion",
    "retrying",
    "succeeded",
    "dead_lettered",
    "cancelled",
    "skipped",
)
COLUMNS = ("RUN", "STATE", "REASON", "SCHEDULED FOR", "LATENESS", "ATTEMPTS", "LAST")
_ATTEMPT_COLUMNS = ("ATTEMPT", "STARTED", "ENDED", "STATUS", "ERROR", "RESPONSE")


@click.group()
def runs() -> None:
    """List, show, cancel, complete and retry runs of jobs."""


@runs.command("list")
@click.argument("job_id", metavar="JOB")
@click.option("--state", type=click.Choice(_STATES), help="Only runs in this state.")
@list_options
@uses_service()
def list_runs(service: Service, job_id: str, state: str | None, most: int | None, cursor: str | None) -> None:
    """List the runs of a job, newest first."""
    page = service.client.first_runs(job_id, {"state": state, "cursor": cursor}, most)
    print_page(page, COLUMNS, row_of_run, as_json=service.as_json)


@runs.command()
@click.argument("run_id", metavar="RUN_ID")
@uses_service()
def get(service: Service, run_id: str) -> None:
    """Show a run and its attempts."""
    run = service.client.run(run_id)
    if service.as_json:
        print_json(run)
        return
    print_fields([(name, value) for name, value in run.items() if name not in ("attempts", "lateness_ms")])
    print_fields([("lateness", shown_ms(run.get("lateness_ms")))])
    if attempts := _attempts(run):
        click.echo()
        print_table(_ATTEMPT_COLUMNS, [_attempt_row(attempt) for attempt in attempts])


@runs.command()
@click.argument("run_id", metavar="RUN_ID")
@uses_service()
def cancel(service: Service, run_id: str) -> None:
    """Cancel a run that waits, or break off the call of one that runs."""
    _print_state(service, service.client.cancel_run(run_id))


@runs.command()
@click.argument("run_id", metavar="RUN_ID")
@click.option("--failed", is_flag=True, help="The attempt has failed.  [it has succeeded]")
@click.option("--no-retry", is_flag=True, help="It is not to be tried again; means --failed.")
@click.option("--result", metavar="JSON|@FILE", help="What to keep with the attempt, up to 4 KiB.")
@uses_service()
def complete(service: Service, run_id: str, result: str | None, *, failed: bool, no_retry: bool) -> None:
    """Complete a run whose target answered 202, in place of the target."""
    outcome = "failed" if failed or no_retry else "succeeded"
    text = payload_text(result, "--result")
    _print_standing(
        service, service.client.complete_run(run_id, outcome, retry=False if no_retry else None, result=text)
    )


@runs.command()
@click.argument("run_id", metavar="RUN_ID")
@uses_service()
def heartbeat(service: Service, run_id: str) -> None:
    """Put off the deadline of a run whose target answered 202, in place of the target."""
    _print_standing(service, service.client.keep_run_alive(run_id))


def _print_standing(service: Service, standing: Mapping[str, Any]) -> None:
    if service.as_json:
        print_json(standing)
    else:
        print_fields(list(standing.items()))


@runs.command()
@click.argument("run_id", metavar="RUN_ID")
@uses_service()
def retry(service: Service, run_id: str) -> None:
    """Give a dead-lettered run its attempts anew."""
    _print_state(service, service.client.retry_run(run_id))


def _print_state(service: Service, run: Mapping[str, Any]) -> None:
    if service.as_json:
        print_json(run)
    else:
        print_fields([(name, run.get(name)) for name in ("id", "state", "reason", "next_attempt_at")])


def row_of_run(run: Mapping[str, Any]) -> tuple[object, ...]:
    """The line of a run in a list, as `COLUMNS` names it."""
    attempts = _attempts(run)
    last = attempts[-1] if attempts else {}
    return (
        run.get("id"),
        run.get("state"),
        run.get("reason"),
        run.get("scheduled_for"),
        shown_ms(run.get("lateness_ms")),
        len(attempts),
        last.get("error") or last.get("status"),
    )


def _attempt_row(attempt: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(
        attempt.get(name) for name in ("number", "started_at", "ended_at", "status", "error", "response_excerpt")
    )


def _attempts(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    attempts = run.get("attempts")
    return [attempt for attempt in attempts if isinstance(attempt, dict)] if isinstance(attempts, list) else []
