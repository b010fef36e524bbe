"""`carillon operations`, and the actions on many jobs that begin one."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from carillon.client import Client
from carillon_cli.config import Service, uses_service
from carillon_cli.output import note, print_fields, print_json

ACTIONS = ("pause", "resume", "cancel", "trigger")
_STATES = ("scheduled", "dispatched", "paused", "completed", "cancelled", "error")
_COUNTS = ("walked", "matched", "done")
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 10.0


@click.group()
def operations() -> None:
    """Show and cancel operations on many jobs."""


@operations.command()
@click.argument("operation_id", metavar="ID")
@uses_service()
def get(service: Service, operation_id: str) -> None:
    """Show an operation, and how far it has come."""
    _print(service.client.operation(operation_id), as_json=service.as_json)


@operations.command()
@click.argument("operation_id", metavar="ID")
@uses_service()
def watch(service: Service, operation_id: str) -> None:
    """Wait until an operation has ended."""
    _print(ended(service.client, service.client.operation(operation_id)), as_json=service.as_json)


@operations.command()
@click.argument("operation_id", metavar="ID")
@uses_service()
def cancel(service: Service, operation_id: str) -> None:
    """Let an operation go no further. What it has done stays done."""
    _print(service.client.cancel_operation(operation_id), as_json=service.as_json)


@click.command("bulk")
@click.argument("action", type=click.Choice(ACTIONS), metavar="ACTION")
@click.option("--state", type=click.Choice(_STATES), help="Only jobs in this state.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Only jobs with this label; repeatable.")
@click.option("--name-prefix", metavar="TEXT", help="Only jobs whose name begins so.")
@click.option("--all", "everything", is_flag=True, help="All jobs of the tenant.")
@click.option("--dry-run", is_flag=True, help="Only count what would be done.")
@click.option("--no-wait", is_flag=True, help="Only begin; `carillon operations watch` waits for the end.")
@click.option("--idempotency-key", metavar="KEY", help="A repeat with the same key is the same operation.")
@uses_service()
def bulk(
    service: Service,
    action: str,
    idempotency_key: str | None,
    *,
    everything: bool,
    dry_run: bool,
    no_wait: bool,
    **filters: Any,
) -> None:
    """Pause, resume, cancel or trigger many jobs, and wait until it is done.

    ACTION is one of pause, resume, cancel, trigger. Jobs that are created later are left alone.

    \b
    carillon jobs bulk pause --label team=infra --dry-run
    carillon jobs bulk pause --label team=infra
    """  # noqa: D301 - click reads \b as "keep these lines"
    wanted = filters | {"labels": _labels(filters["labels"])}
    named = {name: value for name, value in wanted.items() if value}
    if everything == bool(named):
        raise click.UsageError("say which: --state, --label, --name-prefix, or else --all")
    if dry_run:
        _try(service, action, named)
        return
    operation: Mapping[str, Any] = service.client.act_on_jobs(action, named, idempotency_key=idempotency_key)
    if not no_wait:
        note(f"operation {operation.get('id')}: breaking off does not end it, `carillon operations cancel` does")
        operation = ended(service.client, operation)
    _print(operation, as_json=service.as_json)


def ended(client: Client, operation: Mapping[str, Any]) -> Mapping[str, Any]:
    """The operation, once it has come to its end. It is looked at less and less often."""
    pause_seconds = _FIRST_PAUSE_SECONDS
    while operation.get("state") in ("queued", "running"):
        time.sleep(pause_seconds)
        pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
        operation = client.operation(str(operation.get("id")))
    return operation


def _try(service: Service, action: str, wanted: Mapping[str, Any]) -> None:
    counts, refused, cursor = Counter[str](), Counter[str](), None
    while True:
        portion = service.client.try_on_jobs(action, wanted, cursor)
        counts.update({name: portion["progress"][name] for name in _COUNTS})  # type: ignore[literal-required]
        refused.update(portion["progress"]["refused"])
        cursor = portion["next_cursor"]
        if cursor is None:
            break
    progress = {**{name: counts[name] for name in _COUNTS}, "refused": dict(refused)}
    if service.as_json:
        print_json({"action": action, "dry_run": True, "progress": progress})
        return
    click.echo(f"{counts['done']} of {counts['walked']} jobs would be as {action} leaves them")
    _note_refused(refused)


def _print(operation: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(operation)
        return
    progress: Mapping[str, Any] = operation.get("progress") or {}
    fields = [(name, operation.get(name)) for name in ("id", "action", "state", "created_at", "ended_at")]
    print_fields([*fields, *((name, progress.get(name)) for name in _COUNTS)])
    _note_refused(progress.get("refused") or {})


def _note_refused(refused: Mapping[str, int]) -> None:
    for reason, count in sorted(refused.items()):
        note(f"{count} not: {reason}")


def _labels(texts: tuple[str, ...]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in texts:
        key, found, value = text.partition("=")
        if not found or not key or key in labels:
            raise click.UsageError("expected --label KEY=VALUE, each key once")
        labels[key] = value
    return labels
