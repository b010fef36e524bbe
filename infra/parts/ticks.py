"""What wakes the ticker each minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

if TYPE_CHECKING:
    from infra.parts.function import CarillonFunction


class Ticks(Construct):
    """EventBridge Scheduler, once a minute. The ticker covers two, so one late or missed call leaves no gap."""

    def __init__(self, scope: Construct, construct_id: str, ticker: CarillonFunction) -> None:
        super().__init__(scope, construct_id)
        role = self._role(ticker)
        scheduler.Schedule(
            self,
            "EachMinute",
            description="Wakes Carillon's ticker",
            schedule=scheduler.ScheduleExpression.rate(Duration.minutes(1)),
            time_window=scheduler.TimeWindow.off(),
            target=targets.LambdaInvoke(
                ticker.function,
                # The construct would add the right to call every version of the function, by a wildcard.
                role=role.without_policy_updates(),
                retry_attempts=2,
                max_event_age=Duration.minutes(1),
            ),
        ).node.add_dependency(role)

    def _role(self, ticker: CarillonFunction) -> iam.Role:
        own_account = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        role = iam.Role(
            self, "Role", assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com", conditions=own_account)
        )
        role.add_to_policy(
            iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[ticker.function.function_arn])
        )
        return role
