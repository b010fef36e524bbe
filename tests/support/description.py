"""Holds answers, and requests that were accepted, against the published description of the interface.

Every test that calls the API through `ApiUnderTest` does so: whatever it provokes has to be described, to the member.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import jsonschema_rs

Json = Any

PROBLEM = "application/problem+json"
_OF_EVERY_ANSWER = frozenset({"content-type"})
WITHOUT_A_ROUTE = frozenset(
    {"not_found", "method_not_allowed", "malformed_request", "too_large", "not_supported", "unauthenticated"}
)
"""Codes of what is refused where nothing is described: no such path or method, or not built yet."""
_PATH_VALUE = re.compile(r"\\\{\w+\\\}")


_NOTHING: Json = {"not": {}}


class Description:
    """A document of the interface, with its objects closed: members that it does not name are faults."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self._closed = _closed(document)
        self._validators: dict[int, Json] = {}
        self._paths = [
            (re.compile(_PATH_VALUE.sub("[^/]+", re.escape(template))), template) for template in document["paths"]
        ]

    def operation(self, method: str, path: str) -> Json | None:
        """The operation of a request, or None. A path that is there by its own name is no id."""
        found = [template for pattern, template in self._paths if pattern.fullmatch(path)]
        if not found:
            return None
        named = min(found, key=lambda template: [segment.startswith("{") for segment in template.split("/")])
        return self._closed["paths"][named].get(method.lower())

    def faults(self, event: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
        """What an answer to a request has that is not described; of a request that was accepted as well."""
        status, headers = answer["statusCode"], {name.lower(): value for name, value in answer["headers"].items()}
        http = event["requestContext"]["http"]
        path = event["rawPath"]
        stage = event["requestContext"].get("stage", "$default")
        if stage != "$default":
            path = path.removeprefix(f"/{stage}")
        operation = self.operation(http["method"], path)
        if operation is None:
            code = json.loads(answer["body"])["code"]
            yield from [] if code in WITHOUT_A_ROUTE else [f"nothing is described there, and answered {status} {code}"]
            return
        response = self._resolved(operation["responses"].get(str(status)))
        if response is None:
            yield f"status {status} is not described: {answer['body']}"
            return
        yield from self._faults_of_headers(response, headers)
        yield from self._faults_of_body(response, headers, answer["body"])
        if status < 300:
            yield from self._faults_of_request(operation, event)

    def _faults_of_headers(self, response: Json, headers: Mapping[str, str]) -> Iterator[str]:
        described = {name.lower(): header for name, header in response.get("headers", {}).items()}
        yield from (f"header {name} is not described" for name in headers.keys() - described.keys() - _OF_EVERY_ANSWER)
        for name in headers.keys() & described.keys():
            yield from self._faults_of(described[name]["schema"], headers[name], f"header {name}")

    def _faults_of_body(self, response: Json, headers: Mapping[str, str], text: str) -> Iterator[str]:
        content = response.get("content", {})
        if not content:
            yield from [f"a body that is not described: {text}"] if text else []
            return
        media_type = headers["content-type"].partition(";")[0]
        if media_type not in content:
            yield f"media type {media_type} is not described"
            return
        value = _loads(text) if media_type.endswith("json") else text
        yield from self._faults_of(content[media_type]["schema"], value, "body")

    def _faults_of_request(self, operation: Json, event: Mapping[str, Any]) -> Iterator[str]:
        known = {each["name"]: each["schema"] for each in operation["parameters"] if each["in"] == "query"}
        for name, value in parse_qsl(event.get("rawQueryString", ""), keep_blank_values=True):
            schema = known.get(name, _NOTHING)
            schema = schema.get("items", schema)
            given = int(value) if schema.get("type") == "integer" else value
            yield from self._faults_of(schema, given, f"accepted parameter {name}")
        if event.get("body") and "requestBody" in operation and not event.get("isBase64Encoded"):
            (schema, *_) = (each["schema"] for each in operation["requestBody"]["content"].values())
            yield from self._faults_of(schema, _loads(event["body"]), "accepted body")

    def _resolved(self, response: Json | None) -> Json | None:
        if response is None or "$ref" not in response:
            return response
        return self._closed["components"]["responses"][response["$ref"].rpartition("/")[2]]

    def _faults_of(self, schema: Json, value: Json, what: str) -> Iterator[str]:
        for error in self._validator(schema).iter_errors(value):
            yield f"{what} at /{'/'.join(map(str, error.instance_path))}: {error.message}"

    def _validator(self, schema: Json) -> Json:
        """The validator of a schema of the document, which stays as it is: made once."""
        if id(schema) not in self._validators:
            whole = {**schema, "components": self._closed["components"]}
            self._validators[id(schema)] = jsonschema_rs.validator_for(whole, validate_formats=True)
        return self._validators[id(schema)]


def _loads(text: str) -> Json:
    """A document, its whole numbers as floats where they have more digits than the reader takes."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4000 else float(digits[:300]))


def _closed(schema: Json) -> Json:
    """A schema whose objects have no members but those that are named. Parts of `allOf` stay open."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: inner if name == "allOf" else _closed(inner) for name, inner in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed
