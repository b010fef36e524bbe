"""Every place where ministack's inside is touched, and why.

ministack is pinned by the lock file. It has no interface for what is done here, so these few names are used
directly; they are gathered in this one class so that an upgrade has one file to check.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from typing import Any

from carillon_cli.dev.local_aws.snapshot import Frozen

# ruff: noqa: SLF001 - ministack has no interface for this; the docstring says why, and each such name is in this file

Handler = Callable[..., Any]
_LOCKED_ACTIONS = (
    "SendMessage",
    "SendMessageBatch",
    "DeleteMessage",
    "DeleteMessageBatch",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
)
# IAM knows no action for a batch: it is allowed by the action for one (service authorization reference of SQS).
_ACTION_OF_BATCH = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
}


class Seams:
    """ministack, loaded. Its environment must be complete before this is made: it reads it while it is imported."""

    def __init__(self) -> None:
        self._app: Any = import_module("ministack.app")
        self._dynamodb: Any = import_module("ministack.services.dynamodb")
        self._sqs: Any = import_module("ministack.services.sqs")
        self._functions: Any = import_module("ministack.services.lambda_svc")
        self._runtime: Any = import_module("ministack.core.lambda_runtime")
        self._persistence: Any = import_module("ministack.core.persistence")
        self._actions: Any = import_module("ministack.core.iam_actions")
        self._wake: Any = import_module("ministack.core.concurrency").esm_wake

    @property
    def application(self) -> Callable[..., Awaitable[None]]:
        """The ASGI application."""
        application: Callable[..., Awaitable[None]] = self._app.app
        return application

    def lock_queue_requests(self) -> None:
        """Run requests that change a queue under the lock that the event source poller takes.

        Without it a message that is sent while the poller replaces a queue's list of messages is lost.
        """
        handlers: dict[str, Handler] = self._sqs._HANDLERS
        for action in _LOCKED_ACTIONS:
            handlers[action] = _locked(handlers[action], self._sqs._queues_lock)

    def authorize_batches(self) -> None:
        """Ask for the rights to a queue's batches by the names that IAM has for them."""
        named: Callable[..., str | None] = self._actions.extract_iam_action

        def name(*request: Any, **options: Any) -> str | None:
            action = named(*request, **options)
            return action if action is None else _ACTION_OF_BATCH.get(action, action)

        self._actions.extract_iam_action = name

    def forget_stream_positions(self) -> None:
        """Let stream consumers start at the beginning: stream records are not kept, so kept positions lie ahead."""
        self._functions._dynamodb_stream_positions.clear()

    def wake_pollers(self) -> None:
        """Make the event source poller look now. By itself it looks at delayed messages once a second."""
        self._wake.set()

    def visible_times(self) -> Iterator[float]:
        """When each message of each queue becomes visible, in epoch seconds."""
        for _, queue in self._queues():
            for message in list(queue["messages"]):
                yield message["visible_at"]

    def stop_polling(self) -> None:
        """Start no further function for an event source."""
        for name in ("_poll_sqs", "_poll_kinesis", "_poll_dynamodb_streams"):
            setattr(self._functions, name, _nothing_to_do)

    def functions_running(self) -> int:
        """How many function processes are at work."""
        running: int = self._runtime.workers_in_use()
        return running

    def freeze(self) -> Frozen:
        """Items and messages at one instant. Must run on the event loop, where all requests run.

        Stored items are never changed in place, so their containers are copied and they are not; messages are.
        """
        with self._sqs._queues_lock, self._dynamodb._lock:
            tables = {key: _rows(table) for key, table in self._tables()}
            queues = {key: [dict(message) for message in queue["messages"]] for key, queue in self._queues()}
        return Frozen(tables, queues)

    def encode(self, value: object) -> str:
        """JSON as ministack writes it, bytes included."""
        return json.dumps(value, default=self._persistence._json_default)

    def save_services(self) -> None:
        """Have ministack write all services' state, as it does at its end. Must run on the event loop."""
        self._persistence.save_all(self._app._build_persistence_save_dict())

    def _tables(self) -> Iterator[tuple[str, Any]]:
        return _named(self._dynamodb._tables)

    def _queues(self) -> Iterator[tuple[str, Any]]:
        return _named(self._sqs._queues)


def _named(scoped: Any) -> Iterator[tuple[str, Any]]:
    """Entries under the keys that ministack gives them in its files."""
    for (account, region, name), value in list(scoped.all_items()):
        yield f"{account}\x00{region}\x00{name!r}", value


def _rows(table: Any) -> dict[str, dict[str, Any]]:
    return {key: dict(rows) for key, rows in table["items"].items()}


def _locked(handler: Handler, lock: Any) -> Handler:
    def handle(*arguments: Any) -> Any:
        with lock:
            return handler(*arguments)

    return handle


def _nothing_to_do() -> bool:
    return False
