"""Work on many jobs: its records, and the queue that has it carried on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from carillon.domain.audit import AuditEvent
    from carillon.domain.messages import OperationMessage
    from carillon.domain.operations import Operation


class OperationStore(Protocol):
    """Records of operations, by tenant and id."""

    def create(self, operation: Operation, event: AuditEvent | None = None) -> Operation:
        """Store a new operation, with its event; where there is one of this id, that one is left and given."""
        ...

    def get(self, tenant: str, operation_id: str) -> Operation | None:
        """The operation, read with strong consistency, or None.

        Raises:
            UnreadableItemError: the stored one is damaged.
        """
        ...

    def replace(self, operation: Operation, event: AuditEvent | None = None) -> bool:
        """Store it if the stored one is that of the `rev` before, with an event. A repeat succeeds."""
        ...


class OperationQueue(Protocol):
    """What has operations carried on, one message each."""

    def send(self, message: OperationMessage) -> None:
        """Have an operation carried on. Twice does no harm.

        Raises:
            UnavailableError: the queue has not accepted it, as far as is known.
        """
        ...
