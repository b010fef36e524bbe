"""The handlers of what anybody may ask the service about itself. They read nothing that is stored."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from carillon import __version__
from carillon.domain.zones import zone_data_version
from carillon.entrypoint.http_request import Answer, Request
from carillon.entrypoint.problems import KINDS, Refusal
from carillon.entrypoint.routing import Route

# ruff: noqa: PLC0415 - the description and its models are loaded when somebody asks for them


def health(_: Request) -> Answer:
    """GET /v1/health: this function answers."""
    return Answer(200, json.dumps({"status": "ok", "version": __version__, "zone_data": zone_data_version()}))


def open_console(request: Request) -> Answer:
    """GET /console: the page for people."""
    from carillon.entrypoint.console import show_console

    return show_console(request)


def describing(routes: Callable[[], Iterable[Route[Any]]]) -> Callable[[Request], Answer]:
    """GET /v1/openapi.json: the description of these routes, made when it is first asked for, and kept."""
    made: dict[str, str] = {}

    def describe(request: Request) -> Answer:
        from carillon.entrypoint.openapi.document import document_of

        if request.base not in made:
            made[request.base] = json.dumps(document_of(routes(), request.base))
        return Answer(200, made[request.base])

    return describe


def explain_problem(request: Request) -> Answer:
    """GET /v1/problems/{code}: the page behind the `type` of a problem."""
    from carillon.entrypoint.openapi.problem_pages import html_of

    code = request.path_values["code"]
    if code not in KINDS:
        raise Refusal("not_found", "there is no such kind of problem")
    headers = {"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff"}
    return Answer(200, html_of(code), headers, "text/html; charset=utf-8")
