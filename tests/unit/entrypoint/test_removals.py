"""Which removals are jobs', and whose objects go with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from carillon.adapters.memory.edges import RecordingMeter
from carillon.entrypoint.removals import removal_handler

EVENT = Path(__file__).parents[3] / "events" / "retention_expired_job.json"
JOB = "job_01JWNJBZW0000G40R40M30E209"


def removed(**attributes: Any) -> list[tuple[str, str | None]]:
    """What is removed for a recorded removal of a job, with further attributes."""
    event = json.loads(EVENT.read_text())
    for record in event["Records"]:
        record["dynamodb"]["OldImage"] |= attributes
    done: list[tuple[str, str | None]] = []
    handle = removal_handler(lambda *about: done.append(about), RecordingMeter())
    assert handle(event, None) == {"batchItemFailures": []}  # type: ignore[arg-type]
    return done


@pytest.mark.parametrize(
    ("attributes", "owner"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"has_objects": {"BOOL": True}}, "acme", id="some"),
        pytest.param({"has_objects": {"BOOL": False}}, None, id="told-so"),
    ],
)
def test_objects_are_looked_for_where_there_are_some(attributes: dict[str, Any], owner: str | None) -> None:
    """The record itself tells, and of which tenant: a job without uploads costs no look into the bucket."""
    assert removed(**attributes) == [(JOB, owner)]
