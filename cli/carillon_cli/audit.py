"""`carillon audit`: what was done by whom."""

from collections.abc import Mapping
from typing import Any

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.listing import list_options, print_page

_COLUMNS = ("AT", "ACTION", "TARGET", "ACTOR", "REQUEST")


@click.group()
def audit() -> None:
    """List audit events."""


@audit.command("list")
@click.option("--action", metavar="ACTION", help="Only events of this action, such as signing_secret.rotated.")
@click.option("--actor", metavar="ID", help="Only what this key, or whoever has this id, did.")
@click.option("--target", metavar="ID", help="Only what was done to this; a job stands for its runs too.")
@click.option("--since", metavar="INSTANT", help="Only what was done at this instant or later.")
@click.option("--until", metavar="INSTANT", help="Only what was done before this instant.")
@list_options
@uses_service()
def list_events(service: Service, most: int | None, cursor: str | None, **filters: str | None) -> None:
    """List what was done, newest first."""
    page = service.client.first_audit_events({**filters, "cursor": cursor}, most)
    print_page(page, _COLUMNS, _row, as_json=service.as_json)


def _row(event: Mapping[str, Any]) -> tuple[object, ...]:
    actor = event.get("actor")
    name = f"{actor.get('type')} {actor.get('id')}" if isinstance(actor, dict) else None
    return event.get("occurred_at"), event.get("action"), event.get("target"), name, event.get("request_id")
