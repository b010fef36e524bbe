"""`carillon jobs update`: from flags to a merge patch."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from carillon.client import Client, etag
from carillon_cli.config import Service, uses_service
from carillon_cli.definition import (
    SCHEDULE_BOUNDS,
    SCHEDULE_KINDS,
    SCHEDULE_OPTIONS,
    TARGET_OPTIONS,
    definition_text,
    encoded,
    rules_of,
    schedule_of,
    target_of,
    with_options,
)
from carillon_cli.job_output import print_job
from carillon_cli.payload_files import payload_of, payload_options

_MAPS = ("labels", "target/headers")


@click.command("update")
@click.argument("job_id", metavar="ID")
@click.option("--name", help="Another name, unique among your jobs.")
@with_options(SCHEDULE_OPTIONS)
@with_options(TARGET_OPTIONS)
@click.option("--payload", metavar="JSON|@FILE", help="Another body of the call; null removes it.")
@payload_options
@click.option("--unset", multiple=True, metavar="FIELD", help="Give a field its default back; repeatable.")
@click.option("--from-file", metavar="FILE|-", help="A whole merge patch as JSON, instead of the flags above.")
@click.option("--if-match", metavar="ETAG", help="Only if this is still the job's revision.  [the one found now]")
@uses_service(url_is_target=True)
def update(service: Service, job_id: str, from_file: str | None, if_match: str | None, **flags: Any) -> None:
    """Change a job: what is given changes, what is not given stays.

    A schedule is replaced whole: give its kind together with its zone and bounds. --unset takes the name of a field as
    the interface has it, and labels/KEY or target/headers/NAME for one label or one header.

    \b
    carillon jobs update job_… --cron "0 3 * * *" --timezone Asia/Kolkata
    carillon jobs update job_… --label tier=1 --unset labels/team --unset deadline
    """  # noqa: D301 - click reads \b as "keep these lines"
    _check_schedule(flags)
    whole = None if from_file is None else definition_text(from_file, flags)
    seen = service.client.job(job_id)
    patch = _patch(service.client, flags, seen) if whole is None else whole.encode()
    print_job(service.client.update_job(job_id, patch, if_match=if_match or etag(seen)), as_json=service.as_json)


def _check_schedule(flags: Mapping[str, Any]) -> None:
    bounds = [name for name in SCHEDULE_BOUNDS if flags[name] is not None]
    if bounds and all(flags[kind] is None for kind in SCHEDULE_KINDS):
        flag = f"--{bounds[0].replace('_', '-')}"
        raise click.UsageError(f"{flag}: a schedule is replaced whole; give one of --run-at, --delay, --every, --cron")


def _patch(client: Client, flags: Mapping[str, Any], seen: Mapping[str, Any]) -> bytes:
    """The merge patch that the flags ask for. Another number of attempts leaves the rest of `retry` as it is seen."""
    patch = rules_of(flags)
    if "retry" in patch:
        patch["retry"] = dict(seen.get("retry") or {}) | patch["retry"]
    if flags["name"] is not None:
        patch["name"] = flags["name"]
    if any(flags[kind] is not None for kind in SCHEDULE_KINDS):
        patch["schedule"] = schedule_of(flags)
    if target := target_of(flags):
        patch["target"] = target
    _unset(patch, flags["unset"])
    upload, payload = payload_of(client, flags)
    if not patch | upload and payload is None:
        raise click.UsageError("nothing to change: give at least one flag")
    return encoded(patch | upload, payload)


def _unset(patch: dict[str, Any], fields: Iterable[str]) -> None:
    """Put a null for each field, at its place.

    Raises:
        click.UsageError: A field is set and unset at once.
    """
    for field in fields:
        *path, last = _steps(field)
        inner: Any = patch
        for step in path:
            inner = inner.setdefault(step, {}) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or last in inner:
            raise click.UsageError(f"--unset {field}: it is given another value as well")
        inner[last] = None


def _steps(field: str) -> list[str]:
    """The steps to a field; the name of a label or a header may have slashes of its own."""
    for place in _MAPS:
        if field.startswith(f"{place}/"):
            return [*place.split("/"), field[len(place) + 1 :]]
    return field.split("/")
