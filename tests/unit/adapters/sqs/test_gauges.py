"""What waits in the work queues: what is asked for, and what is told when nobody answers."""

from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from carillon.adapters.memory.edges import MemoryClock
from carillon.adapters.sqs.gauges import SqsGauges
from carillon.ports.statistics import QueueFigures
from contract.samples import NOW_MS
from contract.wire import Answer, Wire, error

URLS = {name: f"https://sqs.eu-west-1.amazonaws.com/111122223333/stage-{name}" for name in ("high", "low")}
SILENCE = ReadTimeoutError(endpoint_url="http://127.0.0.1:9")


def counts(waiting: int, delayed: int = 0, in_flight: int = 0) -> Answer:
    """SQS's answer."""
    return Answer(
        {
            "Attributes": {
                "ApproximateNumberOfMessages": str(waiting),
                "ApproximateNumberOfMessagesDelayed": str(delayed),
                "ApproximateNumberOfMessagesNotVisible": str(in_flight),
            }
        }
    )


class CloudWatch:
    """CloudWatch, which answers with these ages by query, or not at all."""

    def __init__(self, ages: dict[str, list[float]] | None) -> None:
        self.ages = ages
        self.requests: list[dict[str, Any]] = []

    def get_metric_data(self, **request: Any) -> dict[str, Any]:
        """Answer."""
        self.requests.append(request)
        if self.ages is None:
            raise SILENCE
        return {"MetricDataResults": [{"Id": name, "Values": values} for name, values in self.ages.items()]}


def gauges(answers: list[Answer | Exception], cloudwatch: CloudWatch) -> SqsGauges:
    """Gauges of the two queues."""
    client = Wire(answers).client("sqs")
    return SqsGauges(lambda: client, lambda: cloudwatch, URLS, MemoryClock(NOW_MS))


def test_counts_and_ages() -> None:
    """The newest minute of the queue's own metric tells the age; an empty queue has none, and costs no look."""
    cloudwatch = CloudWatch({"high": [7.0, 90.0]})
    assert gauges([counts(3, 2, 1), counts(0)], cloudwatch).read() == {
        "high": QueueFigures(3, 2, 1, 7),
        "low": QueueFigures(0, 0, 0, 0),
    }
    (asked,) = cloudwatch.requests
    (query,) = asked["MetricDataQueries"]
    assert query["MetricStat"]["Metric"] == {
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateAgeOfOldestMessage",
        "Dimensions": [{"Name": "QueueName", "Value": "stage-high"}],
    }
    assert (asked["EndTime"], asked["ScanBy"]) == (NOW_MS / 1000, "TimestampDescending")
    assert asked["EndTime"] - asked["StartTime"] == 300


def test_empty_queues_cost_nothing_at_cloudwatch() -> None:
    """It is not asked."""
    cloudwatch = CloudWatch({})
    gauges([counts(0), counts(0)], cloudwatch).read()
    assert cloudwatch.requests == []


@pytest.mark.parametrize("ages", [None, {}, {"high": []}], ids=["silent", "without-the-metric", "without-minutes"])
def test_an_age_that_nobody_knows(ages: dict[str, list[float]] | None) -> None:
    """It is unknown; the counts are told all the same."""
    assert gauges([counts(1), counts(0)], CloudWatch(ages)).read()["high"] == QueueFigures(1, 0, 0, None)


@pytest.mark.parametrize(
    "answer",
    [SILENCE, error("AccessDenied", 403), error("ServiceUnavailable", 503), Answer({"Attributes": {}})],
    ids=["silent", "denied", "unavailable", "strange"],
)
def test_counts_that_nobody_knows(answer: Answer | Exception) -> None:
    """They are unknown; the other queue's are told all the same."""
    found = gauges([answer, counts(2)], CloudWatch({"low": [5.0]})).read()
    assert found == {"high": QueueFigures(), "low": QueueFigures(2, 0, 0, 5)}
