"""`--payload-file`: what is small and JSON stands in the job, all else is uploaded as it is."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from carillon.client import ApiProblem, BadAnswerError
from carillon.client.transport import put_to
from carillon.domain.uploads import MOST_UPLOAD_BYTES
from carillon_cli.payload_files import MOST_INLINE_BYTES
from unit.cli.conftest import Service, serving

Run = Callable[..., Result]
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
CREATE = ("jobs", "create", "--delay", "1m", "--url", "https://svc.carillon.dev/hook", "--json")


@pytest.fixture(autouse=True)
def uploads(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put somewhere arrives in the memory of the service."""

    def put(url: str, data: bytes, headers: dict[str, str]) -> None:
        tenant, reference = url.partition("?")[0].split("/")[-2:]
        service.api.world.payloads.upload(tenant, reference, headers["Content-Type"], data)

    monkeypatch.setattr("carillon.client.client.put_to", put)


def file_of(folder: Path, name: str, data: bytes) -> str:
    """A file with this content."""
    path = folder / name
    path.write_bytes(data)
    return str(path)


def test_small_json_stands_in_the_job(carillon: Run, service: Service, tmp_path: Path) -> None:
    """To the letter: numbers keep their digits."""
    file = file_of(tmp_path, "body.json", b'{"sum": 30.40}\n')
    done = carillon(*CREATE, "--payload-file", file)
    assert done.exit_code == 0, done.output
    (stored,) = service.api.world.state.specs.values()
    assert (stored.payload, stored.stored_payload) == (b'{"sum": 30.40}', None)


LARGE = b'"' + b"x" * MOST_INLINE_BYTES + b'"'


@pytest.mark.parametrize(
    ("file", "flags", "content_type"),
    [
        pytest.param(("logo.png", PNG), (), "image/png", id="by-its-name"),
        pytest.param(("logo", PNG), (), "application/octet-stream", id="unknown"),
        pytest.param(("a.png", PNG), ("--payload-type", "image/x-mine; a=b"), "image/x-mine; a=b", id="as-told"),
        pytest.param(("large.json", LARGE), (), "application/json", id="large-json"),
        pytest.param(("broken.json", b"{"), (), "application/json", id="no-json"),
        pytest.param(("latin.json", b'"\xe9"'), (), "application/json", id="not-utf-8"),
        pytest.param(("small.json", b"{}"), ("--payload-type", "text/plain"), "text/plain", id="json-of-another-type"),
        pytest.param(("note.txt", b"hello"), (), "text/plain", id="text"),
    ],
)
def test_all_else_is_uploaded(
    carillon: Run, service: Service, tmp_path: Path, file: tuple[str, bytes], flags: tuple[str, ...], content_type: str
) -> None:
    """Every byte, under the type of its name or the one that is told."""
    done = carillon(*CREATE, "--payload-file", file_of(tmp_path, *file), *flags)
    assert done.exit_code == 0, done.output
    created = json.loads(done.stdout)
    assert service.api.world.payloads.payloads == {
        ("acme", created["id"], created["payload_ref"]): (content_type, file[1])
    }


def test_an_update_takes_a_file_too(carillon: Run, service: Service, tmp_path: Path) -> None:
    """The upload takes the place of the payload."""
    job_id = json.loads(carillon(*CREATE, "--payload", "1").stdout)["id"]
    done = carillon("jobs", "update", job_id, "--payload-file", file_of(tmp_path, "a.png", PNG), "--json")
    assert done.exit_code == 0, done.output
    assert "payload_ref" in json.loads(done.stdout)
    assert list(service.api.world.payloads.payloads.values()) == [("image/png", PNG)]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(("--payload-file", "nowhere.png"), "cannot read", id="not-there"),
        pytest.param(("--payload-file", "empty"), "bytes", id="empty"),
        pytest.param(("--payload-file", "huge"), "bytes", id="too-large"),
        pytest.param(("--payload-file", "empty", "--payload", "1"), "not both", id="both"),
        pytest.param(("--payload-type", "text/plain"), "--payload-file", id="a-type-alone"),
        pytest.param(("--payload-file", "empty", "--from-file", "-"), "--from-file", id="with-a-whole-definition"),
    ],
)
def test_what_cannot_be_sent(
    carillon: Run, service: Service, tmp_path: Path, flags: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error of usage, and nothing is asked of the service."""
    file_of(tmp_path, "empty", b"")
    file_of(tmp_path, "huge", b"x" * (MOST_UPLOAD_BYTES + 1))
    monkeypatch.chdir(tmp_path)
    done = carillon(*CREATE, *flags)
    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert service.bodies == []


# ---------------------------------------------------------------------------------------------------------------- puts


class _Store(BaseHTTPRequestHandler):
    seen: list[tuple[str, dict[str, str], bytes]]
    statuses: list[int]

    def do_PUT(self) -> None:
        """Take it."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, dict(self.headers.items()), body))
        self.send_response(self.statuses.pop(0))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def store() -> Iterator[Any]:
    """A place to put things, its address, what came, and what it answers."""
    seen: list[Any] = []
    statuses: list[int] = []
    with serving(_Store, seen=seen, statuses=statuses) as url:
        yield url, seen, statuses


def test_bytes_are_put_as_they_are(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the signed address, with the signed headers, and with no key of ours; tried again after a 503."""
    monkeypatch.setattr("carillon.client.transport.time.sleep", lambda _seconds: None)
    url, seen, statuses = store
    statuses += [503, 200]
    put_to(f"{url}/uploads/acme/pay_1?X-Amz-Signature=ab%2Fcd&a=b", PNG, {"Content-Type": "image/png"})
    assert [(path, body) for path, _, body in seen] == [("/uploads/acme/pay_1?X-Amz-Signature=ab%2Fcd&a=b", PNG)] * 2
    headers = {name.lower(): value for name, value in seen[1][1].items()}
    assert (headers["content-type"], headers["content-length"]) == ("image/png", str(len(PNG)))
    assert "authorization" not in headers


def test_a_put_that_is_refused(store: Any) -> None:
    """It is told by its status."""
    url, _, statuses = store
    statuses.append(403)
    with pytest.raises(ApiProblem, match="403"):
        put_to(f"{url}/uploads?a=b", PNG, {"Content-Type": "image/png"})


def test_an_address_that_is_none() -> None:
    """It is a fault of the service's answer."""
    with pytest.raises(BadAnswerError):
        put_to("file:///etc/passwd", PNG, {})
