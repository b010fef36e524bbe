"""The HTTP API in front of the api function."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import Stack
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from infra.parts.acknowledge import acknowledge
from infra.parts.function import log_group

if TYPE_CHECKING:
    from infra.parts.function import CarillonFunction
    from infra.stages import Stage

# No address of the caller: who called is in the audit trail by key, and addresses are personal data.
ACCESS_LOG_FIELDS = {
    "request_id": "$context.requestId",
    "time": "$context.requestTime",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "response_bytes": "$context.responseLength",
    "latency_ms": "$context.responseLatency",
    "integration_error": "$context.integrationErrorMessage",
}


class Api(Construct):
    """One route for everything: the function knows paths, keys and refusals, so that each answer is problem+json."""

    def __init__(self, scope: Construct, construct_id: str, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self._api = apigatewayv2.HttpApi(
            self, "HttpApi", description=f"Carillon ({stage.name})", create_default_stage=False
        )
        acknowledge(
            self._api,
            "AwsSolutions-APIG4",
            "The api function checks the key of every request itself, so that refusals are problem+json as documented",
        )
        self.url = self._api.api_endpoint
        aws = Stack.of(self)
        self.host = f"{self._api.api_id}.execute-api.{aws.region}.{aws.url_suffix}"
        self._serve(self._api, stage)

    def send_all_to(self, function: CarillonFunction) -> None:
        """Let a function answer every request. It comes last: the functions are told the API's host name."""
        apigatewayv2.HttpRoute(
            self._api,
            "DefaultRoute",
            http_api=self._api,
            route_key=apigatewayv2.HttpRouteKey.DEFAULT,
            integration=HttpLambdaIntegration("Function", function.function),
        )

    def _serve(self, api: apigatewayv2.HttpApi, stage: Stage) -> None:
        throttle = apigatewayv2.ThrottleSettings(rate_limit=stage.api_requests_per_second, burst_limit=stage.api_burst)
        served = apigatewayv2.HttpStage(
            self, "Default", http_api=api, stage_name="$default", auto_deploy=True, throttle=throttle
        )
        resource = served.node.default_child
        if not isinstance(resource, apigatewayv2.CfnStage):
            raise TypeError("the stage's resource is not the one whose access log is to be set")
        resource.access_log_settings = apigatewayv2.CfnStage.AccessLogSettingsProperty(
            destination_arn=log_group(self, stage).log_group_arn, format=json.dumps(ACCESS_LOG_FIELDS)
        )
