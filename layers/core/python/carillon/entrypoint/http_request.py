"""A request and its answer, in the form in which an HTTP API of API Gateway hands them over (payload format 2.0)."""

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote

from carillon.domain.audit import Actor, ActorType
from carillon.domain.tenancy import Principal
from carillon.entrypoint.problems import FieldError, Refusal
from carillon.ports.edges import Ids

MOST_BODY_BYTES = 512 * 1024
MOST_BATCH_BYTES = 4 * 1024 * 1024
"""Of a batch of jobs. What a function is handed is limited to 6 MB."""

MOST_PARAMETERS = 64

_DEFAULT_STAGE = "$default"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._=+/-]{1,128}", re.ASCII)

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked.

    Attributes:
        method: in capitals.
        base: the path of the stage in front of ours: empty for the default stage.
        segments: the parts of the path, decoded.
        parameters: of the query, in their order.
        headers: names in lower case.
        body: as sent.
        now_ms: the instant of the request, epoch ms.
        request_id: its name, in our logs and in what is kept of it.
        ids: the names that it makes, if it may be repeated; None: new ones.
        is_again: whether an earlier try of it may have come through.
        principal: who asks; None while that is not known.
        path_values: the segments that stand for an id, by its name.
    """

    method: str
    base: str
    segments: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes
    now_ms: int
    request_id: str = ""
    ids: Ids | None = None
    is_again: bool = False
    principal: Principal | None = None
    path_values: Mapping[str, str] = field(default_factory=dict)

    @property
    def known_principal(self) -> Principal:
        """Who asks, on a route that asks for a key."""
        if self.principal is None:
            raise PermissionError("the route did not ask for a key")
        return self.principal

    @property
    def tenant(self) -> str:
        """Whose data this is about: of the key, never of the path or the body."""
        return self.known_principal.tenant

    @property
    def actor(self) -> Actor:
        """Who is to be named in the audit trail."""
        return Actor(ActorType.API_KEY, self.known_principal.key_id, self.request_id)

    def of(self, principal: Principal | None, path_values: Mapping[str, str]) -> "Request":
        """The request with what its route found out."""
        return replace(self, principal=principal, path_values=path_values)

    def at(self, now_ms: int, ids: Ids, *, is_again: bool) -> "Request":
        """The request as of another instant, and with names that are the same each time."""
        return replace(self, now_ms=now_ms, ids=ids, is_again=is_again)

    def path(self, *segments: str) -> str:
        """A path of ours, as the client has to write it."""
        return "/".join((self.base, *segments))


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered: a status, the text of a body or none, and headers."""

    status: int
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"

    def as_event(self, request_id: str) -> dict[str, Any]:
        """The form that the gateway wants."""
        headers = {"Cache-Control": "no-store", "X-Request-Id": request_id, **self.headers}
        if self.text is not None:
            headers["Content-Type"] = self.media_type
        return {"statusCode": self.status, "headers": headers, "body": self.text or "", "isBase64Encoded": False}


def request_id_of(event: Event) -> str:
    """The name of a request: the client's own, if it has given one that can be logged, or else the gateway's."""
    given = _headers(event).get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else gateway_request_id_of(event)


def base_of(event: Event) -> str:
    """The path of the stage in front of ours: empty for the default stage."""
    return _split_base(str(event.get("rawPath", "")), _stage_of(event))[0]


def _stage_of(event: Event) -> str:
    return str(event.get("requestContext", {}).get("stage", _DEFAULT_STAGE))


def gateway_request_id_of(event: Event) -> str:
    """The gateway's name of a request, which stands in its access log."""
    return str(event.get("requestContext", {}).get("requestId", ""))


def read_request(event: Event, now_ms: int) -> Request:
    """The request in an event.

    Raises:
        Refusal: path, query or body cannot be read.
    """
    context = event["requestContext"]
    base, path = _split_base(str(event["rawPath"]), _stage_of(event))
    return Request(
        method=str(context["http"]["method"]).upper(),
        base=base,
        segments=_segments(path),
        parameters=_parameters(str(event.get("rawQueryString") or "")),
        headers=_headers(event),
        body=_body(event),
        now_ms=now_ms,
        request_id=request_id_of(event),
    )


def _headers(event: Event) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}


def _split_base(path: str, stage: str) -> tuple[str, str]:
    """The gateway puts the name of a stage before the path, unless it is the default stage."""
    base = f"/{stage}"
    if stage != _DEFAULT_STAGE and path.startswith(f"{base}/"):
        return base, path.removeprefix(base)
    return "", path


def _segments(path: str) -> tuple[str, ...]:
    try:
        return tuple(unquote(segment, errors="strict") for segment in path.split("/")[1:])
    except UnicodeDecodeError:
        raise Refusal("malformed_request", "the path is not UTF-8") from None


def _parameters(query: str) -> tuple[tuple[str, str], ...]:
    try:
        return tuple(
            parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS) if query else ()
        )
    except ValueError:  # also what is not UTF-8
        raise Refusal("malformed_request", "the query cannot be read") from None


def _body(event: Event) -> bytes:
    text = event.get("body") or ""
    try:
        body = b64decode(text, validate=True) if event.get("isBase64Encoded") else text.encode()
    except (binascii.Error, ValueError):  # also what has no UTF-8
        raise Refusal("malformed_request", "the body cannot be read") from None
    return body


def check_size(request: Request, most_bytes: int) -> None:
    """Refuse a body above the limit of its route.

    Raises:
        Refusal: it is larger.
    """
    if len(request.body) > most_bytes:
        raise _too_large(most_bytes)


def _too_large(most_bytes: int) -> Refusal:
    detail = f"at most {most_bytes} bytes are allowed"
    return Refusal("too_large", f"the body is too large: {detail}", (FieldError("pointer", "", "too_large", detail),))


def require_json(request: Request) -> None:
    """Refuse a body that is not declared as plain JSON.

    Raises:
        Refusal: the media type, its charset or the coding is another.
    """
    _require_media(request, ("application/json",), {})


def require_merge_patch(request: Request) -> None:
    """Refuse a body that is not declared as a merge patch; as plain JSON it is taken for one.

    Raises:
        Refusal: the media type, its charset or the coding is another; the answer says what is accepted.
    """
    accepted = ("application/merge-patch+json", "application/json")
    _require_media(request, accepted, {"Accept-Patch": ", ".join(accepted)})


def _require_media(request: Request, accepted: Sequence[str], told: Mapping[str, str]) -> None:
    media_type, *options = [part.strip().lower() for part in request.headers.get("content-type", "").split(";")]
    if media_type not in accepted or not _is_utf8(options):
        raise _unsupported("Content-Type", f"must be {' or '.join(accepted)}", told)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise _unsupported("Content-Encoding", "must not be set: bodies are read as they are", told)


def _is_utf8(options: Sequence[str]) -> bool:
    return all(option.replace('"', "") in ("", "charset=utf-8") for option in options)


def _unsupported(header: str, detail: str, told: Mapping[str, str]) -> Refusal:
    wrong = FieldError("header", header, "unsupported", detail)
    return Refusal("unsupported_media_type", f"{header} {detail}", (wrong,), headers=told)
