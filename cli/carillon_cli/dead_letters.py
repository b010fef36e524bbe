"""`carillon dead-letters`: runs that will not be tried again without a person."""

from collections import Counter

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.listing import list_options, print_page
from carillon_cli.output import note, print_json
from carillon_cli.runs import COLUMNS, row_of_run


@click.group("dead-letters")
def dead_letters() -> None:
    """List and redrive runs that will not be tried again."""


_of_job = click.option("--job", metavar="JOB", help="Only runs of this job.")
_since = click.option("--since", metavar="INSTANT", help="Only runs that ended at or after this instant.")


@dead_letters.command("list")
@_of_job
@_since
@list_options
@uses_service()
def list_dead_letters(
    service: Service, job: str | None, since: str | None, most: int | None, cursor: str | None
) -> None:
    """List dead letters, the latest first."""
    page = service.client.first_dead_letters({"job": job, "since": since, "cursor": cursor}, most)
    print_page(page, COLUMNS, row_of_run, as_json=service.as_json)


@dead_letters.command()
@_of_job
@_since
@click.option("--all", "everything", is_flag=True, help="All dead letters of the tenant.")
@click.option("--dry-run", is_flag=True, help="Only count what would be redriven.")
@uses_service()
def redrive(service: Service, job: str | None, since: str | None, *, everything: bool, dry_run: bool) -> None:
    """Give dead letters their attempts anew, portion by portion. If it is broken off, repeat it."""
    if everything == bool(job or since):
        raise click.UsageError("say which: --job, --since or both, or else --all")
    redriven, refused, cursor = 0, Counter[str](), None
    while True:
        portion = service.client.redrive_dead_letters({"job": job, "since": since}, dry_run=dry_run, cursor=cursor)
        redriven += portion.get("redriven", 0)
        refused.update(portion.get("refused", {}))
        cursor = portion.get("next_cursor")
        if cursor is None:
            break
    if service.as_json:
        print_json({"redriven": redriven, "refused": dict(refused), "dry_run": dry_run})
        return
    click.echo(f"{redriven} would be redriven" if dry_run else f"{redriven} redriven")
    for reason, count in refused.most_common():
        note(f"{count} not: {reason}")
