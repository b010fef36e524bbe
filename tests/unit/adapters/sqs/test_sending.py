"""What is sent to SQS, and what of it counts as sent."""

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from carillon.adapters.memory.edges import MemoryClock
from carillon.adapters.sqs.delivery import SqsDelivery
from carillon.adapters.sqs.routing import QueueName, delay_seconds, invisible_seconds, tick_delay_seconds
from carillon.adapters.sqs.ticks import SqsTickQueue
from carillon.adapters.sqs.work import SqsWorkQueues
from carillon.domain.identity import RunKey
from carillon.domain.job import Lane, Priority
from carillon.domain.messages import MessageKind, Tick, WorkMessage
from carillon.ports.errors import UnavailableError
from contract.samples import NOW_MS, new_job_id
from contract.wire import Answer, Wire, error

URLS = {name: f"http://127.0.0.1:9/000000000000/{name}" for name in QueueName}


def addressed(due_ms: int = NOW_MS, priority: Priority = Priority.NORMAL) -> tuple[WorkMessage, Lane, Priority]:
    """A message of a first run."""
    key = RunKey.of(new_job_id(), NOW_MS)
    return WorkMessage(MessageKind.FIRST, key, "acme", due_ms, 1, 0, "C" * 26), Lane.SHORT, priority


def answer(accepted: list[int], failed: list[int]) -> Answer:
    """The answer to a batch."""
    return Answer(
        {
            "Successful": [{"Id": str(n), "MessageId": "m", "MD5OfMessageBody": "x"} for n in accepted],
            "Failed": [{"Id": str(n), "Code": "InternalError", "SenderFault": False} for n in failed],
        }
    )


def test_b116_an_entry_that_failed_is_not_counted_as_sent() -> None:
    """B116: a batch of ten of which one fails, again and again, is answered with success; nine are sent."""
    wire = Wire([answer([0, 1, 2, 3, 4, 5, 6, 8, 9], [7]), answer([], [0]), answer([], [0])])
    accepted = SqsWorkQueues(wire.client("sqs"), URLS).send([addressed() for _ in range(10)], MemoryClock(NOW_MS))
    assert accepted == [True] * 7 + [False] + [True] * 2


def test_b116_an_entry_that_is_not_mentioned_is_not_counted_as_sent() -> None:
    """B116: only what is listed as successful is."""
    wire = Wire([answer([1], []), answer([], []), answer([], [])])
    accepted = SqsWorkQueues(wire.client("sqs"), URLS).send([addressed(), addressed()], MemoryClock(NOW_MS))
    assert accepted == [False, True]


@pytest.mark.parametrize(
    "silence", [error("ThrottlingException"), Answer({}, 503), ReadTimeoutError(endpoint_url="http://127.0.0.1:9")]
)
def test_a_batch_without_an_answer_is_not_counted_as_sent(silence: Answer | Exception) -> None:
    """A lost batch does not take those before and after it along."""
    wire = Wire([answer(list(range(10)), []), silence, answer([0], [])])
    accepted = SqsWorkQueues(wire.client("sqs"), URLS).send([addressed() for _ in range(21)], MemoryClock(NOW_MS))
    assert accepted == [True] * 10 + [False] * 10 + [True]


def test_a_missing_queue_is_an_error() -> None:
    """What will never succeed is not taken for silence."""
    wire = Wire([error("QueueDoesNotExist")])
    with pytest.raises(ClientError, match="QueueDoesNotExist"):
        SqsWorkQueues(wire.client("sqs"), URLS).send([addressed()], MemoryClock(NOW_MS))


def test_what_a_message_carries() -> None:
    """The body is the message in ASCII, the tenant is its group, the delay counts from the send."""
    wire = Wire([answer([0], [])])
    message, lane, priority = addressed(NOW_MS + 1_500)
    SqsWorkQueues(wire.client("sqs"), URLS).send([(message, lane, priority)], MemoryClock(NOW_MS))
    [(operation, request)] = wire.requests
    assert operation == "SendMessageBatch"
    assert request["QueueUrl"] == URLS[QueueName.NORMAL]
    assert request["Entries"] == [
        {"Id": "0", "MessageBody": message.encode(), "DelaySeconds": 2, "MessageGroupId": "acme"}
    ]
    assert request["Entries"][0]["MessageBody"].isascii()


def test_delays_are_computed_at_each_batch() -> None:
    """Time that earlier batches took is not added to the delay of later ones."""
    clock = MemoryClock(NOW_MS)

    class SlowWire(Wire):
        """Each answer takes ten seconds."""

        def _answer(self, *arguments: object, **options: object) -> object:  # type: ignore[override]  # passes all on
            clock.advance(10_000)
            return super()._answer(*arguments, **options)  # type: ignore[arg-type]  # as above

    wire = SlowWire([answer(list(range(10)), []), answer([0], [])])
    SqsWorkQueues(wire.client("sqs"), URLS).send([addressed(NOW_MS + 60_000) for _ in range(11)], clock)
    assert [request["Entries"][0]["DelaySeconds"] for _, request in wire.requests] == [60, 50]


def test_ticks_go_in_tens() -> None:
    """A minute of ticks for two groups is twelve requests; each answer is at its place."""
    wire = Wire([answer(list(range(10)), [])] * 11 + [answer(list(range(9)), [9])])
    ticks = [Tick(group, NOW_MS // 1000 + second) for group in (0, 1) for second in range(60)]
    accepted = SqsTickQueue(wire.client("sqs"), "http://127.0.0.1:9/1/tick").send(ticks, NOW_MS)
    assert accepted == [True] * 119 + [False]
    assert wire.answers == []


@pytest.mark.parametrize(
    ("priority", "remaining_ms", "seconds"),
    [
        (Priority.NORMAL, 0, 0),
        (Priority.NORMAL, 1, 1),
        (Priority.NORMAL, 1_000, 1),
        (Priority.LOW, 1_001, 2),
        (Priority.HIGH, 999, 0),
        (Priority.HIGH, 1_999, 1),
        (Priority.HIGH, -5_000, 0),
        (Priority.NORMAL, -1, 0),
        (Priority.NORMAL, 899_001, 900),
        (Priority.NORMAL, 3_600_000, 900),
        (Priority.HIGH, 3_600_000, 900),
    ],
)
def test_b118_delays(priority: Priority, remaining_ms: int, seconds: int) -> None:
    """B118: others are never early, high priority less than a second, and nothing waits longer than SQS allows."""
    assert delay_seconds(priority, NOW_MS + remaining_ms, NOW_MS) == seconds


@pytest.mark.parametrize(
    ("now_ms", "seconds"),
    [(10_000, 0), (9_999, 1), (9_001, 1), (9_000, 1), (8_999, 2), (10_500, 0), (0, 10)],
)
def test_a_tick_arrives_within_its_second(now_ms: int, seconds: int) -> None:
    """Neither before its second nor after it, as far as the delay decides."""
    assert tick_delay_seconds(10, now_ms) == seconds
    if now_ms <= 10_000:
        assert 10_000 <= now_ms + seconds * 1000 < 11_000


@pytest.mark.parametrize(("after_ms", "seconds"), [(0, 0), (-1, 0), (1, 1), (1_000, 1), (10**9, 42_200)])
def test_invisibility_is_rounded_up_and_bounded(after_ms: int, seconds: int) -> None:
    """A message stays away at least as long as asked for, and no longer than SQS lets it."""
    assert invisible_seconds(after_ms) == seconds


RECORD = {"messageId": "m-1", "body": "{}", "receiptHandle": "h-1"}


def test_a_delivery_is_put_back_by_its_receipt() -> None:
    """The receipt handle and the queue are those of the record."""
    wire = Wire([Answer()])
    delivery = SqsDelivery.from_record(wire.client("sqs"), URLS[QueueName.HIGH], RECORD)
    delivery.come_again_after(1_500)
    assert (delivery.message_id, delivery.body) == ("m-1", "{}")
    expected = {"QueueUrl": URLS[QueueName.HIGH], "ReceiptHandle": "h-1", "VisibilityTimeout": 2}
    assert wire.requests == [("ChangeMessageVisibility", expected)]


@pytest.mark.parametrize("code", ["MessageNotInflight", "ReceiptHandleIsInvalid", "InvalidParameterValue"])
def test_a_receipt_that_has_run_out_is_no_error(code: str) -> None:
    """The message is on its way again, which is what was wanted."""
    SqsDelivery.from_record(Wire([error(code)]).client("sqs"), URLS[QueueName.HIGH], RECORD).come_again_after(1)


def test_a_silent_queue_is_no_answer() -> None:
    """Whoever extends a visibility learns that it may not have been extended; a missing right is an error."""
    delivery = SqsDelivery.from_record(
        Wire([Answer({}, 500), error("AccessDenied")]).client("sqs"), URLS[QueueName.LOW], RECORD
    )
    with pytest.raises(UnavailableError):
        delivery.come_again_after(1)
    with pytest.raises(ClientError, match="AccessDenied"):
        delivery.come_again_after(1)
