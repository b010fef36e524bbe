"""Which removals are jobs', and whose objects go with them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from carillon.adapters.memory.edges import RecordingMeter
from carillon.entrypoint.removals import removal_handler
from carillon.ports.errors import UnavailableError

EVENT = Path(__file__).parents[3] / "events" / "retention_expired_job.json"
JOB = "job_01JWNJBZW0000G40R40M30E209"


@dataclass
class Freed:
    """What is freed: by tenant and second, the slices by event. `fails`: for this tenant."""

    done: list[tuple[str, int, dict[str, int]]] = field(default_factory=list)
    fails: str | None = None

    def free(self, tenant: str, second: int, freed: Mapping[str, int]) -> None:
        """Remember it."""
        if tenant == self.fails:
            raise UnavailableError("no answer")
        self.done.append((tenant, second, dict(freed)))


def removed(**attributes: Any) -> list[tuple[str, str | None]]:
    """What is removed for a recorded removal of a job, with further attributes."""
    event = json.loads(EVENT.read_text())
    for record in event["Records"]:
        record["dynamodb"]["OldImage"] |= attributes
    done: list[tuple[str, str | None]] = []
    handle = removal_handler(lambda *about: done.append(about), Freed(), RecordingMeter())
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


def change(
    number: int, *, tenant: str = "acme", before: dict[str, Any], after: dict[str, Any] | None
) -> dict[str, Any]:
    """A record of a change of a job, with these attributes before and after it."""
    common = {"kind": {"S": "job"}, "tenant": {"S": tenant}, "pk": {"S": f"JOB#{JOB}"}}
    images = {"OldImage": common | before, **({} if after is None else {"NewImage": common | after})}
    told = {"SequenceNumber": str(number), "ApproximateCreationDateTime": 1_790_000_000.0 + number // 10, **images}
    return {"eventID": f"e{number}", "eventName": "REMOVE" if after is None else "MODIFY", "dynamodb": told}


COUNTED = {"counted": {"N": "3"}}


@pytest.mark.parametrize(
    ("record", "freed"),
    [
        pytest.param({"before": COUNTED, "after": {}}, {"e1": 3}, id="ended"),
        pytest.param({"before": COUNTED, "after": None}, {"e1": 3}, id="removed"),
        pytest.param({"before": COUNTED, "after": COUNTED}, None, id="still-there"),
        pytest.param({"before": {}, "after": COUNTED}, None, id="brought-back"),
        pytest.param({"before": {}, "after": {}}, None, id="not-counted"),
        pytest.param({"before": {**COUNTED, "kind": {"S": "segment"}}, "after": None}, None, id="segment"),
    ],
)
def test_what_counts_no_more_is_freed(record: dict[str, Any], freed: dict[str, int] | None) -> None:
    """A job that counted before a change and does not after it."""
    seen = Freed()
    answer = removal_handler(lambda *_: None, seen, RecordingMeter())({"Records": [change(1, **record)]}, None)  # type: ignore[arg-type]
    assert answer == {"batchItemFailures": []}
    assert seen.done == ([] if freed is None else [("acme", 1_790_000_000, freed)])


def test_what_fails_holds_up_no_other_tenant() -> None:
    """All of a tenant and a second is freed together; the batch is told again from the first that failed on."""
    records = [
        change(1, before=COUNTED, after={}),
        change(2, tenant="globex", before=COUNTED, after={}),
        change(3, before=COUNTED, after=None),
        change(12, tenant="globex", before=COUNTED, after={}),
        change(13, before=COUNTED, after={}),
    ]
    seen = Freed(fails="globex")
    answer = removal_handler(lambda *_: None, seen, RecordingMeter())({"Records": records}, None)  # type: ignore[arg-type]
    assert answer == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert seen.done == [("acme", 1_790_000_000, {"e1": 3, "e3": 3}), ("acme", 1_790_000_001, {"e13": 3})]
