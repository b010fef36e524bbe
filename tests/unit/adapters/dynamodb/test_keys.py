"""The names of the tables, and what they are made of."""

import pytest

from carillon.adapters.dynamodb import keys
from carillon.adapters.dynamodb.attributes import size_of
from carillon.adapters.dynamodb.claims import claim_update
from carillon.adapters.dynamodb.confirms import confirm_update
from carillon.adapters.dynamodb.spec_items import spec_item
from contract.samples import a_claim, a_confirmation, a_definition


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (keys.job_pk("job_1"), "JOB#job_1"),
        (keys.run_sk("20261012T023000000Z"), "RUN#20261012T023000000Z"),
        (keys.tenant_pk("acme"), "TENANT#acme"),
        (keys.secret_key("acme", "sec_1"), ("TENANT#acme", "SECRET#sec_1")),
        (keys.api_key_key("01J"), ("KEY#01J", "KEY")),
        (keys.name_key("acme", "daily"), ("NAME#acme", "NAME#daily")),
        (keys.group_key(3), ("GROUP#3", "LEASE")),
        (keys.quarantine_key("2026-10-12", "m"), ("QUARANTINE#2026-10-12", "m")),
        (keys.job_id_in("JOB#job_1"), "job_1"),
        (keys.job_id_in("TENANT#acme"), None),
        (keys.run_name_in("RUN#x"), "x"),
        (keys.run_name_in("JOB"), None),
    ],
)
def test_keys_read_as_agreed(key: object, expected: object) -> None:
    """Whoever looks into the tables finds these forms, and stored items keep them for good."""
    assert key == expected


def test_a_claim_writes_nothing_that_an_index_shows() -> None:
    """Else each claim would cost the index a write."""
    shown = {*keys.DUE_PROJECTION, *keys.BY_TENANT_PROJECTION, keys.SHARD, keys.NEXT_FIRE_TIME, keys.TENANT}
    claim = claim_update("jobs", a_claim(a_definition().job))
    assert set(claim.sets) == {keys.LEASE_EPOCH, keys.LEASE_UNTIL, keys.CLAIM_ID, keys.DECIDED_AT}
    assert not {*claim.sets, *claim.removes} & shown


def test_a_confirm_writes_nothing_that_lists_show() -> None:
    """Else each run would cost the index by tenant a write."""
    end = confirm_update("jobs", a_confirmation(a_claim(a_definition().job)))
    assert not {*end.sets, *end.removes} & {*keys.BY_TENANT_PROJECTION, keys.TENANT, keys.LISTED}


def test_no_index_takes_more_attributes_than_are_allowed() -> None:
    """DynamoDB allows 100 projected attributes over all indexes of a table, and 20 of one index."""
    indexes = keys.jobs_table("jobs")["GlobalSecondaryIndexes"]
    counts = [len(index["Projection"].get("NonKeyAttributes", ())) for index in indexes]
    assert max(counts) <= 20
    assert sum(counts) <= 100


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"a": {"S": "ä"}}, 3),
        ({"a": {"B": b"123"}}, 4),
        ({"n": {"N": "1234"}}, 5),
        ({"m": {"M": {"k": {"S": "v"}}}}, 7),
        ({"b": {"BOOL": True}}, 2),
    ],
)
def test_sizes_are_counted_as_documented(item: dict[str, dict[str, object]], size: int) -> None:
    """Names count by their bytes, texts in UTF-8, maps with their overhead."""
    assert size_of(item) == size


def test_a_payload_is_stored_as_bytes() -> None:
    """Bytes that are no text are kept as they are."""
    assert spec_item(a_definition(spec={"payload": b"\xff\x00"}).spec)["payload"] == {"B": b"\xff\x00"}
