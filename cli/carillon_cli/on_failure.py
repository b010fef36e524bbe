"""`carillon on-failure`: who is told of failed runs of jobs that name nobody themselves."""

from collections.abc import Mapping
from typing import Any

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.output import note, print_fields, print_json


@click.group("on-failure")
def on_failure() -> None:
    """Show, name and remove who is told of failed runs of all jobs."""


@on_failure.command()
@uses_service()
def show(service: Service) -> None:
    """Show who is told of failed runs of jobs that name nobody themselves."""
    _print(service, service.client.failure_target())


@on_failure.command("set")
@click.option("--url", metavar="URL", help="Call this URL.")
@click.option("--queue", metavar="QUEUE_URL", help="Send to this SQS queue.")
@uses_service(url_is_target=True)
def set_target(service: Service, url: str | None, queue: str | None) -> None:
    """Name who is told: a URL or a queue, in place of whoever is named now."""
    if (url is None) == (queue is None):
        raise click.UsageError("give --url or --queue")
    target = {"type": "queue", "queue_url": queue} if queue else {"type": "http", "url": url}
    _print(service, service.client.name_failure_target(target))


@on_failure.command()
@uses_service()
def remove(service: Service) -> None:
    """Have nobody told any more, but of runs of jobs that name somebody themselves."""
    service.client.remove_failure_target()
    if service.as_json:
        print_json({"target": None})
    else:
        note("nobody is told any more; workers know within a minute")


def _print(service: Service, named: Mapping[str, Any]) -> None:
    target = named.get("target")
    if service.as_json:
        print_json(named)
    elif target is None:
        note("nobody is told")
    else:
        print_fields(target.items())
