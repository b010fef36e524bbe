"""What uploads are signed for, and what S3's refusals mean."""

import io
from collections.abc import Callable
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError

from carillon.adapters.aws import new_client, new_session
from carillon.adapters.memory.edges import MemoryClock
from carillon.adapters.s3 import SIGNING, S3Payloads
from carillon.adapters.system import SystemClock
from carillon.domain.job import StoredPayload
from carillon.ports.errors import PayloadMissingError, UnavailableError

PAYLOAD = StoredPayload("pay_1", "image/png", 5)
FAR_MS = 10_000


def refusal(code: str, status: int) -> ClientError:
    """What the client raises for an answer."""
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Operation")


class Scripted:
    """A client of S3 that does one thing, whatever it is asked."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act

    def __getattr__(self, _name: str) -> Callable[..., Any]:
        return lambda **_request: self._act()


def failing(error: Exception) -> S3Payloads:
    """Payloads whose store fails in one way."""

    def act() -> None:
        raise error

    return S3Payloads(Scripted(act), "bucket", MemoryClock(0))


class Breaking(io.BytesIO):
    """A body that breaks off."""

    def read(self, _size: int | None = -1) -> bytes:
        """Fail."""
        raise ReadTimeoutError(endpoint_url="s3")


@pytest.mark.parametrize("region", ["eu-west-1", "us-east-1"])
def test_an_upload_is_signed_for_its_length_and_type(region: str) -> None:
    """S3 refuses a request whose signed headers differ; the host is the region's own, which never redirects."""
    session = new_session()
    session.set_config_variable("region", region)
    session.set_credentials("test", "test", "session")
    payloads = S3Payloads(new_client(session, "s3", more=SIGNING), "bucket", MemoryClock(0))
    invitation = payloads.invite("acme", "pay_1", "image/png", 48_213, 1_000)
    url = urlsplit(invitation.url)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert url.netloc == f"bucket.s3.{region}.amazonaws.com"
    assert (url.scheme, url.path) == ("https", "/uploads/acme/pay_1")
    assert query["X-Amz-SignedHeaders"] == "content-length;content-type;host"
    assert query["X-Amz-Expires"] == "900"
    assert not [name for name in query if "checksum" in name.lower()], "no client has to make one"
    assert invitation.expires_at == 901_000


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(refusal("NoSuchKey", 404), PayloadMissingError, id="gone"),
        pytest.param(refusal("AccessDenied", 403), UnavailableError, id="denied"),
        pytest.param(refusal("SlowDown", 503), UnavailableError, id="throttled"),
        pytest.param(refusal("InternalError", 500), UnavailableError, id="broken"),
        pytest.param(ConnectTimeoutError(endpoint_url="s3"), UnavailableError, id="no-answer"),
    ],
)
def test_reads_that_fail(error: Exception, kind: type[Exception]) -> None:
    """Only what is not there is missing; everything else may be there next time, a right that was taken too."""
    with pytest.raises(kind):
        failing(error).read("acme", "job_1", PAYLOAD, FAR_MS)


def test_a_body_that_breaks_off() -> None:
    """It may come whole next time."""
    answer = {"Body": Breaking(), "ContentLength": 5}
    with pytest.raises(UnavailableError):
        S3Payloads(Scripted(lambda: answer), "bucket", MemoryClock(0)).read("acme", "job_1", PAYLOAD, FAR_MS)


def test_a_store_that_hangs_holds_no_call_up() -> None:
    """The read ends with the deadline of its call, and the one after it has a reader of its own."""
    go_on = Event()

    def hang() -> dict[str, Any]:
        go_on.wait(30)
        return {"Body": io.BytesIO(b"12345"), "ContentLength": 5}

    payloads, clock = S3Payloads(Scripted(hang), "bucket", SystemClock()), SystemClock()
    with pytest.raises(UnavailableError):
        payloads.read("acme", "job_1", PAYLOAD, clock.now_ms() + 50)
    go_on.set()
    assert payloads.read("acme", "job_1", PAYLOAD, clock.now_ms() + FAR_MS) == b"12345"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(refusal("404", 404), None, id="gone"),
        pytest.param(refusal("412", 412), UnavailableError, id="changed-meanwhile"),
        pytest.param(refusal("403", 403), ClientError, id="denied"),
        pytest.param(refusal("SlowDown", 503), UnavailableError, id="throttled"),
    ],
)
def test_uploads_that_cannot_be_kept(error: Exception, outcome: type[Exception] | None) -> None:
    """What is not there is none; what changes under the copy may be asked for again; a missing right is our fault."""
    if outcome is None:
        assert failing(error).keep("acme", "pay_1", "job_1", 5) is None
        return
    with pytest.raises(outcome):
        failing(error).keep("acme", "pay_1", "job_1", 5)


def test_a_removal_that_leaves_something_is_not_done() -> None:
    """The record of the removal comes again."""
    answer = {"Contents": [{"Key": "payloads/acme/job_1/pay_1"}], "Errors": [{"Key": "payloads/acme/job_1/pay_1"}]}
    with pytest.raises(UnavailableError):
        S3Payloads(Scripted(lambda: answer), "bucket", MemoryClock(0)).remove_all("acme", "job_1")
