"""Messages of the queue of operations: each comes again until its operation has ended."""

from dataclasses import dataclass, field

import pytest

from carillon.adapters.memory.edges import RecordingMeter
from carillon.domain.messages import NewerMessageError, OperationMessage, UnreadableMessageError
from carillon.entrypoint.operation_messages import PAUSE_MS, SPARE_MS, UNREADABLE_PAUSE_MS, operation_handler
from carillon.ports.errors import UnavailableError

BODY = OperationMessage("acme", "op_1").encode()


@dataclass
class Received:
    """One message, and what was asked of its queue."""

    body: str = BODY
    message_id: str = "m1"
    pauses: list[int] = field(default_factory=list)

    def come_again_after(self, after_ms: int) -> None:
        """Take note."""
        self.pauses.append(after_ms)


@pytest.mark.parametrize(("ends", "pauses"), [(True, []), (False, [0])])
def test_a_message_is_done_when_its_operation_is(*, ends: bool, pauses: list[int]) -> None:
    """Else it comes again at once: another turn, perhaps after other tenants' ones. Time is left for a page."""
    asked: list[tuple[str, str, int]] = []

    def drive(*about: object) -> bool:
        asked.append(about)  # type: ignore[arg-type]  # its own arguments
        return ends

    delivery = Received()
    assert operation_handler(drive, RecordingMeter())(delivery, 100_000) is ends
    assert (asked, delivery.pauses) == ([("acme", "op_1", 100_000 - SPARE_MS)], pauses)


def test_a_store_that_does_not_answer_is_given_a_pause() -> None:
    """The operation stays where it was, and its message comes again."""

    def drive(*_: object) -> bool:
        raise UnavailableError("no answer")

    delivery = Received()
    assert not operation_handler(drive, RecordingMeter())(delivery, 100_000)
    assert delivery.pauses == [PAUSE_MS]


BAD = ["", "x", "[]", "{}", '{"v":1}', '{"v":1,"tenant":"acme"}', '{"v":1,"tenant":7,"operation":"op_1"}']
NEWER = '{"v":2,"tenant":"acme","operation":"op_1"}'


@pytest.mark.parametrize("body", [*BAD, NEWER])
def test_b181_what_nobody_can_read_stays(body: str) -> None:
    """B181: it is not lost, an alarm tells of it, and it is looked at again only after a while."""
    meter, delivery = RecordingMeter(), Received(body)
    assert not operation_handler(lambda *_: True, meter)(delivery, 100_000)
    assert (meter.counts["unparsable_message"], delivery.pauses) == (1, [UNREADABLE_PAUSE_MS])


def test_messages_read_as_they_were_written() -> None:
    """And nothing else does."""
    message = OperationMessage("acme ☾", "op_1")
    assert OperationMessage.decode(message.encode()) == message
    assert message.encode().isascii()
    for body in BAD:
        with pytest.raises(UnreadableMessageError):
            OperationMessage.decode(body)
    with pytest.raises(NewerMessageError):
        OperationMessage.decode(NEWER)
