"""What a write costs, as the store counts it: these figures are promises."""

from typing import Any

import pytest

from carillon.adapters.dynamodb.attributes import size_of
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.run_items import run_item
from carillon.adapters.memory.edges import SequentialIds
from carillon.application.create_job import CreateJob, NewJob, ShardCount
from carillon.application.edit_job import EditJob
from carillon.application.put_job import PutJob
from carillon.domain.editing import cancel, pause
from carillon.domain.job import HttpTarget, JobState, PlanningRules
from carillon.domain.job_filter import JobFilter
from carillon.domain.operations import BulkAction, Portion, advanced, asked
from carillon.domain.run import RunState
from carillon.domain.schedule import Every, encode
from carillon.domain.statistics import Ending, Told
from contract.backends import Endpoint, Stores
from contract.conftest import LIVE
from contract.samples import (
    NOW_MS,
    a_claim,
    a_confirmation,
    a_definition,
    a_full_definition,
    a_run,
    a_skipped,
    confirm_one,
)

ONE_KILOBYTE = 1024


@pytest.fixture(params=[LIVE])
def world(request: pytest.FixtureRequest) -> str:
    """Only the local AWS counts as AWS does."""
    return str(request.param)


class Bill:
    """The units that the calls of a client have used: of tables, and of indexes."""

    def __init__(self) -> None:
        self.table = 0.0
        self.index = 0.0

    def ask_for(self, params: dict[str, Any], **_: object) -> None:
        """Let a request ask for its bill."""
        params["ReturnConsumedCapacity"] = "INDEXES"

    def add(self, parsed: dict[str, Any], **_: object) -> None:
        """Add what an answer says."""
        used = parsed.get("ConsumedCapacity", [])
        for entry in used if isinstance(used, list) else [used]:
            index = sum(each["CapacityUnits"] for each in entry.get("GlobalSecondaryIndexes", {}).values())
            self.index += index
            self.table += entry["CapacityUnits"] - index

    def take(self) -> tuple[float, float]:
        """The units since the last time, and start anew."""
        taken = (self.table, self.index)
        self.table = self.index = 0.0
        return taken


@pytest.fixture
def bill(endpoint: Endpoint) -> Bill:
    """The bill of all that the stores do from now on."""
    bill = Bill()
    events = endpoint.client("dynamodb").meta.events
    for operation in ("GetItem", "PutItem", "UpdateItem", "Query", "TransactWriteItems"):
        events.register(f"before-parameter-build.dynamodb.{operation}", bill.ask_for)
        events.register(f"after-call.dynamodb.{operation}", bill.add)
    return bill


def test_a_recurring_job_costs_what_was_promised(stores: Stores, bill: Bill) -> None:
    """Claim: 1 unit, the index untouched. Confirm: 1, and 2 in the index. With a record: 2 for each, doubled."""
    definition = a_definition()
    stores.jobs.create(definition)
    bill.take()
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    assert bill.take() == (1, 0)
    confirm_one(stores.jobs, a_confirmation(claim))
    assert bill.take() == (1, 2)
    stored = stores.jobs.get(definition.job.id)
    assert stored is not None
    assert bill.take() == (1, 0), "both halves come in one read unit"
    claim = a_claim(stored.job, "D" * 26)
    stores.jobs.claim_many([claim])
    bill.take()
    confirm_one(stores.jobs, a_confirmation(claim, records=(a_skipped(definition.job, NOW_MS),)))
    assert bill.take() == (4, 2)


def test_a_one_off_costs_what_was_promised(stores: Stores, bill: Bill) -> None:
    """Create: two items and a count in a transaction, an entry in each of two indexes. Its end takes one entry out."""
    definition = a_definition(spec={"payload": b"x" * 512})
    stores.jobs.create(definition)
    assert bill.take() == (4 + 2, 2)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    confirm_one(stores.jobs, a_confirmation(claim, upcoming=None, state=JobState.DISPATCHED, expires_at=1_800_000_000))
    assert bill.take() == (2, 1)


def test_a_run_costs_what_was_promised(stores: Stores, bill: Bill) -> None:
    """Start and finish: 1 unit each, no index. A wait puts an entry into the index and takes it out again."""
    job = a_definition().job
    running = a_run(job, rev=1, state=RunState.RUNNING, wait=0, next_fire_time=None)
    stores.runs.save(running, seen=None)
    assert bill.take() == (1, 0)
    stores.runs.save(a_run(job, rev=2, state=RunState.SUCCEEDED, next_fire_time=None), seen=1)
    assert bill.take() == (1, 0)
    waiting = a_run(job, NOW_MS + 1)
    stores.runs.save(waiting, seen=None)
    assert bill.take() == (1, 1)


def test_counting_costs_a_batch_and_not_a_run(stores: Stores, bill: Bill) -> None:
    """Two items in a transaction for each tenant and hour; of a full batch a tenth of a hundredth of a run's budget."""

    def endings(many: int, tenant: str = "acme") -> list[Told]:
        done = Ending(tenant, RunState.SUCCEEDED, None, NOW_MS, attempts=1, lateness_ms=400)
        return [Told(f"{tenant}-{many}-{number}", done) for number in range(many)]

    stores.statistics.count(endings(50))
    assert bill.take() == (4, 0)
    stores.statistics.count(endings(10) + endings(10, "globex"))
    assert bill.take() == (6, 0)
    stores.statistics.count(endings(1_000))
    assert bill.take() == (20, 0)


def test_a_job_that_is_put_costs_what_was_promised(stores: Stores, bill: Bill) -> None:
    """New: both halves and the name in a transaction, two entries of indexes. Unchanged: reads. Changed: two items."""
    create = CreateJob(stores.jobs, SequentialIds(), ShardCount(stores.shards, 4))
    put = PutJob(stores.jobs, create, EditJob(stores.jobs, stores.runs, 1))
    create.shards.in_force()
    bill.take()

    def put_it(**changes: Any) -> None:
        target = HttpTarget("https://svc.carillon.dev/hook")
        wish = NewJob(schedule=Every(3_600_000, NOW_MS), target=target, name="nightly", **changes)
        put("acme", "nightly", NOW_MS, lambda *_: wish, lambda _: None)

    put_it()
    assert bill.take() == (6 + 1 + 2 + 2, 2), "with the look at the name, the audit event, and the count"
    put_it()
    assert bill.take() == (1 + 1 + 1, 0), "the name, the job, and its newest runs"
    put_it(deadline_ms=5_000)
    assert bill.take() == (3 + 4 + 2, 0)


@pytest.mark.parametrize(
    ("action", "units"), [(pause, (2 + 4 + 2, 2)), (cancel, (2 + 4 + 2 + 2, 2))], ids=["pause", "cancel"]
)
def test_a_job_of_an_operation_costs_what_was_promised(
    stores: Stores, bill: Bill, action: Any, units: tuple[int, int]
) -> None:
    """The edit reads the job and its newest runs, writes both halves and its event; of the indexes it changes two."""
    schedule, rules = encode(Every(3_600_000, NOW_MS)), PlanningRules().encode()
    ahead = {"scheduled_for": NOW_MS + 3_600_000, "next_fire_time": NOW_MS + 3_600_000}
    definition = a_definition(name="nightly", schedule=schedule, rules=rules, **ahead)
    stores.jobs.create(definition)
    bill.take()
    EditJob(stores.jobs, stores.runs, 1)(definition.job.tenant, definition.job.id, NOW_MS, action)
    assert bill.take() == units


def test_a_page_of_an_operation_costs_what_was_promised(stores: Stores, bill: Bill) -> None:
    """A hundred ids in hand are below four kilobytes."""
    operation = asked("op_01M8MX0REB67WD2ANKW6N989AG", "acme", BulkAction.PAUSE, JobFilter(), NOW_MS)
    stores.operations.create(operation)
    assert bill.take() == (1, 0)
    ids = tuple(a_definition().job.id for _ in range(100))
    stores.operations.replace(advanced(operation, [], Portion(100, ids, ids[-1]), NOW_MS))
    assert bill.take() == (4, 0)


def test_items_stay_small() -> None:
    """A job with everything set, and a run with one ordinary attempt, are well below the kilobyte of a write unit."""
    assert size_of(job_item(a_full_definition().job)) < ONE_KILOBYTE * 3 // 4
    assert size_of(run_item(a_run(a_full_definition().job))) < ONE_KILOBYTE * 3 // 4
