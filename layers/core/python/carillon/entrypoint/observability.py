"""Structured logs and embedded metrics. One JSON line an event with a stable `action`; never a payload or a header."""

import logging
import os
import sys
from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import Metrics, MetricUnit, single_metric

_formatter = LambdaPowertoolsFormatter(serialize_stacktrace=False)  # the exception's text holds it once already


class LambdaContext(Protocol):
    """What is used of the context that the Lambda runtime gives."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Until the invocation is ended by force, ms."""
        ...


Handler = Callable[[dict[str, Any], LambdaContext], Any]


class EmbeddedMeter:
    """The `Meter` of the functions: figures travel in the log, in CloudWatch's embedded metric format.

    Many threads may count at once; figures are added up here and written once an invocation.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._metrics = Metrics(service=service)
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def count(self, name: str, value: int = 1) -> None:
        """Add to a counter; adding nothing writes nothing."""
        if value:
            with self._lock:
                self._counts[name] += value

    def observe_ms(self, name: str, value_ms: int) -> None:
        """Record a duration, ms."""
        with self._lock:
            self._metrics.add_metric(name=name, unit=MetricUnit.Milliseconds, value=value_ms)

    def observe_group_ms(self, name: str, group: int, value_ms: int) -> None:
        """Record a duration of one shard group, ms: written at once, since its dimensions are its own."""
        dimensions = {"service": self._service, "group": str(group)}
        unit = MetricUnit.Milliseconds
        with self._lock, single_metric(name=name, unit=unit, value=value_ms, default_dimensions=dimensions):
            pass

    def flush(self) -> None:
        """Write what was recorded since the last time."""
        with self._lock:
            for name, value in self._counts.items():
                self._metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
            self._counts.clear()
            if self._metrics.metric_set:
                self._metrics.flush_metrics()


def observed(handler: Handler, meter: EmbeddedMeter) -> Handler:
    """A handler whose log lines carry the request id and whose figures are written when it returns or fails."""
    configure_logs()

    def observe(event: dict[str, Any], context: LambdaContext) -> Any:
        _formatter.append_keys(function_request_id=context.aws_request_id)
        try:
            return handler(event, context)
        finally:
            meter.flush()

    return observe


def configure_logs() -> None:
    """Send the log of the `carillon` logger to standard output as JSON, one line an event; once a process."""
    logger = logging.getLogger("carillon")
    if any(handler.formatter is _formatter for handler in logger.handlers):
        return
    output = logging.StreamHandler(sys.stdout)
    output.setFormatter(_formatter)
    logger.addHandler(output)
    logger.setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL", "INFO"))
    logger.propagate = False
