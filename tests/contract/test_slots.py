"""Slots are stored before they are told, so none is given twice; deferrals move what nobody has claimed."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from carillon.adapters.dynamodb import keys
from carillon.adapters.dynamodb.slots import DynamoSlotLedger
from carillon.domain.limits import NO_LIMITS, DispatchLimit, Limits
from carillon.domain.slots import Pace
from carillon.ports.dispatch import SlotLedger
from carillon.ports.jobs import JobDeferral
from contract.backends import Stores
from contract.conftest import LIVE, LIVE_BATCHED
from contract.samples import NOW_MS, a_claim, a_definition, a_job, a_run, as_due, as_waiting, edited

FAR_MS = NOW_MS + 10**12
PACE = Pace(1_000_000, 1)
SLOT_MS = NOW_MS + 300_000


@pytest.fixture(params=["memory", "moto", LIVE, LIVE_BATCHED])
def world(request: pytest.FixtureRequest) -> str:
    """Deferrals also run in batched statements."""
    return str(request.param)


def reserve(ledger: SlotLedger, count: int, name: str = "acme") -> list[int]:
    """Take slots for so many occurrences that are due now, as seconds from now."""
    slots = ledger.reserve(name, PACE, [[NOW_MS]] * count, NOW_MS, FAR_MS)
    return [(slot_ms - NOW_MS) // 1000 for (slot_ms,) in slots]


def test_what_is_taken_stays_taken(stores: Stores) -> None:
    """Each reservation gets the slots behind those of the ones before it; every name has its own."""
    assert [reserve(stores.slots, 2), reserve(stores.slots, 3)] == [[0, 1], [2, 3, 4]]
    assert reserve(stores.slots, 1, "umbrella") == [0]


def test_another_process_gets_other_slots(stores: Stores) -> None:
    """What one process remembers of a calendar is old as soon as another has written."""
    if stores.database is None:
        pytest.skip("memory is shared by all")
    first, second = stores.slots, DynamoSlotLedger(stores.database)
    assert [reserve(first, 1), reserve(second, 1), reserve(first, 1), reserve(second, 2)] == [[0], [1], [2], [3, 4]]


def test_of_many_racing_dispatchers_none_gets_the_slot_of_another(stores: Stores) -> None:
    """Dispatchers that start together, each a process of its own, share the slots without an overlap."""
    start = Barrier(4)

    def take(_: int) -> list[int]:
        ledger = stores.slots if stores.database is None else DynamoSlotLedger(stores.database)
        start.wait(timeout=60)
        return reserve(ledger, 3)

    with ThreadPoolExecutor(4) as pool:
        given = sorted(slot for slots in pool.map(take, range(4)) for slot in slots)
    assert given == list(range(12))


def test_a_calendar_is_kept_for_a_day_behind_its_last_slot(stores: Stores) -> None:
    """Who changes a limit leaves one behind: the TTL takes it, and none that still says what is taken."""
    if stores.database is None:
        pytest.skip("memory keeps nothing for long")
    pk, sk = keys.calendar_key("acme")
    for _ in range(2):
        last_ms = NOW_MS + reserve(stores.slots, 400)[-1] * 1000
        item = stores.database.get(stores.database.control, {"pk": {"S": pk}, "sk": {"S": sk}})
        assert item is not None
        assert last_ms // 1000 + 86_400 <= int(item[keys.EXPIRES_AT]["N"]) <= last_ms // 1000 + 86_402


def test_a_calendar_that_is_gone_begins_anew(stores: Stores) -> None:
    """Also for a process that remembers it."""
    if stores.database is None:
        pytest.skip("memory keeps nothing for long")
    pk, sk = keys.calendar_key("acme")
    assert reserve(stores.slots, 1) == [0]
    stores.database.client.delete_item(TableName=stores.database.control, Key={"pk": {"S": pk}, "sk": {"S": sk}})
    assert [reserve(stores.slots, 1), reserve(stores.slots, 1)] == [[0], [1]]


@pytest.mark.parametrize("damage", [{"S": "not a calendar"}, {"N": "7"}], ids=["text", "kind"])
def test_a_damaged_calendar_begins_anew(stores: Stores, damage: dict[str, Any]) -> None:
    """It holds up nobody, and is whole again afterwards."""
    if stores.database is None:
        pytest.skip("memory is not damaged")
    pk, sk = keys.calendar_key("acme")
    item = {"pk": {"S": pk}, "sk": {"S": sk}, keys.CALENDAR: damage}
    stores.database.client.put_item(TableName=stores.database.control, Item=item)
    assert [reserve(stores.slots, 1), reserve(stores.slots, 1)] == [[0], [1]]


def test_limits_are_read_as_they_were_set(stores: Stores) -> None:
    """A tenant has one limit or none; setting it again replaces it, and taking one away twice is no error."""
    assert stores.limits.all() == {}
    stores.limits.set("acme", Limits(dispatch=DispatchLimit(500, 1)))
    stores.limits.set("umbrella", Limits(dispatch=DispatchLimit(10_000, 20)))
    stores.limits.set("acme", Limits(dispatch=DispatchLimit(2_500, 3)))
    both = {"acme": Limits(dispatch=DispatchLimit(2_500, 3)), "umbrella": Limits(dispatch=DispatchLimit(10_000, 20))}
    assert stores.limits.all() == both
    stores.limits.set("umbrella", NO_LIMITS)
    stores.limits.set("umbrella", NO_LIMITS)
    assert stores.limits.all() == {"acme": Limits(dispatch=DispatchLimit(2_500, 3))}


def test_a_damaged_limit_harms_no_other(stores: Stores) -> None:
    """It is left out."""
    if stores.database is None:
        pytest.skip("memory is not damaged")
    stores.limits.set("acme", Limits(dispatch=DispatchLimit(500, 1)))
    pk, sk = keys.limit_key("umbrella")
    item = {
        "pk": {"S": pk},
        "sk": {"S": sk},
        "tenant": {"S": "umbrella"},
        "burst": {"N": "0"},
        "rate_milli": {"N": "1"},
    }
    stores.database.client.put_item(TableName=stores.database.control, Item=item)
    assert stores.limits.all() == {"acme": Limits(dispatch=DispatchLimit(500, 1))}


# ----------------------------------------------------------------------------------------------------------- deferrals


@pytest.mark.parametrize("granted", [True, False])
def test_a_deferred_job_is_due_at_its_slot(stores: Stores, granted: bool) -> None:  # noqa: FBT001 - a parameter
    """Its occurrence and its plan stay; version and place in the index change, and a repeat has succeeded."""
    definition = a_definition(granted=not granted)
    stores.jobs.create(definition)
    deferral = JobDeferral(as_due(definition.job), 100, SLOT_MS, granted)
    assert stores.jobs.defer_many([deferral]) == [True]
    moved = replace(definition.job, version=2, next_fire_time=SLOT_MS, granted=granted)
    assert stores.jobs.get(definition.job.id) == replace(definition, job=moved)
    assert stores.due_entries() == [as_due(moved)]
    assert stores.jobs.defer_many([deferral]) == [True]
    assert stores.jobs.defer_many([replace(deferral, until_ms=SLOT_MS + 1)]) == [False]


def test_a_claimed_job_is_not_deferred(stores: Stores) -> None:
    """Nor is one that has moved on, is gone, or has had a newer owner; its neighbours in the batch are."""
    claimed, changed, newer, free = (a_definition() for _ in range(4))
    for definition in (claimed, changed, newer, free):
        stores.jobs.create(definition)
    stores.jobs.claim_many([a_claim(claimed.job)])
    stores.jobs.replace(edited(changed), seen_version=1, seen_revision=1, records=())
    deferrals = [
        JobDeferral(as_due(job), 100, SLOT_MS, granted=True)
        for job in (claimed.job, changed.job, a_job(), replace(newer.job, version=3), free.job)
    ]
    assert stores.jobs.defer_many(deferrals) == [False, False, False, False, True]
    assert {entry.next_fire_time for entry in stores.due_entries()} == {NOW_MS + 60_000, SLOT_MS}


def test_a_segment_is_deferred_by_itself(stores: Stores) -> None:
    """What an edit left of the old plan has a slot of its own; the job stays where it is."""
    before = a_definition()
    stores.jobs.create(before)
    segment = replace(before.job, segment=1)
    after = edited(before, generation=2)
    assert stores.jobs.replace(after, seen_version=1, seen_revision=1, records=(), segment=segment)
    assert stores.jobs.defer_many([JobDeferral(as_due(segment), 100, SLOT_MS, granted=True)]) == [True]
    moved = replace(segment, version=2, next_fire_time=SLOT_MS, granted=True)
    assert stores.due_entries() == [as_due(after.job), as_due(moved)]


def test_a_deferred_run_is_due_at_its_slot(stores: Stores) -> None:
    """It waits with the same number, for the same attempt; whoever read it before has an older record."""
    run = a_run(a_job(), next_fire_time=NOW_MS)
    stores.runs.save(run, seen=None)
    assert stores.runs.defer(as_waiting(run), SLOT_MS, granted=True)
    moved = replace(run, rev=run.rev + 1, next_fire_time=SLOT_MS, granted=True)
    assert stores.runs.get(run.key) == moved
    assert stores.due_entries() == [as_waiting(moved)]


def test_a_run_that_waits_no_more_is_not_deferred(stores: Stores) -> None:
    """Not once it has been sent, nor when it waits for something newer, nor when there is none."""
    run, sent, missing = (a_run(a_job(), next_fire_time=NOW_MS) for _ in range(3))
    for stored in (run, sent):
        stores.runs.save(stored, seen=None)
    assert stores.runs.leave_index(as_waiting(sent))
    older = replace(as_waiting(run), wait=run.wait - 1)
    for entry in (as_waiting(sent), older, as_waiting(missing)):
        assert not stores.runs.defer(entry, SLOT_MS, granted=True)
    assert stores.due_entries() == [as_waiting(run)]
    assert stores.runs.get(missing.key) is None
