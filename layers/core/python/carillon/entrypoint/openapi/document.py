"""The OpenAPI document: the routing table joined with what is told of each route."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from carillon import __version__, answers
from carillon.entrypoint.openapi import jobs, operations, runs, service, tenants
from carillon.entrypoint.openapi.callback import CALLBACK
from carillon.entrypoint.openapi.operation import JSON, Answered, Body, Json, Operation
from carillon.entrypoint.openapi.parameters import ANSWER_HEADERS, HEADERS, PATH, QUERY
from carillon.entrypoint.openapi.problem_pages import PAGES
from carillon.entrypoint.openapi.refusals import codes_of
from carillon.entrypoint.openapi.schemas import ref, schema_of_answer, schema_of_patch, schemas_of_models
from carillon.entrypoint.problems import KINDS, MEDIA_TYPE
from carillon.entrypoint.routing import Route

OPERATIONS: Mapping[str, Operation] = {
    **jobs.OPERATIONS,
    **operations.OPERATIONS,
    **runs.OPERATIONS,
    **tenants.OPERATIONS,
    **service.OPERATIONS,
}

MERGE_PATCH = "application/merge-patch+json"
_INTRODUCTION = (
    "Jobs that run once or on a schedule, delivered as signed HTTP calls. Every refusal is a problem (RFC 9457) whose "
    "`code` is for programs. The gateway itself may answer 413 above 10 MB, 429 and 503 without one."
)
_RETRY_AFTER = frozenset({"request_in_flight", "too_fast", "too_many_edits", "unavailable"})
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_PATH_VALUE = re.compile(r"\{(\w+)\}")


def document_of(routes: Iterable[Route[Any]], base: str = "") -> Json:
    """The description of the interface as it is published."""
    published: Json = _without_links(description_of(routes, base))
    return published


def description_of(routes: Iterable[Route[Any]], base: str = "") -> Json:
    """The description of the interface, its texts with links into `docs/api.md`.

    Args:
        routes: the routing table.
        base: the path of the stage in front of the interface's own paths; empty for the default stage.

    Raises:
        KeyError: nothing is told of a route, or of a parameter.
    """
    built = list(routes)
    schemas = _schemas(OPERATIONS[route_name(route)] for route in built)
    responses: dict[str, Json] = {}
    paths: dict[str, Json] = {}
    for route in built:
        told = _operation(route, OPERATIONS[route_name(route)], schemas, responses)
        paths.setdefault(route.template, {})[route.method.lower()] = told
    return {
        "openapi": "3.1.0",
        "info": {"title": "Carillon", "version": __version__, "description": _INTRODUCTION},
        "servers": [{"url": base or "/"}],
        "paths": paths,
        "webhooks": {"run": CALLBACK},
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": dict(sorted(responses.items())),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "bearerFormat": "crl_…"},
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "crt_…"},
            },
        },
    }


def route_name(route: Route[Any]) -> str:
    """The name of a route in the tables of operations."""
    return f"{route.method} {route.template}"


def _schemas(operations: Iterable[Operation]) -> dict[str, Json]:
    told = list(operations)
    bodies = [operation.body for operation in told if operation.body is not None]
    schemas = schemas_of_models(body.model for body in bodies)
    for body in bodies:
        if body.is_patch:
            schemas[_name_of_body(body)] = schema_of_patch(body.model.__name__, schemas)
    schema_of_answer(answers.Problem, schemas)
    return schemas


def _name_of_body(body: Body) -> str:
    return body.model.__name__.replace("Document", "Patch") if body.is_patch else body.model.__name__


def _operation(route: Route[Any], operation: Operation, schemas: dict[str, Json], responses: dict[str, Json]) -> Json:
    answered = {str(status): _answered(route, answer, schemas) for status, answer in operation.answers.items()}
    told: Json = {"operationId": operation.id, "summary": operation.summary, "tags": [operation.tag]}
    if operation.description:
        told["description"] = operation.description
    told["parameters"] = [*_parameters(route, operation)]
    if operation.body is not None:
        told["requestBody"] = _body(operation.body)
    told["responses"] = answered | _refusals(codes_of(route, operation), responses)
    told["security"] = [] if route.scope is None else [{"key": [route.scope]}]
    if route.takes_token:
        told["security"].append({"token": []})
    return told


def _parameters(route: Route[Any], operation: Operation) -> Iterable[Json]:
    for name in _PATH_VALUE.findall(route.template):
        yield {"name": name, "in": "path", "required": True, "schema": PATH[name]}
    for name in sorted(route.parameters):
        yield _described({"name": name, "in": "query"}, operation.parameters.get(name) or QUERY[name])
    for name in _headers_read(route, operation):
        is_required = name == "If-Match" and operation.if_match == "required"
        yield {"name": name, "in": "header", "required": is_required, **HEADERS[name]}


def _headers_read(route: Route[Any], operation: Operation) -> Iterable[str]:
    if takes_idempotency_key(route):
        yield "Idempotency-Key"
    if operation.if_match != "ignored":
        yield "If-Match"
    if operation.if_none_match:
        yield "If-None-Match"


def takes_idempotency_key(route: Route[Any]) -> bool:
    """Whether the answers of a route are kept."""
    return route.method == "POST" and route.scope is not None and not route.shows_secret


def _described(parameter: Json, schema: Mapping[str, Any]) -> Json:
    described = {"description": schema["description"]} if "description" in schema else {}
    return parameter | described | {"schema": {name: value for name, value in schema.items() if name != "description"}}


def _body(body: Body) -> Json:
    content = {"schema": ref(_name_of_body(body)), "examples": {"usual": {"value": body.example}}}
    media_types = (MERGE_PATCH, JSON) if body.is_patch else (JSON,)
    return {"required": body.is_required, "content": dict.fromkeys(media_types, content)}


def _answered(route: Route[Any], answer: Answered, schemas: dict[str, Json]) -> Json:
    names = ["X-Request-Id", "Cache-Control", *answer.headers]
    names += ["Idempotent-Replayed"] if takes_idempotency_key(route) else []
    told: Json = {"description": answer.told, "headers": {name: ANSWER_HEADERS[name] for name in names}}
    if answer.shape is not None:
        told["content"] = {answer.media_type: {"schema": schema_of_answer(answer.shape, schemas)}}
    return told


def _refusals(codes: Iterable[str], responses: dict[str, Json]) -> dict[str, Json]:
    """The refusals by status. Those that are alike are written once, under a name made of their codes."""
    by_status: dict[int, list[str]] = {}
    for code in sorted(codes):
        by_status.setdefault(KINDS[code][0], []).append(code)
    told = {}
    for status, together in sorted(by_status.items()):
        name = ".".join((str(status), *together))
        responses[name] = _refusal(status, together)
        told[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return told


def _refusal(status: int, codes: list[str]) -> Json:
    names = ["X-Request-Id", "Cache-Control"]
    names += ["Retry-After"] if _RETRY_AFTER & {*codes} else []
    names += ["WWW-Authenticate"] if "unauthenticated" in codes else []
    names += ["Accept-Patch"] if "unsupported_media_type" in codes else []
    exact = {"properties": {"status": {"const": status}, "code": {"enum": codes}}}
    return {
        "description": "; ".join(f"`{code}`: {PAGES[code].when}" for code in codes),
        "headers": {name: ANSWER_HEADERS[name] for name in names},
        "content": {MEDIA_TYPE: {"schema": {"allOf": [ref("Problem"), exact]}}},
    }


def _without_links(value: Any) -> Any:
    """The document with its texts as they read without the page into which their links lead."""
    if isinstance(value, dict):
        return {name: _without_links(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_links(inner) for inner in value]
    return _LINK.sub(r"\1", value) if isinstance(value, str) and "](" in value else value
