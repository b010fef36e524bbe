"""The stages' settings agree with each other and with what AWS takes."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

import pytest

from infra.stages import DEFAULT_STAGE, STAGES, Stage, stage_named

if TYPE_CHECKING:
    from tests.infra.template import Template

# ruff: noqa: PLC0415 - the CDK starts node when it is imported, for which only these tests should wait

NEW_ACCOUNT_CONCURRENCY = 10


@pytest.mark.parametrize(
    ("name", "shards", "groups"), [("local", 2, 1), ("dev", 8, 1), ("small", 8, 1), ("prod", 64, 4), ("spike", 64, 4)]
)
def test_shards_and_groups(name: str, shards: int, groups: int) -> None:
    """Each stage has the shards and groups of the design; every group has a shard."""
    assert (STAGES[name].shards, STAGES[name].groups) == (shards, groups)
    assert groups <= shards


def test_dev_is_the_default_and_fits_a_new_account() -> None:
    """The mappings that work in ordinary times can all be at their cap within a new account's concurrency."""
    dev = stage_named(DEFAULT_STAGE)
    caps = dev.concurrency
    assert dev.name == "dev"
    assert caps.dispatcher + caps.high + caps.normal + caps.low + caps.long <= NEW_ACCOUNT_CONCURRENCY


@pytest.mark.parametrize("stage", STAGES.values(), ids=lambda stage: stage.name)
def test_caps_are_what_lambda_takes(stage: Stage) -> None:
    """Each cap is between Lambda's bounds, and ticks of all groups find a dispatcher while another still works."""
    assert all(2 <= cap <= 1000 for cap in astuple(stage.concurrency))
    assert stage.concurrency.dispatcher >= 2 * stage.groups


@pytest.mark.parametrize("stage", STAGES.values(), ids=lambda stage: stage.name)
def test_only_the_local_stage_is_lenient(stage: Stage) -> None:
    """Loopback targets, plain HTTP to queues and packages for the host exist on a laptop only; traces are off."""
    lenient = stage.name == "local"
    assert stage.allow_loopback_targets is lenient
    assert stage.imitated_aws is lenient
    assert (stage.dependencies_for == "host") is lenient
    assert lenient or stage.architecture == "arm64"
    assert stage.tracing is False


@pytest.mark.parametrize("stage", STAGES.values(), ids=lambda stage: stage.name)
def test_queues_are_open_on_the_local_stage_only(stage: Stage) -> None:
    """Whose queues tenants may send to, an operator says."""
    assert bool(stage.target_queues) is (stage.name == "local")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["acme=https://sqs.eu-west-1.amazonaws.com/111122223333/orders"], "a queue's ARN"),
        (["acme=arn:aws:sqs:eu-west-1:111122223333:*"], "a queue's ARN"),
        (["*=arn:aws:sqs:eu-west-1:111122223333:Carillon-dev-QueuesHigh5E3A"], "Carillon's own"),
        ([f"acme=arn:aws:sqs:eu-west-1:111122223333:q{n}" for n in range(21)], "at most 20 fit"),
    ],
    ids=["url", "wildcard", "own", "too-many"],
)
def test_a_wrong_list_of_queues_stops_the_deployment(entries: list[str], words: str) -> None:
    """An operator learns of it before anything is changed."""
    from infra.parts.functions import queue_arns

    with pytest.raises(ValueError, match=words):
        queue_arns(replace(STAGES["dev"], target_queues=tuple(entries)))


def test_each_queue_is_granted_once() -> None:
    """However many tenants may send to it."""
    from infra.parts.functions import queue_arns

    arn = "arn:aws:sqs:eu-west-1:111122223333:orders"
    stage = replace(STAGES["dev"], target_queues=(f"acme={arn}", f"team-*={arn}", f"acme={arn}.fifo"))
    assert queue_arns(stage) == [arn, f"{arn}.fifo"]


def test_an_unknown_stage_is_refused_by_name() -> None:
    """The error shows what was asked for and what exists."""
    with pytest.raises(ValueError, match=r"^stage is 'production'; allowed: local, dev, small, prod, spike$"):
        stage_named("production")


@pytest.mark.parametrize(
    ("context", "name", "alarm_email"),
    [
        ({}, "dev", None),
        ({"stage": "prod"}, "prod", None),
        ({"stage": "small", "alarm_email": "ops@example.com"}, "small", "ops@example.com"),
    ],
)
def test_the_command_line_chooses(context: dict[str, str], name: str, alarm_email: str | None) -> None:
    """`-c stage=… -c alarm_email=…` choose the stage and whom to tell."""
    from aws_cdk import App

    from infra.app import chosen_stage

    stage = chosen_stage(App(context=context))
    assert (stage.name, stage.alarm_email) == (name, alarm_email)


def test_names_for_tools(template: Template) -> None:
    """The outputs are exactly the names that the CLI and the end-to-end tests look up."""
    assert set(template.body["Outputs"]) == {
        "ApiUrl",
        "JobsTable",
        "ControlTable",
        "PayloadsBucket",
        "SecretsKeyId",
        "TickQueueUrl",
        "HighQueueUrl",
        "NormalQueueUrl",
        "LowQueueUrl",
        "LongQueueUrl",
        "ApiFunction",
        "TickerFunction",
        "DispatcherFunction",
        "WorkerFunction",
        "LongWorkerFunction",
        "DeadLettersFunction",
        "RetentionFunction",
        "OperationsFunction",
        "DeploymentsFunction",
        "StatisticsFunction",
    }


@pytest.mark.parametrize(
    ("output", "place"),
    [
        ("JobsTable", "Storage/Jobs"),
        ("ControlTable", "Storage/Control"),
        ("PayloadsBucket", "Storage/Payloads"),
        ("SecretsKeyId", "Storage/SecretsKey"),
        ("TickQueueUrl", "Queues/Ticks"),
        ("LowQueueUrl", "Queues/Low"),
        ("LongQueueUrl", "Queues/Long"),
        ("LongWorkerFunction", "Functions/LongWorker/Function"),
        ("RetentionFunction", "Functions/Retention/Function"),
        ("ApiUrl", "Api/HttpApi.ApiEndpoint"),
    ],
)
def test_names_lead_to_their_resources(template: Template, output: str, place: str) -> None:
    """An output is the name or address of the resource that it says."""
    assert template.place(template.body["Outputs"][output]["Value"]) == place
