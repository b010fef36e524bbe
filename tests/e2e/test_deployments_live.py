"""A deployment that would lower the shard count is stopped by CloudFormation, with the reason."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from carillon.client import Client
from e2e.dev_stack import DevStack
from e2e.live import aws_client, eventually, job

NAME = "Shards-asked-again"
BOUND_SECONDS = 60


def template(stack: DevStack, shards: int) -> str:
    """A stack of nothing but the question that each deployment asks the stage's own function."""
    arn = f"arn:aws:lambda:us-east-1:000000000000:function:{stack.outputs['DeploymentsFunction']}"
    question = {"ServiceToken": arn, "ServiceTimeout": 30, "shards": shards}
    return json.dumps({"Resources": {"Shards": {"Type": "Custom::CarillonShards", "Properties": question}}})


@pytest.fixture
def deployments(stack: DevStack) -> Iterator[Any]:
    """CloudFormation, in which the stack of the question does not outlive the test."""
    with closing(aws_client(stack.aws_endpoint, "cloudformation")) as client:
        yield client
        client.delete_stack(StackName=NAME)


def comes_to(deployments: Any, state: str) -> bool:
    """Whether the stack comes to a state within bounds."""

    def is_there() -> bool:
        (found,) = deployments.describe_stacks(StackName=NAME)["Stacks"]
        return bool(found["StackStatus"] == state)

    return eventually(is_there, BOUND_SECONDS)


def test_fewer_shards_are_refused_and_more_are_not(stack: DevStack, client: Client, deployments: Any) -> None:
    """The local stage has two shards: one is refused with the reason and the stack goes back; two and four are fine."""
    client.create_job(job("https://example.com/", {"delay": "P1D"}))
    deployments.create_stack(StackName=NAME, TemplateBody=template(stack, 2))
    assert comes_to(deployments, "CREATE_COMPLETE")
    deployments.update_stack(StackName=NAME, TemplateBody=template(stack, 1))
    assert comes_to(deployments, "UPDATE_ROLLBACK_COMPLETE")
    events = deployments.describe_stack_events(StackName=NAME)["StackEvents"]
    reasons = [event.get("ResourceStatusReason", "") for event in events]
    assert any("shards is 1, and jobs of this stage live on 2: allowed is 2 or more" in reason for reason in reasons)
    deployments.update_stack(StackName=NAME, TemplateBody=template(stack, 4))
    assert comes_to(deployments, "UPDATE_COMPLETE")
