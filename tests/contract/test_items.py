"""What lies in the tables: forms that stored items have for good."""

import pytest

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Item
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.run_items import run_item
from carillon.adapters.dynamodb.writes import key_of
from carillon.domain.job import JobState
from carillon.domain.planning import UnreadableEntry
from carillon.domain.run import RunState
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
    as_waiting,
    cancelled_now,
    confirm_one,
)


@pytest.fixture(params=["moto", LIVE])
def world(request: pytest.FixtureRequest) -> str:
    """Only tables hold items."""
    return str(request.param)


def items(stores: Stores, table: str = "jobs") -> dict[str, Item]:
    """All items of a table by their sort key."""
    assert stores.database is not None
    name = stores.database.jobs if table == "jobs" else stores.database.control
    found: list[Item] = stores.database.client.scan(TableName=name)["Items"]
    return {item["sk"]["S"]: item for item in found}


def has_left_the_index(item: Item) -> bool:
    """An item leaves the due index by losing its shard; it keeps the one to come back to."""
    return k.SHARD not in item and k.NEXT_FIRE_TIME not in item and item[k.HOME_SHARD] == {"N": "1"}


def test_a_job_is_two_items_and_a_name(stores: Stores) -> None:
    """The keys are those that people and later versions look for."""
    definition = a_definition(name="daily")
    stores.jobs.create(definition)
    assert set(items(stores)) == {"JOB", "JOB#SPEC"}
    assert {item["pk"]["S"] for item in items(stores).values()} == {f"JOB#{definition.job.id}"}
    name = items(stores, "control")["NAME#daily"]
    assert name == {
        "pk": {"S": "NAME#acme"},
        "sk": {"S": "NAME#daily"},
        "job_id": {"S": definition.job.id},
    }


def test_what_ends_a_job_takes_its_shard(stores: Stores) -> None:
    """A confirmed last occurrence, a cancel, an error and an unreadable entry all leave no shard behind."""
    definition = a_definition()
    stores.jobs.create(definition)
    claim = a_claim(definition.job)
    stores.jobs.claim_many([claim])
    confirm_one(stores.jobs, a_confirmation(claim, upcoming=None, state=JobState.COMPLETED))
    assert has_left_the_index(items(stores)["JOB"])

    other = a_definition(id=definition.job.id)
    assert stores.database is not None
    for leave in (
        lambda: stores.jobs.set_error(as_due(other.job), "broken"),
        lambda: stores.jobs.replace(cancelled_now(other), seen_version=1, seen_revision=1, records=()),
        lambda: stores.due.set_aside(UnreadableEntry(k.job_pk(other.job.id), "JOB", 1, "damaged")),
    ):
        damaged = job_item(other.job) | {k.RULES: {"N": "1"}}
        stores.database.client.put_item(TableName=stores.database.jobs, Item=damaged)
        leave()
        assert has_left_the_index(items(stores)["JOB"])


def test_a_dead_letter_is_in_the_index_of_its_tenant(stores: Stores) -> None:
    """A dead-lettered run is found by tenant, newest last, while it is one."""
    job = a_job()
    dead = a_full_run(job)
    stores.runs.save(dead, seen=None)
    stores.runs.save(a_skipped(job, NOW_MS + 1), seen=None)
    assert stores.database is not None
    values = {":tenant": {"S": "acme"}}

    def found() -> list[Item]:
        assert stores.database is not None
        pages = stores.database.query(stores.database.jobs, f"#{k.DEAD_TENANT} = :tenant", values, index=k.DEAD_INDEX)
        return [item for page in pages for item in page]

    assert [(item["sk"]["S"], item[k.DEAD_AT]) for item in found()] == [
        (k.run_sk(dead.key.name), {"N": str(dead.ended_at)})
    ]
    stores.runs.save(a_run(job, rev=3, state=RunState.QUEUED), seen=2)
    assert found() == []


def test_a_waiting_run_keeps_only_its_shard_in_the_index(stores: Stores) -> None:
    """Leaving the index costs a run its shard, nothing else."""
    run = a_run(a_job())
    stores.runs.save(run, seen=None)
    stores.runs.leave_index(as_waiting(run))
    before, after = run_item(run), items(stores)[k.run_sk(run.key.name)]
    assert after == {name: value for name, value in before.items() if name != k.SHARD}


def test_a_name_left_behind_by_a_cancelled_job_is_free(stores: Stores) -> None:
    """A name that still points to a cancelled job does not stand in the way of a new one."""
    former = a_definition()
    stores.jobs.create(former)
    stores.jobs.replace(cancelled_now(former), seen_version=1, seen_revision=1, records=())
    assert stores.database is not None
    left = key_of(*k.name_key("acme", "daily")) | {k.JOB_ID: {"S": former.job.id}}
    stores.database.client.put_item(TableName=stores.database.control, Item=left)
    stores.jobs.create(a_definition(name="daily"))


def test_a_message_set_aside_is_cut_and_removed_after_90_days(stores: Stores) -> None:
    """A person finds the beginning of the message, why it was set aside, and when; TTL removes it."""
    stores.quarantine.set_aside("m-1", "x" * 5_000, "not JSON", NOW_MS)
    stores.quarantine.set_aside("m-1", "second copy", "not JSON", NOW_MS + 1)
    assert items(stores, "control")["m-1"] == {
        "pk": {"S": "QUARANTINE#2026-09-21"},
        "sk": {"S": "m-1"},
        "body": {"S": "x" * 1024},
        "reason": {"S": "not JSON"},
        "kept_at": {"N": str(NOW_MS)},
        "expires_at": {"N": str(NOW_MS // 1000 + 90 * 86_400)},
    }


def test_leases_and_ledgers_lie_where_their_names_say(stores: Stores) -> None:
    """One item for each group, one for each ledger."""
    stores.leases.take(3, "a", NOW_MS, 10_000)
    stores.shards.raise_to(8)
    stores.ticks.begin("a", NOW_MS, 10_000)
    found = {(item["pk"]["S"], sort_key) for sort_key, item in items(stores, "control").items()}
    assert found == {("GROUP#3", "LEASE"), ("SHARDS", "HIGHEST"), ("TICKS", "COVERED")}
