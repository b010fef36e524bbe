"""Signatures: published and own vectors, and the receivers' side."""

import base64
import hmac
import time
from collections.abc import Callable

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from carillon.domain.signing import BadSecretError, new_secret, sign
from carillon.receiver import WebhookError, verify

K1 = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
K2 = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
K3 = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
V0_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "exec_01JABCDEFGHJKMNPQRSTVWXYZ0"
AT = 1767225600
HELLO = b'{"hello":"world"}'
A = "v1,wBtx9IsJ1EZCcsMFQMPfXH9xcOd49Iq45wDVpyotmxE="
B = "v1,f5s8HK+7oz6719z+4jkqTq8OGdQWqMalaVyaRarKQuU="


@pytest.mark.parametrize(
    ("secrets", "message", "at", "body", "expected"),
    [
        pytest.param(
            [V0_SECRET],
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1614265330,
            b'{"test": 2432232314}',
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            id="V0-published",
        ),
        pytest.param([K1], MESSAGE, AT, HELLO, A, id="A"),
        pytest.param([K2], MESSAGE, AT, HELLO, B, id="B"),
        pytest.param(
            [K1], MESSAGE, AT, HELLO + b"\n", "v1,/QOvTJcif+h0JAUIXVwU63lvEjSIOO+1uP6yVj4QHXo=", id="E-line-feed"
        ),
        pytest.param(
            [K1], MESSAGE, AT, b"\x00\xff\x80\n\r", "v1,33Jz/ilQCcslVoVWZn5893TXC9r8QIlNLP0Wf7XBX4k=", id="F-not-text"
        ),
        pytest.param([K3], MESSAGE, AT, HELLO, "v1,7eN04g0eIPZfa256sPvyBjilu0MxDkyNf0v+3Di3Q0Y=", id="H-short-key"),
        pytest.param([K1, K2], MESSAGE, AT, HELLO, f"{A} {B}", id="R-rotation-B230"),
    ],
)
def test_vectors(secrets: list[str], message: str, at: int, body: bytes, expected: str) -> None:
    """The header is what other implementations computed for the same bytes."""
    assert sign(secrets, message, at, body) == expected


@pytest.mark.parametrize("receiver", [K1, K2])
@pytest.mark.parametrize("body", [HELLO, b"", '{"t":"😱 Ж"}'.encode()], ids=["json", "B233-empty", "B206-utf-8"])
def test_receivers_of_either_secret_accept_during_a_rotation(receiver: str, body: bytes) -> None:
    """The Standard Webhooks library, which is not ours, and our own `verify` accept with either secret alone."""
    now = int(time.time())
    headers = _headers(sign([K1, K2], MESSAGE, now, body), now)
    # Without json_parse=False the library fails on an empty body after it has verified it.
    Webhook(receiver).verify(body, headers, json_parse=False)
    verify(receiver, headers, body)


def test_after_the_rotation_the_old_secret_no_longer_matches() -> None:
    """B230: the overlap is over when the second signature is gone."""
    now = int(time.time())
    headers = _headers(sign([K1], MESSAGE, now, HELLO), now)
    with pytest.raises(WebhookVerificationError):
        Webhook(K2).verify(HELLO, headers)
    with pytest.raises(WebhookError):
        verify(K2, headers, HELLO)


def test_b229_the_signed_bytes_are_the_bytes_given() -> None:
    """B229: nothing is parsed or serialised again; blanks, key order and 1.0 count as they stand."""
    body = b'{ "z": 1.0, "a": 2 }'
    key = base64.b64decode(K1.removeprefix("whsec_"))
    mac = hmac.digest(key, f"{MESSAGE}.{AT}.".encode() + body, "sha256")
    assert sign([K1], MESSAGE, AT, body) == "v1," + base64.b64encode(mac).decode()


@pytest.mark.parametrize("size", [24, 32, 64])
def test_a_new_secret_is_usable_at_once(size: int) -> None:
    """24 to 64 random bytes make a secret that signs and verifies."""
    secret = new_secret(bytes(range(size)))
    verify(secret, _headers(sign([secret], MESSAGE, AT, HELLO), AT), HELLO, now_seconds=AT)


def _refusals() -> dict[str, Callable[[], object]]:
    return {
        "no-secret": lambda: sign([], MESSAGE, AT, b""),
        "no-prefix": lambda: sign([K1.removeprefix("whsec_")], MESSAGE, AT, b""),
        "no-base64": lambda: sign(["whsec_!!!!"], MESSAGE, AT, b""),
        "not-ascii": lambda: sign(["whsec_é" + K1], MESSAGE, AT, b""),
        "no-padding": lambda: sign([K1.rstrip("=")], MESSAGE, AT, b""),
        "short-key": lambda: sign(["whsec_AAEC"], MESSAGE, AT, b""),
        "few-bytes": lambda: new_secret(bytes(23)),
        "many-bytes": lambda: new_secret(bytes(65)),
    }


@pytest.mark.parametrize("case", _refusals())
def test_bad_secrets_are_refused_without_being_shown(case: str) -> None:
    """What is no secret is refused, and no message carries what was given."""
    with pytest.raises(BadSecretError) as refused:
        _refusals()[case]()
    assert "AAEC" not in str(refused.value)


@pytest.mark.parametrize("message", ["", "a.b"])
def test_a_message_id_holds_no_dot(message: str) -> None:
    """A dot separates what is signed: an id with one could be read in two ways."""
    with pytest.raises(ValueError, match="message id"):
        sign([K1], message, AT, b"")


@pytest.mark.parametrize(
    ("change", "body", "now"),
    [
        pytest.param({}, HELLO[:-1] + b"!", AT, id="N-body"),
        pytest.param({}, HELLO, AT + 301, id="N-old-B232"),
        pytest.param({}, HELLO, AT - 301, id="N-future"),
        pytest.param({"webhook-id": ""}, HELLO, AT, id="N-no-id"),
        pytest.param({"webhook-timestamp": ""}, HELLO, AT, id="N-no-time"),
        pytest.param({"webhook-signature": ""}, HELLO, AT, id="N-no-signature"),
        pytest.param({"webhook-signature": "v2," + A.removeprefix("v1,")}, HELLO, AT, id="N-version"),
        pytest.param({"webhook-signature": "v1,"}, HELLO, AT, id="N-empty-token"),
        pytest.param({"webhook-signature": "v1"}, HELLO, AT, id="N-no-comma"),
        pytest.param({"webhook-signature": "v1,é"}, HELLO, AT, id="N-not-ascii"),
        pytest.param({"webhook-signature": "v1," + A}, HELLO, AT, id="N-two-commas"),
        pytest.param({"webhook-signature": A.lower()}, HELLO, AT, id="N-case"),
        pytest.param({"webhook-id": "other"}, HELLO, AT, id="N-id"),
        pytest.param({"webhook-timestamp": f"{AT}.5"}, HELLO, AT, id="N-fraction"),
        pytest.param({"webhook-timestamp": f"{AT + 1}"}, HELLO, AT, id="N-other-time"),
        pytest.param({"webhook-timestamp": "1e9"}, HELLO, AT, id="N-exponent"),
        pytest.param({"webhook-timestamp": "9" * 5000}, HELLO, AT, id="N-huge"),
    ],
)
def test_verify_rejects(change: dict[str, str], body: bytes, now: int) -> None:
    """One wrong byte, a far-off time or a damaged header: not believed, whatever else is right."""
    with pytest.raises(WebhookError):
        verify(K1, _headers(A, AT) | change, body, now_seconds=now)


@pytest.mark.parametrize(
    "tokens", [A, f"v1a,AAAA {A}", f"nonsense {A}", f"v9 {A}", f"{B} {A}", f"  {A}"], ids=lambda tokens: tokens[:8]
)
def test_s_verify_skips_tokens_that_it_does_not_know(tokens: str) -> None:
    """S: any one v1 token that matches is enough; others, of any shape, are passed over."""
    verify(K1, _headers(tokens, AT), HELLO, now_seconds=AT)


def test_verify_reads_headers_without_case_and_takes_several_secrets() -> None:
    """Frameworks write names as they like, and a receiver in rotation holds two secrets."""
    headers = {name.title(): value for name, value in _headers(B, AT).items()}
    verify([K1, K2], headers, HELLO, now_seconds=AT + 300)


@pytest.mark.parametrize(("value", "kind"), [("StringValue", "DataType"), ("stringValue", "dataType")])
def test_verify_takes_the_attributes_of_a_message(value: str, kind: str) -> None:
    """As SQS answers with them, and as an event of Lambda holds them; the body is text there."""
    attributes = {name: {value: text, kind: "String"} for name, text in _headers(A, AT).items()}
    verify(K1, attributes, HELLO.decode(), now_seconds=AT)
    with pytest.raises(WebhookError, match="no signature matches"):
        verify(K1, attributes, HELLO.decode() + " ", now_seconds=AT)


@pytest.mark.parametrize("value", [None, 7, b"v1,x", {}, {"StringValue": None}, {"BinaryValue": b"v1,x"}], ids=repr)
def test_verify_takes_no_other_value_for_a_header(value: object) -> None:
    """What is no text is as good as missing."""
    with pytest.raises(WebhookError, match="webhook-signature is missing"):
        verify(K1, {**_headers(A, AT), "webhook-signature": value}, HELLO, now_seconds=AT)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_*"])
def test_verify_does_not_take_an_empty_secret(secret: str) -> None:
    """An unset variable must not become a key that everybody knows."""
    mac = hmac.digest(b"", f"{MESSAGE}.{AT}.".encode() + HELLO, "sha256")
    with pytest.raises(WebhookError):
        verify(secret, _headers("v1," + base64.b64encode(mac).decode(), AT), HELLO, now_seconds=AT)


def _headers(signature: str, at: int) -> dict[str, str]:
    return {"webhook-id": MESSAGE, "webhook-timestamp": str(at), "webhook-signature": signature}
