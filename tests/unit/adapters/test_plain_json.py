"""Requests and answers of the busy operations go over the wire as they are, and mean what botocore would have said."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.model import ListShape, MapShape, Shape, StructureShape
from botocore.parsers import JSONParser
from botocore.serialize import JSONSerializer

from carillon.adapters.aws import ask
from carillon.adapters.plain_json import PLAIN_ANSWERS, PLAIN_OPERATIONS, PlainParser, PlainSerializer
from carillon.ports.errors import UnavailableError
from contract.backends import a_session
from contract.wire import Answer, Wire, error

ITEM = {"pk": {"S": "JOB#1"}, "n": {"N": "7"}, "gone": {"BOOL": True}, "labels": {"M": {"é": {"S": '✓ "quoted"'}}}}
REQUESTS: dict[str, dict[str, Any]] = {
    "BatchExecuteStatement": {"Statements": [{"Statement": 'UPDATE "t" SET a=?', "Parameters": [{"N": "1"}]}]},
    "GetItem": {"TableName": "t", "Key": {"pk": {"S": "é"}}, "ConsistentRead": True},
    "PutItem": {"TableName": "t", "Item": {**ITEM, "payload": {"B": b"\x00\xff"}, "parts": {"BS": [b"1", b"2"]}}},
    "Query": {"TableName": "t", "ExpressionAttributeValues": {":a": {"L": [{"NULL": True}]}}, "Limit": 3},
    "SendMessageBatch": {"QueueUrl": "q", "Entries": [{"Id": "0", "MessageBody": "{}", "DelaySeconds": 3}]},
    "TransactWriteItems": {"TransactItems": [{"Put": {"TableName": "t", "Item": ITEM}}], "ClientRequestToken": "x"},
    "UpdateItem": {"TableName": "t", "Key": ITEM, "UpdateExpression": "SET #a = :a"},
}
ANSWERS: dict[str, dict[str, Any]] = {
    "BatchExecuteStatement": {"Responses": [{}, {"Error": {"Code": "ConditionalCheckFailed", "Item": ITEM}}]},
    "GetItem": {"Item": ITEM, "ConsumedCapacity": {"TableName": "t", "CapacityUnits": 0.5}},
    "Query": {"Items": [ITEM, ITEM], "Count": 2, "ScannedCount": 2, "LastEvaluatedKey": {"pk": {"S": "é"}}},
    "SendMessageBatch": {"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": "d"}], "Failed": []},
}


def operation(name: str) -> Any:
    """The model of an operation."""
    return a_session().get_service_model("sqs" if name == "SendMessageBatch" else "dynamodb").operation_model(name)


def shapes(shape: Shape, seen: frozenset[str] = frozenset()) -> Iterator[Shape]:
    """All shapes in a shape."""
    yield shape
    if shape.name in seen:
        return
    below = seen | {shape.name}
    match shape:
        case StructureShape():
            inner = list(shape.members.values())
        case ListShape():
            inner = [shape.member]
        case MapShape():
            inner = [shape.key, shape.value]
        case _:
            inner = []
    for each in inner:
        yield from shapes(each, below)


@pytest.mark.parametrize("name", sorted(PLAIN_OPERATIONS))
def test_the_document_of_a_plain_operation_is_its_request(name: str) -> None:
    """Nothing in it has another name on the wire, and nothing but bytes has another form."""
    for shape in shapes(operation(name).input_shape):
        assert "name" not in shape.serialization
        assert shape.type_name not in {"timestamp", "float", "double"}


def test_the_document_of_a_plain_answer_is_what_it_says() -> None:
    """Nothing in it has another name on the wire, and nothing but bytes has another form; all are covered here."""
    outputs = {operation(name).output_shape.name: operation(name).output_shape for name in PLAIN_OPERATIONS}
    assert outputs.keys() >= PLAIN_ANSWERS
    for shape in (each for name in PLAIN_ANSWERS for each in shapes(outputs[name])):
        assert "name" not in shape.serialization
        assert shape.type_name != "timestamp"


@pytest.mark.parametrize("name", sorted(PLAIN_OPERATIONS))
def test_a_request_is_what_botocore_would_have_written(name: str) -> None:
    """Headers, address and document are the same; only blanks are spared."""
    theirs = JSONSerializer().serialize_to_request(REQUESTS[name], operation(name))
    ours = PlainSerializer(JSONSerializer()).serialize_to_request(REQUESTS[name], operation(name))
    assert json.loads(ours.pop("body")) == json.loads(theirs.pop("body"))
    assert ours == theirs


@pytest.mark.parametrize(
    ("name", "body"),
    [
        *((name, json.dumps(answer)) for name, answer in ANSWERS.items()),
        *((name, json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) for name, answer in ANSWERS.items()),
        ("GetItem", '{"Item":{"payload":{"B":"AP8="}}}'),
        ("GetItem", '{"Item": {"parts": {"BS": ["MQ==", "Mg=="]}}}'),
        ("Query", '{"Items":[{"text":{"S":"null \\"B\\": "}}],"LastEvaluatedKey":null}'),
        ("SendMessageBatch", "{}"),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_answer_is_what_botocore_would_have_read(name: str, body: str, status: int) -> None:
    """So are its metadata, whatever its status."""
    response = {"status_code": status, "headers": {"x-amzn-RequestId": "r1"}, "body": body.encode(), "context": {}}
    shape = operation(name).output_shape
    assert PlainParser(JSONParser()).parse(response, shape) == JSONParser().parse(response, shape)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"Items": [', b"[]", b"\xff"])
def test_a_page_that_is_no_answer_is_not_taken_for_an_empty_one(body: bytes) -> None:
    """An index that answers rubbish has not said that nothing is due: it has not answered."""
    with pytest.raises(UnavailableError, match="ResponseParserError"):
        ask(Wire([Answer(raw=body)]).client().query, **REQUESTS["Query"])


def test_the_clients_of_the_functions_are_plain() -> None:
    """What is asked and answered arrives through a real client, errors and their old items included."""
    wire = Wire([Answer(ANSWERS["Query"]), Answer(ANSWERS["BatchExecuteStatement"]), error("ValidationException")])
    client = wire.client()
    assert client.query(**REQUESTS["Query"])["Items"] == [ITEM, ITEM]
    assert client.batch_execute_statement(**REQUESTS["BatchExecuteStatement"])["Responses"][1]["Error"]["Item"] == ITEM
    with pytest.raises(client.exceptions.ClientError, match="ValidationException"):
        client.get_item(**REQUESTS["GetItem"])
    assert [request for _, request in wire.requests] == [
        REQUESTS[name] for name in ("Query", "BatchExecuteStatement", "GetItem")
    ]


def test_what_has_no_place_in_a_request_is_refused() -> None:
    """A value that is neither JSON nor bytes is a mistake of ours, told before anything is sent."""
    with pytest.raises(TypeError, match="set has no place"):
        PlainSerializer(JSONSerializer()).serialize_to_request({"Key": {1}}, operation("GetItem"))
