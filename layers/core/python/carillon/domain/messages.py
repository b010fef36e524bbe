"""What travels on the queues: version 1 of the work message and of the tick, as ASCII-only JSON.

A message holds ids and numbers only, never a payload: the worker reads the newest definition when it starts.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from carillon.domain.identity import BadIdentityError, RunKey, is_job_id

MESSAGE_VERSION = 1

_compact = json.JSONEncoder(separators=(",", ":")).encode  # `dumps` makes a new encoder for each message


class MessageKind(StrEnum):
    """`first`: an occurrence that has no record yet; `wait`: a run whose wait is over."""

    FIRST = "first"
    WAIT = "wait"


class UnreadableMessageError(ValueError):
    """The text is no message of ours."""


class NewerMessageError(ValueError):
    """The message was written by a newer version: to be left for a worker that knows it."""


@dataclass(frozen=True, slots=True)
class WorkMessage:
    """An order to start a run. Instants in epoch ms."""

    kind: MessageKind
    key: RunKey
    tenant: str
    due_ms: int
    generation: int
    wait: int
    claim_id: str

    def encode(self) -> str:
        """The text that travels."""
        return _compact(
            {
                "v": MESSAGE_VERSION,
                "kind": self.kind,
                "job": self.key.job_id,
                "run": self.key.name,
                "tenant": self.tenant,
                "due_ms": self.due_ms,
                "generation": self.generation,
                "wait": self.wait,
                "claim_id": self.claim_id,
            }
        )

    @classmethod
    def decode(cls, text: str) -> "WorkMessage":
        """The message in a text.

        Raises:
            UnreadableMessageError: it is none.
            NewerMessageError: it is of a version to come.
        """
        fields = _versioned(text)
        try:
            if not is_job_id(fields["job"]):
                raise UnreadableMessageError("job is no job id")
            return cls(
                kind=MessageKind(fields["kind"]),
                key=RunKey.from_parts(fields["job"], fields["run"]),
                tenant=_text(fields, "tenant"),
                due_ms=_whole(fields, "due_ms"),
                generation=_whole(fields, "generation"),
                wait=_whole(fields, "wait"),
                claim_id=_text(fields, "claim_id"),
            )
        except (KeyError, TypeError, BadIdentityError, ValueError) as error:
            raise UnreadableMessageError("a field is missing or of the wrong kind") from error


@dataclass(frozen=True, slots=True)
class Tick:
    """An order to a shard group to look at its due entries, for one absolute second."""

    group: int
    second: int

    def encode(self) -> str:
        """The text that travels."""
        return _compact({"v": MESSAGE_VERSION, "group": self.group, "second": self.second})

    @classmethod
    def decode(cls, text: str) -> "Tick":
        """The tick in a text.

        Raises:
            UnreadableMessageError: it is none.
            NewerMessageError: it is of a version to come.
        """
        fields = _versioned(text)
        try:
            return cls(_whole(fields, "group"), _whole(fields, "second"))
        except (KeyError, TypeError) as error:
            raise UnreadableMessageError("a field is missing or of the wrong kind") from error


@dataclass(frozen=True, slots=True)
class OperationMessage:
    """An order to carry an operation on."""

    tenant: str
    operation_id: str

    def encode(self) -> str:
        """The text that travels."""
        return _compact({"v": MESSAGE_VERSION, "tenant": self.tenant, "operation": self.operation_id})

    @classmethod
    def decode(cls, text: str) -> "OperationMessage":
        """The order in a text.

        Raises:
            UnreadableMessageError: it is none.
            NewerMessageError: it is of a version to come.
        """
        fields = _versioned(text)
        try:
            return cls(_text(fields, "tenant"), _text(fields, "operation"))
        except KeyError as error:
            raise UnreadableMessageError("a field is missing") from error


def _versioned(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableMessageError("not JSON") from error
    if not isinstance(fields, dict) or not _is_whole(fields.get("v")):
        raise UnreadableMessageError("not an object with a version")
    if fields["v"] > MESSAGE_VERSION:
        raise NewerMessageError("of a newer version")
    if fields["v"] < 1:
        raise UnreadableMessageError("of no known version")
    return fields


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _whole(fields: dict[str, Any], name: str) -> int:
    value = fields[name]
    if not _is_whole(value):
        raise UnreadableMessageError(f"{name} is no whole number")
    return int(value)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise UnreadableMessageError(f"{name} is no text")
    return value
