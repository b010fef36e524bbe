"""Somebody is told: an alarm for everything that goes wrong without an error reaching a caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.infra.template import AT_WORK, WORK_QUEUES

if TYPE_CHECKING:
    from infra.stages import Stage
    from tests.infra.template import Template


def alarm_on(template: Template, metric: str, **dimensions: str) -> dict[str, Any]:
    """The one alarm on a metric with these dimensions."""
    (alarm,) = [
        alarm
        for alarm in template.of_type("AWS::CloudWatch::Alarm").values()
        if alarm["MetricName"] == metric and measured(template, alarm) == dimensions
    ]
    return alarm


def measured(template: Template, alarm: dict[str, Any]) -> dict[str, str]:
    """An alarm's dimensions, readable."""
    return {
        dimension["Name"]: template.place(dimension["Value"]).removesuffix(".QueueName")
        for dimension in alarm.get("Dimensions", [])
    }


@pytest.mark.parametrize("name", WORK_QUEUES)
def test_waiting_runs(template: Template, stage: Stage, name: str) -> None:
    """Each work queue's age is watched, and what merely waits for its look-ahead sets off nothing."""
    alarm = alarm_on(template, "ApproximateAgeOfOldestMessage", QueueName=f"Queues/{name}")
    assert alarm["Statistic"] == "Maximum"
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
    assert alarm["Threshold"] >= stage.look_ahead_seconds + 60


@pytest.mark.parametrize("name", [*(f"{name}DeadLetters" for name in (*WORK_QUEUES, "Operations")), "FailedRemovals"])
def test_given_up_messages(template: Template, name: str) -> None:
    """One message that was given up is enough, whether or not a function will settle it."""
    alarm = alarm_on(template, "ApproximateNumberOfMessagesVisible", QueueName=f"Queues/{name}")
    assert (alarm["Statistic"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("Maximum", 1, 1)
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


@pytest.mark.parametrize("name", AT_WORK)
def test_function_errors(template: Template, name: str) -> None:
    """Each function's errors are watched: none is expected, since failed callbacks are no errors."""
    alarm = alarm_on(template, "Errors", FunctionName=f"Functions/{name}/Function")
    assert (alarm["Statistic"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("Sum", 1, 1)


def test_dispatch_lag(template: Template, stage: Stage) -> None:
    """Lateness is our own metric, since a queue's age loses sight of what is stuck; its limit is the promise's."""
    alarm = alarm_on(template, "dispatch_lag_ms", service="dispatcher")
    watched = alarm["Namespace"], alarm["ExtendedStatistic"], alarm["Threshold"]
    assert watched == (f"Carillon/{stage.name}", "p99", 30_000)


@pytest.mark.parametrize("service", ["worker", "long_worker", "dead_letters", "operations"])
def test_unparsable_messages(template: Template, stage: Stage, service: str) -> None:
    """B181: one message that nobody can read sets off an alarm."""
    alarm = alarm_on(template, "unparsable_message", service=service)
    assert (alarm["Namespace"], alarm["Statistic"], alarm["Threshold"]) == (f"Carillon/{stage.name}", "Sum", 1)


def test_statistics_that_fall_behind(template: Template) -> None:
    """Long before the stream forgets what was not counted."""
    alarm = alarm_on(template, "IteratorAge", FunctionName="Functions/Statistics/Function")
    assert (alarm["Statistic"], alarm["Threshold"]) == ("Maximum", 15 * 60_000)


def test_silence(template: Template) -> None:
    """B121: when nothing ticks, no metric tells of lateness, so the missing ticks themselves are the alarm."""
    alarm = alarm_on(template, "Invocations", FunctionName="Functions/Dispatcher/Function")
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert alarm["TreatMissingData"] == "breaching"


def test_idle_stages_are_quiet(template: Template) -> None:
    """An idle queue or function writes no metric; that sets off no alarm but the one on missing ticks."""
    loud = [
        path
        for path, alarm in template.of_type("AWS::CloudWatch::Alarm").items()
        if alarm["TreatMissingData"] != "notBreaching"
    ]
    assert loud == ["Alarms/NoTicks"]


def test_each_alarm_says_what_it_means(template: Template) -> None:
    """The person who is woken reads a sentence."""
    descriptions = [alarm["AlarmDescription"] for alarm in template.of_type("AWS::CloudWatch::Alarm").values()]
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


def test_who_is_told(template: Template, stage: Stage) -> None:
    """Every alarm goes to the stage's address, over TLS only, when it begins and when it ends; without one, nowhere."""
    alarms = template.of_type("AWS::CloudWatch::Alarm").values()
    told = [[template.place(topic) for topic in alarm.get("AlarmActions", [])] for alarm in alarms]
    eased = [[template.place(topic) for topic in alarm.get("OKActions", [])] for alarm in alarms]
    expected = ["Alarms/Topic"] if stage.alarm_email else []
    assert all(topics == expected for topics in [*told, *eased])
    subscriptions = template.of_type("AWS::SNS::Subscription").values()
    assert [subscription["Endpoint"] for subscription in subscriptions] == (
        [stage.alarm_email] if stage.alarm_email else []
    )
