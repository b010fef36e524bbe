"""Which problems a route can answer with: what its operation tells, and what follows from its line in the table."""

from collections.abc import Iterator
from typing import Any

from carillon.entrypoint.openapi.operation import Operation
from carillon.entrypoint.routing import Route

ALWAYS = ("malformed_request", "too_large", "invalid_fields", "internal_error")
"""Of every request the path, the query and the size are looked at first, and anything may fail."""

WITH_KEY = ("unauthenticated", "missing_scope", "unavailable")


def codes_of(route: Route[Any], operation: Operation) -> frozenset[str]:
    """The codes of all problems that a route can answer with."""
    return frozenset((*ALWAYS, *operation.refusals, *_of_route(route), *_of_operation(operation)))


def _of_route(route: Route[Any]) -> Iterator[str]:
    if route.scope is not None:
        yield from WITH_KEY
    if "cursor" in route.parameters:
        yield "bad_cursor"
    if route.method == "POST" and route.scope is not None:
        yield from ("not_supported",) if route.shows_secret else ("request_in_flight", "idempotency_mismatch")


def _of_operation(operation: Operation) -> Iterator[str]:
    if operation.body is not None:
        yield "unsupported_media_type"
    if operation.if_match != "ignored":
        yield "revision_mismatch"
    if operation.if_match == "required":
        yield "precondition_required"
