"""The published description says what the interface does: its routes, scopes, parameters, bodies, answers, problems.

Beside this, every test that calls the API holds each answer, and each request that was accepted, against it.
"""

import json
import re
import subprocess
import sys

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from carillon import __version__
from carillon.domain.tenancy import SCOPES
from carillon.entrypoint.openapi.document import OPERATIONS
from carillon.entrypoint.openapi.problem_pages import PAGES
from carillon.entrypoint.problems import KINDS
from support.api import ApiUnderTest, Json, Reply, description, event_of
from support.everything import ROUTES, Everything, operation_of

PATH = "/v1/openapi.json"
OUTSIDE_ROUTES = {"method_not_allowed"}
"""Codes that no operation has: there is no operation then."""


def document() -> Json:
    """What anybody is given."""
    return description().document


def test_it_is_given_to_anybody(api: ApiUnderTest) -> None:
    """Without a key, as JSON, twice the same, of this version."""
    first, second = (api.call("GET", PATH, key=None) for _ in range(2))
    assert (first.status, first.headers["content-type"], first.text) == (200, "application/json", second.text)
    assert (first.json["openapi"], first.json["info"]["version"]) == ("3.1.0", __version__)


def test_it_is_a_valid_document() -> None:
    """It keeps the specification of OpenAPI 3.1, schemas and examples of parameters included."""
    assert [error.message for error in OpenAPIV31SpecValidator(document()).iter_errors()] == []


def test_it_has_the_routes_that_are_built_with_their_scopes() -> None:
    """Each route of the routing table with its scope, and no other; a route that is not built is not in it."""
    told = {
        f"{method.upper()} {template}": operation["security"]
        for template, operations in document()["paths"].items()
        for method, operation in operations.items()
    }
    assert told == {
        name: ([] if route.scope is None else [{"key": [route.scope]}]) + ([{"token": []}] if route.takes_token else [])
        for name, route in ROUTES.items()
    }
    assert {route.scope for route in ROUTES.values()} - {None} <= set(SCOPES)


def test_nothing_is_told_of_a_route_that_there_is_not() -> None:
    """Whoever removes a route removes what is told of it."""
    assert OPERATIONS.keys() == ROUTES.keys()


def test_operations_have_names_of_their_own() -> None:
    """Programs that are made from the document name their functions so."""
    names = [operation.id for operation in OPERATIONS.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ROUTES)
def test_parameters_are_those_that_are_read(name: str) -> None:
    """Of the query, those of the routing table; of the path, its values; an Idempotency-Key where answers are kept."""
    route, told = ROUTES[name], operation_of(name)["parameters"]
    names = {place: {each["name"] for each in told if each["in"] == place} for place in ("path", "query", "header")}
    assert names["path"] == set(re.findall(r"\{(\w+)\}", route.template))
    assert names["query"] == route.parameters
    keeps = route.method == "POST" and route.scope is not None and not route.shows_secret
    assert ("Idempotency-Key" in names["header"]) == keeps


@pytest.mark.parametrize("name", ROUTES)
def test_the_published_request_is_accepted(name: str) -> None:
    """The example of each operation does what it says, as published; the answer is one that is described."""
    told = operation_of(name)
    reply = Everything().ask(name)
    assert reply.status < 300, reply.text
    assert str(reply.status) in told["responses"]


@pytest.mark.parametrize("name", [name for name in ROUTES if "requestBody" in operation_of(name)])
def test_examples_keep_their_schemas(name: str) -> None:
    """Each example of a body is one by its schema, and a member that nobody knows is none."""
    for content in operation_of(name)["requestBody"]["content"].values():
        whole = {**content["schema"], "components": document()["components"]}
        for example in content["examples"].values():
            assert jsonschema_rs.is_valid(whole, example["value"])
            assert not jsonschema_rs.is_valid(whole, {**example["value"], "colour": 1})


def test_what_is_not_built_is_not_told() -> None:
    """Fields and values that are refused as not built are in no schema."""
    schemas = document()["components"]["schemas"]
    assert "x-unbuilt" not in json.dumps(schemas)
    assert "AfterDocument" not in schemas
    assert schemas["JobDocument"]["properties"]["overlap"]["enum"] == ["allow"]


def test_the_callback_is_told() -> None:
    """Under `webhooks`, with the headers that every call carries."""
    headers = {each["name"] for each in document()["webhooks"]["run"]["post"]["parameters"]}
    assert {"webhook-id", "webhook-timestamp", "webhook-signature", "Carillon-Attempt"} <= headers


def test_every_problem_is_told() -> None:
    """Each kind of problem that there is belongs to an operation, with its status, and has a page."""
    told = {
        (code, int(name.partition(".")[0]))
        for name in document()["components"]["responses"]
        for code in name.split(".")[1:]
    }
    assert told == {(code, status) for code, (status, _) in KINDS.items() if code not in OUTSIDE_ROUTES}
    assert PAGES.keys() == KINDS.keys()


@pytest.mark.parametrize("code", KINDS)
def test_the_type_of_a_problem_leads_to_its_page(api: ApiUnderTest, code: str) -> None:
    """Anybody gets a page that names the code and its title, and that a browser takes for a page alone."""
    reply = api.call("GET", f"/v1/problems/{code}", key=None)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert KINDS[code][1] in reply.text.replace("&#x27;", "'")
    assert code in reply.text
    assert reply.headers["content-security-policy"] == "default-src 'none'"


def test_a_refusal_leads_to_the_page_of_its_kind(api: ApiUnderTest) -> None:
    """The `type` of a refusal, followed from where it was given, is that page."""
    refused = api.call("GET", "/v1/jobs/x").json
    assert refused["code"] in api.call("GET", refused["type"], key=None).text
    assert api.call("GET", "/v1/problems/nonsense", key=None).status == 404


def behind_a_stage(api: ApiUnderTest, path: str) -> Reply:
    """The answer behind a stage with a name."""
    event = event_of("GET", f"/prod{path}", "", {}, None)
    event["requestContext"]["stage"] = "prod"
    return api.reply_to(event)


def test_a_stage_with_a_name_stands_before_the_paths(api: ApiUnderTest) -> None:
    """Behind a named stage the server of the document, and the types of problems, begin with the stage."""
    assert behind_a_stage(api, PATH).json["servers"] == [{"url": "/prod"}]
    assert api.call("GET", PATH).json["servers"] == [{"url": "/"}]
    assert behind_a_stage(api, "/v1/jobs").json["type"] == "/prod/v1/problems/unauthenticated"


def test_nobody_else_loads_the_description() -> None:
    """A cold start pays nothing for it, nor for the types of answers: they are loaded when it is asked for."""
    code = "import sys, carillon.entrypoint.http_api; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert [name for name in done.stdout.split() if "openapi" in name or name == "carillon.answers"] == []
