"""How a job is shown to people."""

from collections.abc import Mapping
from typing import Any

from carillon_cli.output import print_fields, print_json

_FIRST = ("id", "name", "state", "state_reason", "next_fire_time", "next_scheduled_for")


def print_job(job: Mapping[str, Any], *, as_json: bool) -> None:
    """Show a job: for programs as the interface gives it, for people with what matters most first."""
    if as_json:
        print_json(job)
        return
    print_fields([(name, job.get(name)) for name in _FIRST])
    print_fields([(name, value) for name, value in job.items() if name not in _FIRST])


def schedule_text(schedule: Mapping[str, Any]) -> str:
    """A schedule in a few words: its kind and value, and the zone unless it is UTC."""
    kind = next((kind for kind in ("cron", "every", "run_at", "delay", "after") if kind in schedule), None)
    if kind is None:
        return "-"
    zone = schedule.get("timezone", "UTC")
    return f"{kind} {schedule[kind]}" + ("" if zone == "UTC" else f" {zone}")
