"""What a cancelled transaction says, and what is made of it."""

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from carillon.adapters.dynamodb.database import MOST_TRIES, Cancelled, Lost, Written
from carillon.adapters.dynamodb.job_items import job_item
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.dynamodb.spec_items import spec_item
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put, update
from carillon.ports.errors import NameTakenError, UnavailableError
from contract.samples import (
    NOW_MS,
    a_claim,
    a_confirmation,
    a_definition,
    a_skipped,
    cancelled_now,
    confirm_one,
    edited,
)
from contract.wire import Answer, Wire, cancelled, error

KEY = key_of("JOB#1", "JOB")
WRITE = put("jobs", KEY, ABSENT)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_b146_a_failed_condition_is_known_by_its_position(position: int) -> None:
    """B146: the list of reasons names the innocent too; the failed position comes with its old item."""
    reasons = ["None"] * 3
    reasons[position] = "ConditionalCheckFailed"
    wire = Wire([cancelled(*reasons, items={position: KEY})])
    assert wire.database().transact([WRITE] * 3) == Cancelled({position: KEY})


def test_b146_a_failed_condition_without_an_item() -> None:
    """B146: where there was no item, there is none to show."""
    wire = Wire([cancelled("None", "ConditionalCheckFailed")])
    assert wire.database().transact([WRITE] * 2) == Cancelled({1: None})


def test_b146_a_taken_name_is_found_in_position_2() -> None:
    """B146: creating a job whose name fails, third of three writes, names the job that holds it."""
    holder = a_definition(name="daily")
    name_item = {"pk": {"S": "NAME#acme"}, "sk": {"S": "NAME#daily"}, "job_id": {"S": holder.job.id}}
    reasons = cancelled("None", "None", "ConditionalCheckFailed", items={2: name_item})
    wire = Wire([reasons, Answer({"Item": {"state": {"S": "scheduled"}}})])
    with pytest.raises(NameTakenError) as refused:
        DynamoJobStore(wire.database()).create(a_definition(name="daily"))
    assert refused.value.job_id == holder.job.id


@pytest.mark.parametrize(
    "reason", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"]
)
def test_b145_a_conflict_is_waited_out(reason: str) -> None:
    """B145: a conflict with another transaction is no failed condition: the same is tried again, after a pause."""
    wire = Wire([cancelled("None", reason), cancelled(reason, "None"), Answer()])
    assert wire.database().transact([WRITE, WRITE]) is None
    assert wire.operations == ["TransactWriteItems"] * 3
    assert 0 < wire.pauses[0] < wire.pauses[1]


def test_b145_an_edit_that_meets_conflicts_ends_in_a_real_answer() -> None:
    """B145: an edit in the way of a dispatcher is stored after its conflicts."""
    wire = Wire([cancelled("TransactionConflict", "None"), Answer()])
    before = a_definition()
    assert DynamoJobStore(wire.database()).replace(edited(before), seen_version=1, seen_revision=1, records=())


def test_b145_endless_conflicts_are_no_answer() -> None:
    """B145: after the last try it is said that there was no answer; the condition is not said to have failed."""
    wire = Wire([cancelled("TransactionConflict")] * MOST_TRIES)
    with pytest.raises(UnavailableError):
        wire.database().transact([WRITE])
    assert wire.answers == []


def test_a_condition_beside_a_conflict_decides() -> None:
    """Where one condition failed, trying again would not help."""
    wire = Wire([cancelled("ConditionalCheckFailed", "TransactionConflict")])
    assert wire.database().transact([WRITE] * 2) == Cancelled({0: None})


def test_a_transaction_that_is_wrong_is_an_error() -> None:
    """A bug of ours is not tried again, nor taken for a lost race."""
    wire = Wire([cancelled("None", "ValidationError")])
    with pytest.raises(ClientError, match="TransactionCanceled"):
        wire.database().transact([WRITE] * 2)


def test_b145_a_single_write_in_a_conflict_is_waited_out() -> None:
    """B145: a plain write of an item inside a transaction is tried again too."""
    wire = Wire([error("TransactionConflictException"), error("TransactionConflictException"), Answer()])
    assert wire.database().write(WRITE) == Written({})
    wire = Wire([error("TransactionConflictException")] * MOST_TRIES)
    with pytest.raises(UnavailableError):
        wire.database().write(WRITE)


def test_a_single_write_that_lost_brings_the_old_item() -> None:
    """A failed condition is an answer, with or without an item."""
    wire = Wire([error("ConditionalCheckFailedException", Item=KEY), error("ConditionalCheckFailedException")])
    database = wire.database()
    assert database.write(WRITE) == Lost(KEY)
    assert database.write(WRITE) == Lost(None)
    assert {request["ReturnValuesOnConditionCheckFailure"] for _, request in wire.requests} == {"ALL_OLD"}


def test_records_that_exist_are_dropped_and_the_rest_is_tried_again() -> None:
    """A confirm whose second and third record exist is written without them."""
    claim = a_claim(a_definition().job)
    records = tuple(a_skipped(a_definition().job, NOW_MS + offset) for offset in range(4))
    reasons = cancelled("None", "None", "ConditionalCheckFailed", "ConditionalCheckFailed", "None")
    wire = Wire([reasons, Answer()])
    assert confirm_one(DynamoJobStore(wire.database()), a_confirmation(claim, records=records))
    written = [next(iter(part.values())).get("Item", {}) for part in wire.requests[1][1]["TransactItems"]]
    assert [item.get("pk", {}).get("S") for item in written[1:]] == [f"JOB#{records[at].key.job_id}" for at in (0, 3)]


def test_a_confirm_in_a_transaction_is_not_the_owner_of_a_stolen_claim() -> None:
    """The first position decides, whatever became of the records."""
    definition = a_definition()
    claim = a_claim(definition.job)
    reasons = cancelled("ConditionalCheckFailed", "ConditionalCheckFailed")
    confirmation = a_confirmation(claim, records=(a_skipped(definition.job, NOW_MS),))
    assert not confirm_one(DynamoJobStore(Wire([reasons]).database()), confirmation)


def test_a_lost_answer_of_a_create_is_known_by_what_is_stored() -> None:
    """The first two positions fail because our own first try succeeded; the third would fail for another's name too."""
    definition = a_definition(name="daily")
    stored = Answer({"Items": [job_item(definition.job), spec_item(definition.spec)]})
    wire = Wire([cancelled(*["ConditionalCheckFailed"] * 3), stored])
    DynamoJobStore(wire.database()).create(definition)
    assert wire.operations == ["TransactWriteItems", "Query"]


def test_an_edit_without_a_stored_job_is_refused() -> None:
    """Nothing stored, nothing edited."""
    wire = Wire([cancelled("ConditionalCheckFailed", "ConditionalCheckFailed", "None"), Answer({"Items": []})])
    definition = cancelled_now(a_definition(name="daily"))
    assert not DynamoJobStore(wire.database()).replace(definition, seen_version=1, seen_revision=1, records=())


@pytest.mark.parametrize(
    "answer",
    [
        error("ThrottlingException"),
        error("ProvisionedThroughputExceededException"),
        error("RequestLimitExceeded"),
        error("TransactionInProgressException"),
        error("InternalServerError", 500),
        error("ServiceUnavailable", 503),
        Answer({}, 502),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:9"),
        ConnectTimeoutError(endpoint_url="http://127.0.0.1:9"),
        ReadTimeoutError(endpoint_url="http://127.0.0.1:9"),
    ],
    ids=lambda answer: answer.body.get("message", "bare 502") if isinstance(answer, Answer) else type(answer).__name__,
)
def test_silence_is_told_from_refusal(answer: Answer | Exception) -> None:
    """What may succeed later, or may have happened, is reported as no answer."""
    with pytest.raises(UnavailableError):
        Wire([answer]).database().write(WRITE)
    with pytest.raises(UnavailableError):
        Wire([answer]).database().get("jobs", KEY)
    with pytest.raises(UnavailableError):
        Wire([answer]).database().transact([WRITE])


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException", "ResourceNotFoundException"])
def test_a_refusal_for_what_it_is_stays_one(code: str) -> None:
    """Missing rights and malformed requests are errors of ours, to be seen as such."""
    with pytest.raises(ClientError, match=code):
        Wire([error(code)]).database().write(WRITE)


def test_every_name_is_aliased() -> None:
    """Reserved words such as `shard` are never spelled in an expression."""
    values = {":shard": {"N": "1"}}
    request = update("jobs", KEY, "SET #shard = :shard REMOVE #state", "attribute_exists(#pk)", values).request
    assert request["ExpressionAttributeNames"] == {"#pk": "pk", "#shard": "shard", "#state": "state"}


def test_a_job_that_does_not_fit_is_refused_before_it_is_sent() -> None:
    """A payload beyond the size of an item is an error that says how large it was."""
    definition = a_definition(spec={"payload": b"x" * 400 * 1024})
    with pytest.raises(ValueError, match="at most 409600") as refused:
        DynamoJobStore(Wire([]).database()).create(definition)
    assert definition.job.id in str(refused.value)
    spec_item(a_definition(spec={"payload": b"x" * 399 * 1024}).spec)
