"""Sends of up to ten messages. An answer of success may hold failures, each of its own entry."""

from collections.abc import Sequence
from typing import Any, Final

from carillon.adapters.aws import ask
from carillon.ports import UnavailableError

MOST_ENTRIES: Final = 10

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
