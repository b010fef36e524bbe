"""What travels on the queues: round trips, and refusal of everything else."""

import json

import pytest

from carillon.domain.identity import RunKey
from carillon.domain.messages import MessageKind, NewerMessageError, Tick, UnreadableMessageError, WorkMessage

KEY = RunKey("job_01JABCDEFGHJKMNPQRSTVWXYZ0", "20261012T023000000Z")
MESSAGE = WorkMessage(MessageKind.FIRST, KEY, "acme", 1_791_772_200_000, 3, 0, "claim-1")
GOOD = json.loads(MESSAGE.encode())


def test_a_message_survives_the_queue() -> None:
    """What is sent is what is received, and it is ASCII (B211)."""
    assert WorkMessage.decode(MESSAGE.encode()) == MESSAGE
    assert MESSAGE.encode().isascii()
    assert Tick.decode(Tick(3, 1_791_772_200).encode()) == Tick(3, 1_791_772_200)


@pytest.mark.parametrize("field", sorted(set(GOOD) - {"v"}))
def test_every_field_is_needed(field: str) -> None:
    """A message without one of its fields is no message."""
    with pytest.raises(UnreadableMessageError):
        WorkMessage.decode(json.dumps({name: value for name, value in GOOD.items() if name != field}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "last"),
        ("job", "job_x"),
        ("job", 7),
        ("run", "2026"),
        ("run", "20261332T023000000Z"),
        ("run", None),
        ("tenant", 5),
        ("due_ms", "1"),
        ("due_ms", -1),
        ("due_ms", True),
        ("due_ms", 1.5),
        ("generation", None),
        ("wait", []),
        ("claim_id", {}),
    ],
)
def test_every_field_is_of_its_kind(field: str, value: object) -> None:
    """A field of the wrong kind makes the message unreadable, never an error of another sort."""
    with pytest.raises(UnreadableMessageError):
        WorkMessage.decode(json.dumps(GOOD | {field: value}))


@pytest.mark.parametrize("text", ["not json", "", "[]", "null", "7", "{}", '{"v":"1"}', '{"v":0}', "[" * 100_000])
@pytest.mark.parametrize("kind", [WorkMessage, Tick])
def test_what_is_no_message_is_unreadable(text: str, kind: type[WorkMessage | Tick]) -> None:
    """B181: foreign text is refused inside the guard of its own message."""
    with pytest.raises(UnreadableMessageError):
        kind.decode(text)


@pytest.mark.parametrize("kind", [WorkMessage, Tick])
def test_a_newer_message_is_left_for_a_newer_worker(kind: type[WorkMessage | Tick]) -> None:
    """B184: a message of a version to come is told apart from a broken one."""
    with pytest.raises(NewerMessageError):
        kind.decode(json.dumps(GOOD | {"v": 2}))
