"""The document that asks for a new API key."""

from dataclasses import dataclass
from typing import Annotated, Literal

from carillon.answers import Instant
from carillon.domain.tenancy import SCOPES
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import FieldError, invalid
from carillon.entrypoint.wire.fields import Document, Name, counting, told
from carillon.entrypoint.wire.refusals import read_instant, validated

Scope = Literal[
    "jobs:read", "jobs:write", "runs:read", "runs:write", "keys:manage", "secrets:manage", "audit:read", "admin"
]


class KeyDocument(Document):
    """What a key may do, for how long, and what it is called."""

    scopes: Annotated[
        list[Scope], counting(1, len(SCOPES)), told("no more than the asking key has; `admin` includes all")
    ]
    name: Annotated[Name | None, told("what people call it")] = None
    expires_at: Annotated[Instant | None, told("an instant that lies ahead. Absent: it has no end")] = None


@dataclass(frozen=True, slots=True)
class KeyWish:
    """What is asked for; `expires_at_ms`: epoch ms, or None for a key without an end."""

    scopes: frozenset[str]
    name: str | None
    expires_at_ms: int | None


def read_key(sent: JsonObject, now_ms: int) -> KeyWish:
    """The wish in a document.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    document = validated(KeyDocument, sent.members)
    expires_at_ms = None if document.expires_at is None else _later(document.expires_at, now_ms)
    return KeyWish(frozenset(document.scopes), document.name, expires_at_ms)


def _later(text: str, now_ms: int) -> int:
    instant_ms = read_instant(text, "/expires_at")
    if instant_ms <= now_ms:
        raise invalid([FieldError("pointer", "/expires_at", "out_of_range", "must lie ahead")])
    return instant_ms
