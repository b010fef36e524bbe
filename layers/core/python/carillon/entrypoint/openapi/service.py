"""The operations of the service itself: anybody may ask."""

from collections.abc import Mapping
from typing import Any

from carillon import answers
from carillon.entrypoint.openapi.operation import Answered, Operation

_OF_A_PAGE = ("Content-Security-Policy", "X-Content-Type-Options")

OPERATIONS: Mapping[str, Operation] = {
    "GET /v1/health": Operation(
        "health",
        "service",
        "Tell that the service answers",
        {
            200: Answered(
                'the service\'s version, and the release of the zones\' rules, such as `"zone_data": "2026f"`',
                answers.Health,
            )
        },
    ),
    "GET /v1/openapi.json": Operation(
        "describe",
        "service",
        "Describe the interface",
        {200: Answered("this interface as an OpenAPI 3.1 document", dict[str, Any])},
    ),
    "GET /console": Operation(
        "open_console",
        "service",
        "Open the console",
        {200: Answered("the [page for people](#the-console)", str, _OF_A_PAGE, "text/html")},
    ),
    "GET /v1/problems/{code}": Operation(
        "explain_problem",
        "service",
        "Explain a kind of problem",
        {200: Answered("a [page about a kind of problem](#errors)", str, _OF_A_PAGE, "text/html")},
        ("not_found",),
    ),
}
