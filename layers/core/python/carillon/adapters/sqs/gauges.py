"""What waits in the work queues: counts by SQS, and the age of the oldest message by CloudWatch, which alone has it."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from carillon.adapters.aws import ask
from carillon.domain.instants import MINUTE_MS, SECOND_MS
from carillon.ports.edges import Clock
from carillon.ports.errors import UnavailableError
from carillon.ports.statistics import QueueFigures

logger = logging.getLogger("carillon")

MOST_ATTEMPTS: Final = 2
ANSWER_SECONDS: Final = 2.0
"""Figures that come late are no use: whoever asks wants the counts of runs beside them."""

_WAITING: Final = "ApproximateNumberOfMessages"
_DELAYED: Final = "ApproximateNumberOfMessagesDelayed"
_IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"
_LOOK_BACK_MS: Final = 5 * MINUTE_MS
"""CloudWatch has the minutes of SQS a few minutes late."""


class SqsGauges:
    """The figures of queues. The clients are made when they are first needed: few requests ask for figures."""

    def __init__(
        self, sqs: Callable[[], Any], cloudwatch: Callable[[], Any], urls: Mapping[str, str], clock: Clock
    ) -> None:
        self._sqs = sqs
        self._cloudwatch = cloudwatch
        self._urls = urls
        self._clock = clock

    def read(self) -> Mapping[str, QueueFigures]:
        """The figures of each queue. What nobody answers for is None."""
        counted = {name: self._counts(url) for name, url in self._urls.items()}
        ages = self._ages([name for name, figures in counted.items() if not _is_empty(figures)])
        return {
            name: QueueFigures(
                figures.waiting,
                figures.delayed,
                figures.in_flight,
                0 if _is_empty(figures) else ages.get(name),
            )
            for name, figures in counted.items()
        }

    def _counts(self, url: str) -> QueueFigures:
        names = [_WAITING, _DELAYED, _IN_FLIGHT]
        try:
            answer = ask(self._sqs().get_queue_attributes, QueueUrl=url, AttributeNames=names)
            found = answer["Attributes"]
            return QueueFigures(int(found[_WAITING]), int(found[_DELAYED]), int(found[_IN_FLIGHT]))
        except (ClientError, KeyError, UnavailableError, ValueError) as error:
            _tell(error)
            return QueueFigures()

    def _ages(self, names: Collection[str]) -> Mapping[str, int]:
        if not names:
            return {}
        now_ms = self._clock.now_ms()
        try:
            answer = ask(
                self._cloudwatch().get_metric_data,
                MetricDataQueries=[_query(name, self._urls[name].rpartition("/")[2]) for name in names],
                StartTime=(now_ms - _LOOK_BACK_MS) / SECOND_MS,
                EndTime=now_ms / SECOND_MS,
                ScanBy="TimestampDescending",
            )
            results = answer["MetricDataResults"]
            return {result["Id"]: int(result["Values"][0]) for result in results if result.get("Values")}
        except (ClientError, KeyError, UnavailableError, ValueError) as error:
            _tell(error)
            return {}


def _query(name: str, queue: str) -> dict[str, Any]:
    metric = {
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateAgeOfOldestMessage",
        "Dimensions": [{"Name": "QueueName", "Value": queue}],
    }
    return {"Id": name, "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}


def _is_empty(figures: QueueFigures) -> bool:
    return figures.waiting == figures.delayed == figures.in_flight == 0


def _tell(error: Exception) -> None:
    logger.warning("gauge unreadable", extra={"action": "gauge_unreadable", "why": repr(error)})
