"""Records of requests: written on the condition of what was seen, read whole, removed only by whom they belong to."""

from dataclasses import replace

from carillon.domain.idempotency import IdempotencyRecord, KeptAnswer
from contract.backends import Stores
from contract.samples import NOW_MS

FRESH = IdempotencyRecord("f" * 64, NOW_MS, "ab" * 32, NOW_MS + 30_000)
ANSWER = KeptAnswer(201, '{"name": "Grüße"}' * 9_000, {"ETag": '"1"', "Location": "/v1/jobs/x"})


def test_one_of_two_begins(stores: Stores) -> None:
    """The other one sees who was first; tenants and keys do not meet."""
    assert stores.requests.get("acme", "key") is None
    assert stores.requests.put("acme", "key", FRESH, seen=None)
    assert not stores.requests.put("acme", "key", replace(FRESH, seed="cd" * 32), seen=None)
    assert stores.requests.get("acme", "key") == FRESH
    assert stores.requests.put("umbrella", "key", replace(FRESH, seed="ef" * 32), seen=None)
    assert stores.requests.get("acme", "other") is None


def test_one_of_two_takes_over(stores: Stores) -> None:
    """By the lease that it has seen; whoever held it before writes nothing any more."""
    stores.requests.put("acme", "key", FRESH, seen=None)
    taken = replace(FRESH, lease_until=NOW_MS + 60_000)
    assert stores.requests.put("acme", "key", taken, seen=FRESH)
    assert not stores.requests.put("acme", "key", replace(FRESH, lease_until=NOW_MS + 61_000), seen=FRESH)
    stores.requests.forget("acme", "key", FRESH)
    assert stores.requests.get("acme", "key") == taken


def test_an_answer_is_kept_whole(stores: Stores) -> None:
    """A large one, and one without a body."""
    for key, answer in (("large", ANSWER), ("empty", KeptAnswer(204, None))):
        stores.requests.put("acme", key, FRESH, seen=None)
        assert stores.requests.put("acme", key, replace(FRESH, answer=answer), seen=FRESH)
        assert stores.requests.get("acme", key) == replace(FRESH, answer=answer)


def test_what_is_forgotten_is_free(stores: Stores) -> None:
    """By whom it belongs to."""
    stores.requests.put("acme", "key", FRESH, seen=None)
    stores.requests.forget("acme", "key", FRESH)
    stores.requests.forget("acme", "key", FRESH)
    assert stores.requests.get("acme", "key") is None
