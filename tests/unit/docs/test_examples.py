"""Examples work: documents are accepted, answers look as shown, commands make jobs, receivers verify."""

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from carillon import client
from carillon.client import Client
from carillon.client.problems import problem_from
from carillon.domain.messages import WorkMessage
from carillon.domain.signing import sign
from carillon.domain.target_policy import development, of_stage
from carillon.entrypoint.wire.documents import SCHEDULE_KINDS
from carillon_cli.main import main
from support.api import JOB, ApiUnderTest, Json
from support.loopback import running_service
from tests.unit.docs.pages import NAMES, PAGES, Page, page, spans_of

SECRET = "whsec_" + b64encode(bytes(range(32))).decode()
OPEN_QUEUE = "*=arn:aws:sqs:eu-west-1:111122223333:orders"
RUN_ID = "job_01M8MX0REB67WD2ANKW6N989AG@20261130T001742107Z"
NOW_SECONDS = 1_790_000_000
_CURL_BODY = re.compile(r"-d '([^']*)'")


def documents(subject: Page) -> list[Json]:
    """The JSON documents of a page."""
    return [json.loads(block.text) for block in subject.blocks_in("json")]


def every_document() -> list[Json]:
    """The JSON documents of all pages."""
    return [document for each in PAGES for document in documents(each)]


def job_documents() -> list[Json]:
    """What the pages show as a job to be created."""
    shown = [each for each in every_document() if {"schedule", "target"} <= each.keys() and "id" not in each]
    bodies = [body for each in PAGES for block in each.blocks_in("bash") for body in _CURL_BODY.findall(block.text)]
    return shown + [json.loads(body) for body in bodies]


def schedules() -> list[Json]:
    """What the pages show as a schedule alone."""
    return [each for each in every_document() if len(each.keys() & set(SCHEDULE_KINDS)) == 1]


def api_for(document: Json) -> ApiUnderTest:
    """The interface, of a local stage for loopback targets, else as in AWS, with the queue that the pages open."""
    is_local = document["target"].get("url", "").startswith("http:")
    return ApiUnderTest(policy=development() if is_local else of_stage(queues=[OPEN_QUEUE]))


def shape(value: Json) -> Json:
    """The names and kinds in a document, whatever the values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value[:1]]
    return type(value).__name__


def shown_with(*members: str) -> Json:
    """The one document of docs/api.md with these members."""
    (found,) = [each for each in documents(page("docs/api.md")) if set(members) <= each.keys()]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_json_is_json(name: str) -> None:
    """Each block that says that it is JSON holds one object."""
    assert all(isinstance(document, dict) for document in documents(page(name)))


@pytest.mark.parametrize("document", job_documents(), ids=lambda document: str(document["target"]))
def test_jobs_that_are_shown_are_accepted(document: Json) -> None:
    """A job on a page is created as it stands."""
    api = api_for(document)
    reply = api.call("POST", "/v1/jobs", document)
    assert reply.status == 201, reply.text
    assert reply.json["payload" if "payload" in document else "state"] == document.get("payload", "scheduled")


@pytest.mark.parametrize("schedule", schedules(), ids=json.dumps)
def test_schedules_that_are_shown_are_accepted(schedule: Json) -> None:
    """A schedule on a page makes a job."""
    reply = ApiUnderTest().call("POST", "/v1/jobs", {**JOB, "schedule": schedule})
    assert reply.status == 201, reply.text


def test_the_answer_is_as_shown() -> None:
    """The job that the page of the interface shows as an answer has the members of a real one, in their order."""
    shown = shown_with("id", "revision")
    asked = {name: shown[name] for name in ("schedule", "target", "payload")}
    answered = ApiUnderTest().call("POST", "/v1/jobs", asked).json
    assert list(answered) == list(shown)
    assert shape(answered) == shape(shown)


def test_the_patch_is_accepted() -> None:
    """The patch that the page shows changes what it names and removes what it has nulls for."""
    api = ApiUnderTest()
    job_id = api.create(deadline="PT1M", labels={"team": "infra"})["id"]
    (patch,) = [each for each in documents(page("docs/api.md")) if "tier" in each.get("labels", {})]
    patched = api.patch(job_id, patch)
    assert patched.status == 200, patched.text
    assert (patched.json["labels"], patched.json["deadline"]) == ({"tier": "1"}, None)


def test_the_preview_is_as_shown() -> None:
    """The preview that the page asks for is answered as it shows, word for word."""
    answered = ApiUnderTest().call("POST", "/v1/schedules/preview", shown_with("schedule", "from"))
    assert answered.json == shown_with("occurrences")


def test_the_run_is_as_shown() -> None:
    """The run that the page shows has the members of a real one, in their order."""
    api = ApiUnderTest()
    run = api.add_run(api.create()["id"], api.world.clock.now_ms())
    answered = api.call("GET", f"/v1/runs/{run.key.run_id}").json
    assert list(answered) == list(shown_with("id", "attempts"))


def test_the_empty_list_is_as_shown() -> None:
    """The list that the page shows is that of a tenant without jobs."""
    assert ApiUnderTest().call("GET", "/v1/jobs").json in documents(page("docs/api.md"))


def test_a_rotation_leaves_what_is_shown() -> None:
    """Secrets and audit events have the members that the page shows."""
    api = ApiUnderTest()
    api.call("POST", "/v1/signing-secrets/rotate")
    shown = shown_with("actor")
    (event,) = api.call("GET", "/v1/audit-events").json["data"]
    assert [list(event), list(event["actor"]), list(event["changes"][0])] == [
        list(shown),
        list(shown["actor"]),
        list(shown["changes"][0]),
    ]
    lists = [document["data"][0] for document in documents(page("docs/api.md")) if document.get("data")]
    assert list(api.call("GET", "/v1/signing-secrets").json["data"][0]) in [list(each) for each in lists]


def test_the_problem_is_as_shown() -> None:
    """The refusal that the page shows is the one of an unknown field."""
    shown = shown_with("errors")
    refused = ApiUnderTest().call("POST", "/v1/jobs", {**JOB, "colour": 1}).json
    assert refused == {**shown, "request_id": refused["request_id"]}


def test_the_message_is_as_shown() -> None:
    """The message that the design shows is read and written so."""
    (shown,) = documents(page("docs/design.md"))
    assert json.loads(WorkMessage.decode(json.dumps(shown)).encode()) == shown


# -------------------------------------------------------------------------------------------------------- command line


def creations() -> list[list[str]]:
    """The commands on the pages that create a job, without those that read a file of the reader's."""
    lines = [line for each in PAGES for block in each.blocks_in("bash") for line in block.commands]
    words = [shlex.split(line)[1:] for line in lines if line.startswith("carillon jobs create")]
    return [each for each in words if not {"--from-file", "--payload-file"} & set(each)]


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> list[Json]:
    """The jobs that commands have created; a refusal fails the command."""
    found: list[Json] = []

    def create(_: Client, body: bytes | Mapping[str, Any], **_options: object) -> Json:
        document = json.loads(body) if isinstance(body, bytes) else body
        reply = api_for(document).call("POST", "/v1/jobs", document)
        assert reply.status == 201, reply.text
        found.append(reply.json)
        return reply.json

    monkeypatch.setattr(Client, "create_job", create)
    monkeypatch.setenv("CARILLON_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CARILLON_API_KEY", ApiUnderTest().key)
    return found


@pytest.mark.parametrize("words", creations(), ids=" ".join)
def test_commands_that_create_jobs_do(words: list[str], accepted: list[Json]) -> None:
    """A command on a page sends a job that the service accepts."""
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, len(accepted)) == (0, 1), result.output


@pytest.mark.parametrize(("language", "jobs"), [("csv", 3), ("crontab", 2)])
def test_tables_that_are_shown_are_imported(language: str, jobs: int, tmp_path: Path, accepted: list[Json]) -> None:
    """The CSV table and the crontab on the page of the command line become jobs, each line of them."""
    (block,) = page("docs/cli.md").blocks_in(language)
    file = tmp_path / "table"
    file.write_text(block.text, "utf-8")
    result = CliRunner().invoke(main, ["jobs", "import", str(file), "--url", "https://svc.carillon.dev/run"])
    assert f"created={jobs} unchanged=0 differs=0 refused=0" in result.output
    assert len(accepted) == jobs


# ----------------------------------------------------------------------------------------------------------- receivers


def names_in(subject: Page, marker: str) -> dict[str, Any]:
    """What the one Python block of a page that holds a text defines."""
    (block,) = [block for block in subject.blocks_in("python") if marker in block.text]
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(block.text, subject.name, "exec"), names)  # noqa: S102 - an example of our own
    return names


def signed(body: bytes, secret: str = SECRET, at_seconds: int = NOW_SECONDS) -> dict[str, str]:
    """The headers of a callback with this body."""
    return {
        "webhook-id": RUN_ID,
        "webhook-timestamp": str(at_seconds),
        "webhook-signature": sign([secret], RUN_ID, at_seconds, body),
        "carillon-attempt": "1",
    }


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[Callable[[bytes, Mapping[str, str]], int]]:
    """The handler on a loopback port of its own; gives a way to call it, which returns the status."""
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def call(body: bytes, headers: Mapping[str, str]) -> int:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        connection.request("POST", "/", body, dict(headers))
        status = connection.getresponse().status
        connection.close()
        return status

    try:
        yield call
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def test_the_receiver_believes_only_what_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's receiver takes a signed call, and refuses one that was changed on its way."""
    monkeypatch.setenv("SIGNING_SECRET", SECRET)
    monkeypatch.setattr("carillon.receiver.time.time", lambda: float(NOW_SECONDS))
    receiver = names_in(page("README.md"), "BaseHTTPRequestHandler")["Receiver"]
    quiet = type("Quiet", (receiver,), {"log_message": lambda *_: None})
    with serving(quiet) as call:
        assert call(b'{"n": 1}', signed(b'{"n": 1}')) == 204
        assert call(b'{"n": 2}', signed(b'{"n": 1}')) == 400


def test_the_check_tells_what_is_genuine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's check believes a fresh, signed request, and no other secret and no old one."""
    monkeypatch.setattr("carillon.receiver.time.time", lambda: float(NOW_SECONDS))
    is_genuine = names_in(page("README.md"), "is_genuine")["is_genuine"]
    other = "whsec_" + b64encode(bytes(32)).decode()
    assert is_genuine(SECRET, signed(b"x"), b"x")
    assert not is_genuine(SECRET, signed(b"x", other), b"x")
    assert not is_genuine(SECRET, signed(b"x", at_seconds=NOW_SECONDS - 3600), b"x")


def test_the_pages_have_examples() -> None:
    """There is something to check."""
    assert min(len(job_documents()), len(schedules()), len(creations())) > 3


# -------------------------------------------------------------------------------------------------------------- client


def test_the_client_is_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The first example of the client's page works against the real interface, on a loopback port."""
    with running_service() as service:
        (block, *_) = page("docs/client.md").blocks_in("python")
        code = re.sub(r'Client\("https:[^"]+", "[^"]+"\)', f'Client("{service.url}", "{service.api.key}")', block.text)
        exec(compile(code, "docs/client.md", "exec"), {})  # noqa: S102 - an example of our own
        assert [job["name"] for job in service.jobs.values()] == ["nightly-backup"]
    assert capsys.readouterr().out == ""


def test_the_errors_of_the_client_are_listed() -> None:
    """Each class that a call may raise stands in a table, with the statuses that it is made of, and no other does."""
    tables = page("docs/client.md").tables("Failures")
    listed = {name for table in tables for row in table for name in spans_of(row[0])}
    assert listed == {name for name in client.__all__ if name.endswith(("Error", "Problem"))} - {
        "ClientError",
        "FieldError",
    }
    for row in tables[1]:
        for status in re.findall(r"\d{3}", row[1]):
            assert type(problem_from(int(status), b"")).__name__ == spans_of(row[0])[0]
