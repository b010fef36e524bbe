"""`carillon keys`: the API keys of a tenant."""

from collections.abc import Mapping
from typing import Any

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.output import note, print_fields, print_json, print_table
from carillon_cli.shorthand import DurationType

_COLUMNS = ("KEY", "NAME", "ENDS IN", "SCOPES", "CREATED", "EXPIRES", "REVOKED", "LAST USED")


@click.group()
def keys() -> None:
    """Create, list, rotate and revoke API keys."""


@keys.command("list")
@uses_service()
def list_keys(service: Service) -> None:
    """List the keys, newest first, those included that are in force no longer."""
    page = service.client.api_keys()
    if service.as_json:
        print_json({"data": list(page.items), "next_cursor": page.next_cursor})
    else:
        print_table(_COLUMNS, [_row(key) for key in page.items])


@keys.command()
@click.option("--scope", "scopes", multiple=True, required=True, help="What it may do; repeat for several.")
@click.option("--name", help="What it is called.")
@click.option("--expires-at", metavar="INSTANT", help="When it ends; never if not given.")
@uses_service()
def create(service: Service, scopes: tuple[str, ...], name: str | None, expires_at: str | None) -> None:
    """Make a key and show it: this once, it is stored nowhere in clear."""
    _print_new(service, service.client.create_api_key(list(scopes), name=name, expires_at=expires_at))


@keys.command()
@click.argument("key_id", metavar="KEY_ID")
@click.option("--overlap", type=DurationType(), help="How long the old key stays in force.  [1d]")
@uses_service()
def rotate(service: Service, key_id: str, overlap: str | None) -> None:
    """Make a key in the place of another one, and show it this once."""
    made = service.client.rotate_api_key(key_id, overlap)
    _print_new(service, made)
    for previous in [] if service.as_json else made.get("previous", []):
        note(f"{previous.get('id')} is in force until {previous.get('expires_at')}")


@keys.command()
@click.argument("key_id", metavar="KEY_ID")
@uses_service()
def revoke(service: Service, key_id: str) -> None:
    """Take a key out of force, within a minute."""
    service.client.revoke_api_key(key_id)
    if not service.as_json:
        note(f"{key_id} is revoked")


def _print_new(service: Service, made: Mapping[str, Any]) -> None:
    if service.as_json:
        print_json(made)
        return
    print_fields([(name, made.get(name)) for name in ("id", "key", "scopes", "expires_at")])
    note("Keep the key now: it cannot be shown again.")


def _row(key: Mapping[str, Any]) -> tuple[object, ...]:
    scopes = key.get("scopes")
    shown = " ".join(map(str, scopes)) if isinstance(scopes, list) else None
    times = (key.get(name) for name in ("created_at", "expires_at", "revoked_at", "last_used_at"))
    return key.get("id"), key.get("name"), key.get("hint"), shown, *times
