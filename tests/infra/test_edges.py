"""What comes in from outside: HTTP requests and the minute's call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.stages import Stage
    from tests.infra.template import Template


def test_every_request_reaches_the_api_function(template: Template) -> None:
    """One route takes all methods and paths to the api function, in the payload format that its handler reads."""
    (route,) = template.of_type("AWS::ApiGatewayV2::Route").values()
    (integration,) = template.of_type("AWS::ApiGatewayV2::Integration").values()
    assert route["RouteKey"] == "$default"
    assert integration["PayloadFormatVersion"] == "2.0"
    assert template.place(integration["IntegrationUri"]) == "Functions/Api/Function"


def test_only_this_api_may_call_the_api_function(template: Template) -> None:
    """API Gateway's right to call the function is bound to this API; no other permission exists."""
    (permission,) = template.of_type("AWS::Lambda::Permission").values()
    assert permission["Principal"] == "apigateway.amazonaws.com"
    assert template.place(permission["FunctionName"]) == "Functions/Api/Function"
    assert ":Api/HttpApi/" in template.place(permission["SourceArn"])


def test_the_api_is_throttled_and_logged(template: Template, stage: Stage) -> None:
    """The stage's rate and burst hold; requests are logged as JSON with their id and without the caller's address."""
    (served,) = template.of_type("AWS::ApiGatewayV2::Stage").values()
    assert (served["StageName"], served["AutoDeploy"]) == ("$default", True)
    assert served["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": stage.api_requests_per_second,
        "ThrottlingBurstLimit": stage.api_burst,
    }
    assert template.place(served["AccessLogSettings"]["DestinationArn"]) == "Api/Logs"
    logged = json.loads(served["AccessLogSettings"]["Format"]).values()
    assert "$context.requestId" in logged
    assert not [field for field in logged if "identity" in field]


def test_the_ticker_is_called_each_minute(template: Template) -> None:
    """On the minute, not some time in it; a call that fails is tried again soon or not at all."""
    (schedule,) = template.of_type("AWS::Scheduler::Schedule").values()
    assert (schedule["ScheduleExpression"], schedule["State"]) == ("rate(1 minute)", "ENABLED")
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert template.place(schedule["Target"]["Arn"]) == "Functions/Ticker/Function"
    assert schedule["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 2}


def test_the_scheduler_may_call_the_ticker_and_nothing_else(template: Template) -> None:
    """The schedule's role is for this account's scheduler, and holds one right on one function."""
    (schedule,) = template.of_type("AWS::Scheduler::Schedule").values()
    assert template.place(schedule["Target"]["RoleArn"]) == "Ticks/Role"
    assert template.rights("Ticks/Role") == {"Functions/Ticker/Function": {"lambda:InvokeFunction"}}
    (trust,) = template.properties("Ticks/Role")["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
