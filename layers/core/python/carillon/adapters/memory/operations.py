"""Operations and their queue, in memory."""

from carillon.adapters.memory.state import MemoryState
from carillon.domain.audit import AuditEvent
from carillon.domain.messages import OperationMessage
from carillon.domain.operations import Operation


class MemoryOperations:
    """Records of operations."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def create(self, operation: Operation, event: AuditEvent | None = None) -> Operation:
        """Store a new operation with its event, or give the one that there is."""
        with self._state.lock:
            if (operation.tenant, operation.id) not in self._state.operations:
                self._state.tell(event)
            return self._state.operations.setdefault((operation.tenant, operation.id), operation)

    def get(self, tenant: str, operation_id: str) -> Operation | None:
        """The operation, or None."""
        return self._state.operations.get((tenant, operation_id))

    def replace(self, operation: Operation, event: AuditEvent | None = None) -> bool:
        """Store it if the stored one is that of the `rev` before, with an event. A repeat succeeds."""
        with self._state.lock:
            stored = self.get(operation.tenant, operation.id)
            if stored is None or stored.rev != operation.rev - 1:
                return stored == operation
            self._state.operations[operation.tenant, operation.id] = operation
            self._state.tell(event)
            return True


class MemoryOperationQueue:
    """The queue: a list that can be read."""

    def __init__(self) -> None:
        self.messages: list[OperationMessage] = []

    def send(self, message: OperationMessage) -> None:
        """Have an operation carried on."""
        self.messages.append(message)
