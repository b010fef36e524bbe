"""The busy operations of DynamoDB and SQS without a walk over each value.

botocore makes a request and reads an answer by walking the operation's model, value by value, in Python. For the
operations named here that walk changes nothing: their JSON is the request and the answer, no member has another name on
the wire, none is a time. Only bytes differ: requests encode them here, and an answer that may hold some is left to
botocore. So are headers, signatures, retries and errors. What botocore documents as open to change is changed: the
bases of a client's class, by an event, and the factory of parsers, a component of the session.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from botocore.client import BaseClient
from botocore.model import OperationModel
from botocore.parsers import ResponseParserError, ResponseParserFactory
from botocore.serialize import Serializer
from botocore.session import Session

PLAIN_OPERATIONS: Final = frozenset(
    {
        "BatchExecuteStatement",
        "GetItem",
        "PutItem",
        "Query",
        "SendMessageBatch",
        "TransactWriteItems",
        "UpdateItem",
    }
)
PLAIN_ANSWERS: Final = frozenset(
    {"BatchExecuteStatementOutput", "GetItemOutput", "QueryOutput", "SendMessageBatchResult"}
)
"""Shapes of the answers that may be long."""

_OTHER_THAN_JSON: Final = re.compile(rb'"BS?"\s*:|null')
"""What a walk would change, or leave out. A text may hold the same: then the answer is walked for nothing."""
_FIRST_ERROR_STATUS: Final = 300


def use_plain_json(session: Session) -> None:
    """Let the clients that a session makes from now on write and read the busy operations as they are."""
    session.register("creating-client-class", _add_base)
    session.register_component("response_parser_factory", PlainParsers())


class PlainSerializer(Serializer):
    """Requests whose parameters are their document; others, and the headers of all, by botocore's serializer."""

    def __init__(self, by_model: Serializer) -> None:
        super().__init__()
        self._by_model = by_model

    def serialize_to_request(self, parameters: Mapping[str, Any], operation_model: OperationModel) -> dict[str, Any]:
        """The parts of a request."""
        if operation_model.name not in PLAIN_OPERATIONS:
            return self._by_model.serialize_to_request(parameters, operation_model)
        headers_alone = self._by_model.serialize_to_request({}, operation_model)
        return {**headers_alone, "body": _encode(parameters).encode()}


class PlainParser:
    """Answers whose document is what they say; others, and the metadata of all, by botocore's parser."""

    def __init__(self, by_model: Any) -> None:
        self._by_model = by_model

    def parse(self, response: dict[str, Any], shape: Any) -> dict[str, Any]:
        """The answer.

        Raises:
            ResponseParserError: what came is no answer.
        """
        if not _is_plain(response, shape):
            whole: dict[str, Any] = self._by_model.parse(response, shape)
            return whole
        metadata: dict[str, Any] = self._by_model.parse({**response, "body": b""}, shape)
        return _document(response["body"]) | metadata


class PlainParsers(ResponseParserFactory):
    """botocore's factory of parsers, but for JSON."""

    def create_parser(self, protocol_name: str) -> Any:
        """A parser of a protocol."""
        parser = super().create_parser(protocol_name)
        return PlainParser(parser) if protocol_name == "json" else parser


class _PlainClient(BaseClient):
    def __init__(self, *, serializer: Any, **others: Any) -> None:
        super().__init__(serializer=PlainSerializer(serializer), **others)


def _add_base(**creating: Any) -> None:
    creating["base_classes"].insert(0, _PlainClient)


def _is_plain(response: dict[str, Any], shape: Any) -> bool:
    return (
        response["status_code"] < _FIRST_ERROR_STATUS
        and shape is not None
        and shape.name in PLAIN_ANSWERS
        and not _OTHER_THAN_JSON.search(response["body"])
    )


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise ResponseParserError("the answer is not JSON") from error
    if not isinstance(document, dict):
        raise ResponseParserError("the answer is not a JSON object")
    return document


def _as_base64(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} has no place in a request")
    return b64encode(value).decode()


_encode = json.JSONEncoder(separators=(",", ":"), default=_as_base64).encode
