"""What the stream of the jobs table tells of runs that have ended."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from carillon.adapters.dynamodb.run_items import run_item
from carillon.adapters.memory.edges import RecordingMeter
from carillon.domain.identity import RunKey
from carillon.domain.run import Attempt, Run, RunState, SkippedBlock
from carillon.domain.statistics import Ending, Told
from carillon.entrypoint.endings import ending_handler
from contract.samples import NOW_MS, a_job, a_run

RUN = a_run(a_job(), state=RunState.RUNNING, attempt=2, lateness_ms=40)
OVER = replace(RUN, state=RunState.SUCCEEDED, ended_at=NOW_MS)
REDRIVEN = replace(RUN, state=RunState.RETRYING, spent=2, attempt=2)
ENDED_AGAIN = replace(OVER, spent=2, attempt=3)


def record(before: Run | None, after: Run | None, **changes: Any) -> dict[str, Any]:
    """A change of a run's item, as the function is told of it."""
    images = {name: run_item(run) for name, run in (("OldImage", before), ("NewImage", after)) if run}
    if "NewImage" in images:
        images["NewImage"] |= changes
    return {"eventID": "e1", "dynamodb": {"SequenceNumber": "100", **images}}


def handled(*records: Mapping[str, Any]) -> tuple[list[Ending], RecordingMeter, dict[str, Any]]:
    """What is counted of records, what is measured, and the answer."""
    told: list[Told] = []
    meter = RecordingMeter()
    answer = ending_handler(told.extend, meter)({"Records": list(records)}, None)  # type: ignore[arg-type]
    return [one.ending for one in told], meter, answer


@pytest.mark.parametrize(
    ("before", "after", "ending"),
    [
        pytest.param(
            RUN, OVER, Ending("acme", RunState.SUCCEEDED, None, NOW_MS, attempts=2, lateness_ms=40), id="succeeded"
        ),
        pytest.param(
            None,
            replace(RUN, state=RunState.SKIPPED, reason="deadline", ended_at=NOW_MS, attempt=0, lateness_ms=None),
            Ending("acme", RunState.SKIPPED, "deadline", NOW_MS),
            id="never-began",
        ),
        pytest.param(
            None,
            replace(
                RUN,
                state=RunState.SKIPPED,
                reason="misfire",
                ended_at=NOW_MS,
                attempt=0,
                lateness_ms=None,
                block=SkippedBlock(40, 1, 2),
            ),
            Ending("acme", RunState.SKIPPED, "misfire", NOW_MS, runs=40),
            id="block",
        ),
        pytest.param(
            REDRIVEN,
            ENDED_AGAIN,
            Ending("acme", RunState.SUCCEEDED, None, NOW_MS, attempts=1),
            id="redriven",
        ),
        pytest.param(
            RUN,
            replace(OVER, state=RunState.DEAD_LETTERED, reason="No such word!"),
            Ending("acme", RunState.DEAD_LETTERED, "other", NOW_MS, attempts=2, lateness_ms=40),
            id="no-word",
        ),
    ],
)
def test_what_is_counted_of_an_end(before: Run | None, after: Run, ending: Ending) -> None:
    """Each first end whole; of a later one only what came since the redrive; of a block how many share it."""
    assert handled(record(before, after))[0] == [ending]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(None, RUN, id="began"),
        pytest.param(RUN, replace(RUN, state=RunState.RETRYING), id="goes-on"),
        pytest.param(
            replace(OVER, state=RunState.CANCELLED), replace(OVER, state=RunState.CANCELLED, rev=9), id="told"
        ),
        pytest.param(OVER, REDRIVEN, id="redriven"),
        pytest.param(OVER, None, id="removed"),
        pytest.param(
            replace(RUN, key=RunKey(RUN.key.job_id, f"{RUN.key.name}_f3")),
            replace(OVER, key=RunKey(RUN.key.job_id, f"{RUN.key.name}_f3")),
            id="notice",
        ),
        pytest.param(
            replace(RUN, key=RunKey(RUN.key.job_id, f"{RUN.key.name}_v1")),
            replace(OVER, key=RunKey(RUN.key.job_id, f"{RUN.key.name}_v1")),
            id="challenge",
        ),
    ],
)
def test_what_is_no_end_of_a_run(before: Run | None, after: Run | None) -> None:
    """Nothing is counted, whatever the filter let through."""
    endings, _, answer = handled(record(before, after))
    assert (endings, answer) == ([], {"batchItemFailures": []})


def test_what_cannot_be_read_holds_up_nobody() -> None:
    """It is left out, and told of; the others are counted."""
    damaged = record(RUN, OVER, ended_at={"S": "yesterday"})
    endings, meter, answer = handled(damaged, record(RUN, OVER))
    assert len(endings) == 1
    assert (meter.counts["ending_unreadable"], meter.counts["runs_counted"]) == (1, 1)
    assert answer == {"batchItemFailures": []}


def test_a_batch_that_was_not_counted_is_told_again_from_its_beginning() -> None:
    """However much of it was counted: what was is remembered by where the batch began."""

    def fail(_told: object) -> None:
        raise RuntimeError("no table")

    meter = RecordingMeter()
    records = [record(RUN, OVER), record(RUN, replace(OVER, attempts=(Attempt(1, NOW_MS),)))]
    records[1]["dynamodb"]["SequenceNumber"] = "101"
    answer = ending_handler(fail, meter)({"Records": records}, None)  # type: ignore[arg-type]
    assert answer == {"batchItemFailures": [{"itemIdentifier": "100"}]}
    assert meter.counts["counting_failed"] == 1
