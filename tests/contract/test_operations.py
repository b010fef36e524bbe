"""Records of operations: written once, moved on by one, and read as they were written."""

from dataclasses import replace

import pytest

from carillon.domain.job import JobState
from carillon.domain.job_filter import JobFilter
from carillon.domain.operations import (
    BulkAction,
    Operation,
    OperationState,
    Portion,
    Progress,
    advanced,
    asked,
    cancelled,
)
from carillon.ports.errors import UnreadableItemError
from contract.backends import Stores
from contract.samples import NOW_MS, a_definition

ID = "op_01M8MX0REB67WD2ANKW6N989AG"
FULL = JobFilter(JobState.PAUSED, (("team", "infra"), ("tier", "ü")), "nightly ☾/")
IDS = tuple(f"job_01M8MX0REB67WD2ANKW6N98{number:03d}" for number in range(100))


def an_operation(action: BulkAction = BulkAction.PAUSE, wanted: JobFilter = FULL) -> Operation:
    """An operation that nobody has begun with."""
    return asked(ID, "acme", action, wanted, NOW_MS)


@pytest.mark.parametrize("action", BulkAction)
@pytest.mark.parametrize("wanted", [JobFilter(), FULL], ids=["all", "some"])
def test_what_was_stored_is_read_as_it_was(stores: Stores, action: BulkAction, wanted: JobFilter) -> None:
    """At each step of its life."""
    operation = an_operation(action, wanted)
    assert stores.operations.create(operation) == operation
    begun = advanced(operation, [], Portion(120, IDS, IDS[-1]), NOW_MS + 1)
    laid_down = advanced(begun, ["job_finished", None, "unreadable", "job_finished"], Portion(1, (), None), NOW_MS + 2)
    for step in (begun, laid_down):
        assert stores.operations.replace(step)
        assert stores.operations.get("acme", ID) == step
    assert laid_down.state is OperationState.SUCCEEDED
    assert laid_down.progress == Progress(walked=121, matched=100, done=1, refused={"job_finished": 2, "unreadable": 1})


def test_an_operation_is_its_tenants_own(stores: Stores) -> None:
    """The same id of another tenant is another operation, and one that was never asked for is none."""
    stores.operations.create(an_operation())
    assert stores.operations.get("globex", ID) is None
    other = replace(an_operation(), tenant="globex", action=BulkAction.CANCEL)
    assert stores.operations.create(other) == other
    assert stores.operations.get("acme", ID) == an_operation()


def test_asked_for_again_it_is_the_one_that_there_is(stores: Stores) -> None:
    """However far it has come: it is not begun anew."""
    stores.operations.create(an_operation())
    ended = advanced(an_operation(), [], Portion(0, (), None), NOW_MS + 1)
    stores.operations.replace(ended)
    assert stores.operations.create(an_operation()) == ended
    assert stores.operations.get("acme", ID) == ended


def test_of_two_who_move_it_on_one_loses(stores: Stores) -> None:
    """The first write stands, its repeat after a lost answer succeeds, and nobody writes what is not there."""
    operation = an_operation()
    first = advanced(operation, [], Portion(3, IDS[:3], None), NOW_MS + 1)
    second = cancelled(operation, NOW_MS + 2)
    assert not stores.operations.replace(first)
    assert stores.operations.get("acme", ID) is None
    stores.operations.create(operation)
    assert stores.operations.replace(first)
    assert stores.operations.replace(first)
    assert not stores.operations.replace(second)
    assert stores.operations.get("acme", ID) == first
    assert stores.operations.replace(cancelled(first, NOW_MS + 3))


def test_a_damaged_record_is_told_as_such(stores: Stores) -> None:
    """It is no operation, and no bug."""
    if stores.database is None:
        return  # what is in memory cannot be damaged
    item = {
        "pk": {"S": "OPERATION#acme"},
        "sk": {"S": ID},
        "rev": {"N": "1"},
        "operation": {"S": '{"id": "op_1"}'},
    }
    stores.database.client.put_item(TableName=stores.database.control, Item=item)
    with pytest.raises(UnreadableItemError):
        stores.operations.get("acme", ID)


def test_the_list_begins_where_an_operation_does(stores: Stores) -> None:
    """Of jobs that are created in the millisecond of the request and before it, none is missed; later ones are."""
    made = [a_definition(id=f"job_{_ulid(NOW_MS + late_ms)}") for late_ms in (-1, 0, 1)]
    for definition in made:
        stores.jobs.create(definition)
    page = stores.jobs.list_newest(made[0].job.tenant, 10, an_operation().position)
    assert [each.job.id for each in page.definitions] == [made[1].job.id, made[0].job.id]


def _ulid(now_ms: int) -> str:
    from carillon.domain.identity import ulid  # noqa: PLC0415 - of this one test

    return ulid(now_ms, b"\xff" * 10)
