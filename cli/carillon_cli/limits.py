"""`carillon limits`: what a tenant may."""

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.output import print_fields, print_json


@click.command()
@uses_service()
def limits(service: Service) -> None:
    """Show what the tenant may, and how many of its jobs count."""
    found = service.client.limits()
    if service.as_json:
        print_json(found)
        return
    limits, usage = found["limits"], found["usage"]
    used = [("jobs_used", usage["jobs"])]
    print_fields([*((name, "none" if value is None else value) for name, value in limits.items()), *used])
