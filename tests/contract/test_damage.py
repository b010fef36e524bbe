"""Damaged items are seen as such, set aside alone, and never stop their neighbours."""

from typing import Any

import pytest

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Item
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.run_items import run_item
from carillon.adapters.dynamodb.spec_items import spec_item
from carillon.domain.planning import UnreadableEntry
from carillon.ports.errors import UnreadableItemError
from carillon.ports.jobs import Claimed, ClaimRefused
from contract.backends import Stores
from contract.conftest import LIVE
from contract.samples import (
    NOW_MS,
    a_claim,
    a_confirmation,
    a_definition,
    a_full_run,
    a_job,
    a_run,
    a_skipped,
    as_due,
    confirm_one,
)


@pytest.fixture(params=["moto", LIVE])
def world(request: pytest.FixtureRequest) -> str:
    """Values in memory cannot be damaged in these ways."""
    return str(request.param)


def plant(stores: Stores, item: Item) -> None:
    """Write an item as it is."""
    assert stores.database is not None
    stores.database.client.put_item(TableName=stores.database.jobs, Item=item)


def read(stores: Stores, item: Item) -> Item:
    """The stored item of the same key."""
    assert stores.database is not None
    stored = stores.database.get(stores.database.jobs, {name: item[name] for name in (k.PK, k.SK)})
    assert stored is not None
    return stored


def without(item: Item, name: str) -> Item:
    """The item without an attribute."""
    return {key: value for key, value in item.items() if key != name}


JOB = job_item(a_job())
RUN = run_item(a_run(a_job()))
STRANGE: dict[str, Any] = {
    "no kind": without(JOB, k.KIND),
    "kind of no known sort": JOB | {k.KIND: {"S": "banana"}},
    "kind of the wrong type": JOB | {k.KIND: {"N": "1"}},
    "version missing": without(JOB, k.VERSION),
    "version as text": JOB | {k.VERSION: {"S": "1"}},
    "version broken": JOB | {k.VERSION: {"N": "1.5"}},
    "scheduled_for missing": without(JOB, k.SCHEDULED_FOR),
    "priority unheard of": JOB | {k.PRIORITY: {"S": "urgent"}},
    "lane null": JOB | {k.LANE: {"NULL": True}},
    "tenant as a list": JOB | {k.SCHEDULE: {"L": []}},
    "no job's key": JOB | {k.PK: {"S": "JOB#nonsense"}},
    "foreign key": JOB | {k.PK: {"S": "THING#1"}},
    "no run's key": RUN | {k.SK: {"S": "JOB#SPEC#1"}},
    "run of no time": RUN | {k.SK: {"S": "RUN#20261399T000000000Z"}},
    "wait missing": without(RUN, k.WAIT),
}


@pytest.mark.parametrize("item", STRANGE.values(), ids=STRANGE)
def test_a_damaged_entry_is_shown_as_such_among_its_neighbours(stores: Stores, item: Item) -> None:
    """The neighbours are read; the damaged one can be set aside, stays in the table, and is due no more."""
    before, after = a_definition(next_fire_time=NOW_MS), a_definition(next_fire_time=NOW_MS + 999_999)
    stores.jobs.create(before)
    stores.jobs.create(after)
    plant(stores, item)
    first, damaged, last = stores.due_entries()
    assert (first, last) == (as_due(before.job), as_due(after.job))
    assert isinstance(damaged, UnreadableEntry)
    assert (damaged.pk, damaged.sk, damaged.shard) == (item[k.PK]["S"], item[k.SK]["S"], 1)
    stores.due.set_aside(damaged)
    stores.due.set_aside(damaged)
    assert stores.due_entries() == [as_due(before.job), as_due(after.job)]
    assert read(stores, item)[k.STATE] == {"S": "error"}
    assert read(stores, item)[k.ERROR]["S"] == damaged.reason


def test_what_was_repaired_meanwhile_is_not_set_aside(stores: Stores) -> None:
    """An entry that the index still shows as damaged, but the table does not, goes on."""
    definition = a_definition()
    stores.jobs.create(definition)
    entry = UnreadableEntry(k.job_pk(definition.job.id), k.JOB_SK, 1, "was damaged")
    stores.due.set_aside(entry)
    assert stores.due_entries() == [as_due(definition.job)]


def test_setting_a_missing_item_aside_makes_none(stores: Stores) -> None:
    """An entry whose item is gone leaves nothing behind."""
    stores.due.set_aside(UnreadableEntry(k.job_pk("nobody"), k.JOB_SK, 1, "damaged"))
    assert stores.database is not None
    assert stores.database.client.scan(TableName=stores.database.jobs)["Items"] == []


DAMAGED_JOBS: dict[str, Any] = {
    "lease": ("job", {k.LEASE_UNTIL: {"S": "soon"}}),
    "state": ("job", {k.STATE: {"S": "sleeping"}}),
    "target": ("spec", {k.TARGET: {"S": '{"url": 1'}}),
    "target fields": ("spec", {k.TARGET: {"S": '{"url": "https://x.example"}'}}),
    "retry": ("spec", {k.RETRY: {"S": "[]"}}),
    "revisions": ("spec", {k.REVISIONS: {"S": '[[1,0,"banana"]]'}}),
    "revisions of no form": ("spec", {k.REVISIONS: {"S": "7"}}),
    "labels": ("spec", {k.LABELS: {"M": {"team": {"N": "1"}}}}),
    "payload": ("spec", {k.PAYLOAD: {"S": "text"}}),
}


@pytest.mark.parametrize(("half", "damage"), DAMAGED_JOBS.values(), ids=DAMAGED_JOBS)
def test_a_damaged_job_is_refused_by_name_and_left_out_of_lists(stores: Stores, half: str, damage: Item) -> None:
    """Reading it says which item and what is wrong with it; lists show the others."""
    whole, damaged = a_definition(), a_definition()
    stores.jobs.create(whole)
    stores.jobs.create(damaged)
    plant(stores, (job_item(damaged.job) if half == "job" else spec_item(damaged.spec)) | damage)
    with pytest.raises(UnreadableItemError, match=damaged.job.id):
        stores.jobs.get(damaged.job.id)
    assert stores.jobs.list_newest("acme", 10, None).definitions == (whole,)


def test_a_job_without_its_other_half_is_refused(stores: Stores) -> None:
    """Half a job is no job."""
    job = a_job()
    plant(stores, job_item(job))
    with pytest.raises(UnreadableItemError, match="other half"):
        stores.jobs.get(job.id)


def test_a_job_whose_lease_is_damaged_is_set_aside_by_its_claim(stores: Stores) -> None:
    """No owner could ever claim it, and none could take it over: it leaves the index, its neighbours are claimed."""
    damaged, whole = a_definition(), a_definition()
    stores.jobs.create(damaged)
    stores.jobs.create(whole)
    plant(stores, job_item(damaged.job) | {k.LEASE_UNTIL: {"S": "soon"}})
    claims = [a_claim(damaged.job), a_claim(whole.job)]
    assert stores.jobs.claim_many(claims) == [ClaimRefused(claims[0], None), Claimed(claims[1])]
    assert stores.due_entries() == [as_due(whole.job)]
    assert read(stores, job_item(damaged.job))[k.STATE] == {"S": "error"}


def test_a_job_damaged_meanwhile_is_no_error_of_ours(stores: Stores) -> None:
    """Setting an error, or confirming, against an item that can no longer be read is refused, and stops nobody."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    plant(stores, job_item(definition.job) | {k.VERSION: {"S": "1"}})
    assert not stores.jobs.set_error(claim.entry, "broken")
    assert not confirm_one(stores.jobs, a_confirmation(claim))
    assert not confirm_one(stores.jobs, a_confirmation(claim, records=(a_skipped(definition.job, NOW_MS),)))


DAMAGED_RUNS: dict[str, Item] = {
    "state": {k.STATE: {"S": "sleeping"}},
    "rev": {k.REV: {"S": "1"}},
    "attempts": {k.ATTEMPTS: {"S": '[{"number": 1}]'}},
    "attempts of no form": {k.ATTEMPTS: {"S": "{}}"}},
    "attempt of no form": {k.ATTEMPTS: {"S": "[7]"}},
    "block": {k.BLOCK: {"S": "[1]"}},
}


@pytest.mark.parametrize("damage", DAMAGED_RUNS.values(), ids=DAMAGED_RUNS)
def test_a_damaged_run_is_refused_by_name_and_left_out_of_lists(stores: Stores, damage: Item) -> None:
    """Reading it says which item and what is wrong with it; lists show the others, and end as they should."""
    job = a_job()
    damaged, whole = a_full_run(job), a_run(job, NOW_MS + 1)
    plant(stores, run_item(damaged) | damage)
    stores.runs.save(whole, seen=None)
    with pytest.raises(UnreadableItemError, match=job.id):
        stores.runs.get(damaged.key)
    assert stores.runs.list_newest(job.id, 10, None).runs == (whole,)
    page = stores.runs.list_newest(job.id, 1, None)
    assert stores.runs.list_newest(job.id, 1, page.next_before).next_before is None
