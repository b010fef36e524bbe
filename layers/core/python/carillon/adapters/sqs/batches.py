"""Sends of up to ten messages. An answer of success may hold failures, each of its own entry."""

from collections.abc import Sequence
from typing import Any, Final

from carillon.adapters.aws import ask
from carillon.ports.edges import Clock
from carillon.ports.errors import UnavailableError

MOST_ENTRIES: Final = 10
PAUSES_MS: Final = (50, 200)
"""Before a batch's failed entries are sent once more. What fails then stays due, and is sent by the next sweep."""

Entry = dict[str, Any]
"""An entry of a batch without its id."""


def send_batch(client: Any, queue_url: str, entries: Sequence[Entry]) -> list[bool]:
    """Send at most ten messages; one answer an entry, in order: whether the queue has accepted it.

    What was not answered for counts as not accepted: sent again, it may arrive twice, and that does no harm.
    """
    numbered = [{"Id": str(position), **entry} for position, entry in enumerate(entries)]
    try:
        answer = ask(client.send_message_batch, QueueUrl=queue_url, Entries=numbered)
    except UnavailableError:
        return [False] * len(entries)
    accepted = {success["Id"] for success in answer.get("Successful", [])}
    return [entry["Id"] in accepted for entry in numbered]


def send_again(client: Any, queue_url: str, entries: Sequence[Entry], accepted: list[bool], clock: Clock) -> list[bool]:
    """Send those of a batch that alone have failed, a few times; a batch of which nothing arrived is left alone."""
    for pause_ms in PAUSES_MS:
        failed = [position for position, was_accepted in enumerate(accepted) if not was_accepted]
        if len(failed) in (0, len(entries)):
            break
        clock.sleep_ms(pause_ms)
        answers = send_batch(client, queue_url, [entries[position] for position in failed])
        for position, was_accepted in zip(failed, answers, strict=True):
            accepted[position] = was_accepted
    return accepted
