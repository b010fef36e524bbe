"""`carillon destinations`: where a tenant lets its jobs call."""

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.output import note, print_fields, print_json, print_table

_COLUMNS = ("DESTINATION", "KIND", "NAME", "CREATED", "VERIFIED")
_KINDS = ("host", "suffix")


@click.group()
def destinations() -> None:
    """List, add, verify and remove the hosts that jobs may call."""


@destinations.command("list")
@uses_service()
def list_destinations(service: Service) -> None:
    """List the destinations, oldest first. With none, jobs may call every host that the stage allows."""
    page = service.client.destinations()
    if service.as_json:
        print_json({"data": list(page.items), "next_cursor": page.next_cursor})
        return
    kinds = [(each, next((kind for kind in _KINDS if kind in each), "")) for each in page.items]
    rows = [
        (each.get("id"), kind, each.get(kind), each.get("created_at"), each.get("verified_at")) for each, kind in kinds
    ]
    print_table(_COLUMNS, rows)


@destinations.command()
@click.argument("name", metavar="HOST")
@click.option("--suffix", is_flag=True, help="With all hosts below it.")
@uses_service()
def add(service: Service, name: str, *, suffix: bool) -> None:
    """Let jobs call HOST. From the first destination on, they may call no others."""
    added = service.client.add_destination("suffix" if suffix else "host", name)
    if service.as_json:
        print_json(added)
    else:
        print_fields(added.items())


@destinations.command()
@click.argument("destination_id", metavar="DESTINATION")
@click.argument("url")
@uses_service(url_is_target=True)
def verify(service: Service, destination_id: str, url: str) -> None:
    """Have URL, which is of DESTINATION, asked whether it wants to be called. The run shown says what it answers."""
    asked = service.client.verify_destination(destination_id, url)
    if service.as_json:
        print_json(asked)
    else:
        print_fields([(name, asked.get(name)) for name in ("id", "state", "verifies")])


@destinations.command()
@click.argument("destination_id", metavar="DESTINATION")
@uses_service()
def remove(service: Service, destination_id: str) -> None:
    """Remove a destination by its id. Without the last one, jobs may call every host again."""
    service.client.remove_destination(destination_id)
    if service.as_json:
        print_json({"id": destination_id, "removed": True})
    else:
        note(f"{destination_id} is removed; workers know within a minute")
