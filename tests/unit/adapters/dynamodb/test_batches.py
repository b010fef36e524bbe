"""Batches succeed in parts: what was put off is asked for again, what failed is told apart."""

import pytest

from carillon.adapters.dynamodb.database import MOST_TRIES
from carillon.adapters.dynamodb.fenced import BatchedUpdates, SingleUpdates
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.dynamodb.writes import key_of
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import Claimed, ClaimRefused
from contract.samples import a_claim, a_definition
from contract.wire import Answer, Wire, error

KEYS = [key_of(f"JOB#{number}", "JOB") for number in range(3)]


def test_unprocessed_keys_are_asked_for_again() -> None:
    """A batch that was answered in part is asked for the rest, until there is none."""
    answers = [
        Answer({"Responses": {"jobs": [KEYS[0]]}, "UnprocessedKeys": {"jobs": {"Keys": KEYS[1:]}}}),
        Answer({"Responses": {"jobs": []}, "UnprocessedKeys": {"jobs": {"Keys": KEYS[1:]}}}),
        Answer({"Responses": {"jobs": KEYS[1:]}, "UnprocessedKeys": {}}),
    ]
    wire = Wire(answers)
    assert list(wire.database().get_many("jobs", KEYS)) == KEYS
    assert [request["RequestItems"]["jobs"]["Keys"] for _, request in wire.requests] == [KEYS, KEYS[1:], KEYS[1:]]
    assert len(wire.pauses) == 2


def test_keys_that_stay_unprocessed_are_no_answer() -> None:
    """A list with holes is not given for a whole one."""
    wire = Wire([Answer({"Responses": {}, "UnprocessedKeys": {"jobs": {"Keys": KEYS}}})] * MOST_TRIES)
    with pytest.raises(UnavailableError):
        list(wire.database().get_many("jobs", KEYS))


def test_more_keys_than_a_batch_holds() -> None:
    """A hundred keys go in one request."""
    keys = [key_of(f"JOB#{number}", "JOB") for number in range(201)]
    wire = Wire([Answer({"Responses": {"jobs": []}})] * 3)
    assert list(wire.database().get_many("jobs", keys)) == []
    assert [len(request["RequestItems"]["jobs"]["Keys"]) for _, request in wire.requests] == [100, 100, 1]


def test_b188_pages_are_followed_to_the_end() -> None:
    """B188: a page with nothing on it is not the end; the end is where no place to go on from is given."""
    pages = [
        Answer({"Items": [], "LastEvaluatedKey": KEYS[0]}),
        Answer({"Items": [KEYS[1]], "LastEvaluatedKey": KEYS[1]}),
        Answer({"Items": []}),
    ]
    wire = Wire(pages)
    found = list(wire.database().query("jobs", "#pk = :pk", {":pk": {"S": "JOB#1"}}))
    assert found == [[], [KEYS[1]], []]
    assert [request.get("ExclusiveStartKey") for _, request in wire.requests] == [None, KEYS[0], KEYS[1]]


DEFINITIONS = [a_definition() for _ in range(3)]
CLAIMS = [a_claim(definition.job, f"{number:026}") for number, definition in enumerate(DEFINITIONS)]
ITEM = job_item(DEFINITIONS[0].job)
HELD: dict[str, object] = {}
REFUSED = {"Error": {"Code": "ConditionalCheckFailed", "Message": "no", "Item": ITEM}}


def put_off(code: str) -> dict[str, object]:
    """A statement's answer that it is to come again."""
    return {"Error": {"Code": code, "Message": "later"}}


def batched(wire: Wire) -> DynamoJobStore:
    """A store that claims in batches."""
    return DynamoJobStore(wire.database(), transport=BatchedUpdates())


def test_a_batch_of_claims_fails_in_parts() -> None:
    """An answer of success holds a refusal: only that claim is refused, and it learns the stored job."""
    wire = Wire([Answer({"Responses": [REFUSED, HELD, HELD]})])
    first, second, third = batched(wire).claim_many(CLAIMS)
    assert first == ClaimRefused(CLAIMS[0], DEFINITIONS[0].job)
    assert (second, third) == (Claimed(CLAIMS[1]), Claimed(CLAIMS[2]))


@pytest.mark.parametrize(
    "code", ["ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict", "InternalServerError"]
)
def test_claims_that_were_put_off_are_asked_for_again(code: str) -> None:
    """Only what was put off is asked for again, and each answer stays at its place."""
    wire = Wire([Answer({"Responses": [HELD, put_off(code), HELD]}), Answer({"Responses": [HELD]})])
    assert batched(wire).claim_many(CLAIMS) == [Claimed(claim) for claim in CLAIMS]
    assert [len(request["Statements"]) for _, request in wire.requests] == [3, 1]


def test_a_claim_put_off_for_ever_does_not_hold() -> None:
    """What has no answer after all tries is not held; the others are."""
    answers = [Answer({"Responses": [HELD, put_off("ThrottlingError"), HELD]})]
    wire = Wire(answers + [Answer({"Responses": [put_off("ThrottlingError")]})] * (MOST_TRIES - 1))
    assert batched(wire).claim_many(CLAIMS) == [Claimed(CLAIMS[0]), ClaimRefused(CLAIMS[1], None), Claimed(CLAIMS[2])]


def test_a_batch_of_claims_that_is_wrong_is_an_error() -> None:
    """A missing right is not taken for a lost race."""
    wire = Wire([Answer({"Responses": [put_off("AccessDenied"), HELD, HELD]})])
    with pytest.raises(RuntimeError, match="AccessDenied"):
        batched(wire).claim_many(CLAIMS)


def test_silence_after_some_batches_keeps_what_they_said() -> None:
    """Claims that hold are dispatched, though the store went silent after them; the rest is left for later."""
    claims = [a_claim(a_definition().job, f"{number:026}") for number in range(60)]
    wire = Wire([Answer({"Responses": [HELD] * 25}), error("ThrottlingException")])
    results = batched(wire).claim_many(claims)
    assert results == [Claimed(c) for c in claims[:25]] + [ClaimRefused(c, None) for c in claims[25:]]
    assert wire.answers == []


@pytest.mark.parametrize("transport", [SingleUpdates(), SingleUpdates(threads=2), BatchedUpdates()])
def test_silence_from_the_start_is_no_answer(transport: SingleUpdates | BatchedUpdates) -> None:
    """When nothing was answered, the caller learns that the store is silent."""
    wire = Wire([error("ThrottlingException")] * 2)
    with pytest.raises(UnavailableError):
        DynamoJobStore(wire.database(), transport=transport).claim_many(CLAIMS)


def test_single_claims_stop_at_silence() -> None:
    """A store that went silent is not asked for each of the remaining claims."""
    wire = Wire([Answer(), error("ThrottlingException")])
    results = DynamoJobStore(wire.database()).claim_many(CLAIMS)
    assert results == [Claimed(CLAIMS[0]), ClaimRefused(CLAIMS[1], None), ClaimRefused(CLAIMS[2], None)]


def test_a_lost_answer_of_a_batch_is_known_by_its_claim() -> None:
    """A claim refused because our own first try succeeded holds."""
    mine = ITEM | {"claim_id": {"S": CLAIMS[0].claim_id}, "lease_until": {"N": "1"}}
    refused = {"Error": {"Code": "ConditionalCheckFailed", "Message": "no", "Item": mine}}
    wire = Wire([Answer({"Responses": [refused]})])
    assert batched(wire).claim_many(CLAIMS[:1]) == [Claimed(CLAIMS[0])]


def test_a_job_comes_once_in_a_batch() -> None:
    """A batch in which one item comes twice would be refused as a whole."""
    twice = [CLAIMS[0], CLAIMS[1], a_claim(DEFINITIONS[0].job, "Z" * 26)]
    wire = Wire([Answer({"Responses": [HELD, HELD]}), Answer({"Responses": [REFUSED]})])
    results = batched(wire).claim_many(twice)
    assert [type(result) for result in results] == [Claimed, Claimed, ClaimRefused]
