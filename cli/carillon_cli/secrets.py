"""`carillon secrets`: the secrets that sign a tenant's callbacks."""

from collections.abc import Mapping
from typing import Any

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.output import note, print_fields, print_json, print_table
from carillon_cli.shorthand import DurationType

_COLUMNS = ("SECRET", "CREATED", "SIGNS UNTIL")


@click.group()
def secrets() -> None:
    """List, rotate and reveal signing secrets."""


@secrets.command("list")
@uses_service()
def list_secrets(service: Service) -> None:
    """List the secrets that sign, newest first; their texts are not shown."""
    page = service.client.signing_secrets()
    if service.as_json:
        print_json({"data": list(page.items), "next_cursor": page.next_cursor})
    else:
        print_table(_COLUMNS, [_row(secret) for secret in page.items])


@secrets.command()
@click.option("--overlap", type=DurationType(), help="How long the secret before it signs beside it.  [1d]")
@uses_service()
def rotate(service: Service, overlap: str | None) -> None:
    """Make a new secret and show it. Receivers must know it before the overlap ends."""
    made = service.client.rotate_signing_secret(overlap)
    if service.as_json:
        print_json(made)
        return
    print_fields([(name, made.get(name)) for name in ("id", "secret")])
    for previous in made.get("previous", []):
        note(f"{previous.get('id')} signs until {previous.get('expires_at')}")


@secrets.command()
@click.argument("secret_id", metavar="SECRET_ID")
@uses_service()
def reveal(service: Service, secret_id: str) -> None:
    """Show the text of a secret that signs. This is recorded in the audit trail."""
    shown = service.client.reveal_signing_secret(secret_id)
    if service.as_json:
        print_json(shown)
    else:
        print_fields(shown.items())


def _row(secret: Mapping[str, Any]) -> tuple[object, ...]:
    return secret.get("id"), secret.get("created_at"), secret.get("expires_at")
