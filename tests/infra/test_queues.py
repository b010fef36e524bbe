"""The queues keep messages, hide them long enough and hand on what nothing can handle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.infra.template import WORK_QUEUES

if TYPE_CHECKING:
    from infra.stages import Stage
    from tests.infra.template import Template

FOURTEEN_DAYS = 14 * 24 * 3600
WITH_DEAD_LETTERS = (*WORK_QUEUES, "Operations")
ALL_QUEUES = ["Ticks", "FailedRemovals", *WITH_DEAD_LETTERS, *(f"{name}DeadLetters" for name in WITH_DEAD_LETTERS)]


@pytest.mark.parametrize(
    ("queue", "function", "timeout", "visibility"),
    [
        ("Ticks", "Dispatcher", 55, 60),
        ("High", "Worker", 90, 120),
        ("Normal", "Worker", 90, 120),
        ("Low", "Worker", 90, 120),
        ("Long", "LongWorker", 900, 930),
        ("HighDeadLetters", "DeadLetters", 60, 120),
        ("LongDeadLetters", "DeadLetters", 60, 120),
        ("Operations", "Operations", 120, 150),
    ],
)
def test_a_message_stays_hidden_while_its_function_may_run(
    template: Template, queue: str, function: str, timeout: int, visibility: int
) -> None:
    """The function that reads a queue ends before the queue shows the message to another."""
    assert template.function(function)["Timeout"] == timeout
    assert template.queue(queue)["VisibilityTimeout"] == visibility
    assert timeout < visibility


def test_no_mapping_is_left_out_of_that_rule(template: Template) -> None:
    """Whatever queue feeds whatever function: Lambda refuses a visibility below the timeout."""
    for source, function in template.mappings():
        if source.startswith("Queues/"):
            assert template.properties(source)["VisibilityTimeout"] > template.function(function)["Timeout"]


@pytest.mark.parametrize("name", WITH_DEAD_LETTERS)
def test_b125_each_work_queue_has_a_dead_letter_queue_of_its_own(template: Template, name: str) -> None:
    """What SQS gives up goes to that queue's own dead letters, after so many receives that none decides anything."""
    redrive = template.queue(name)["RedrivePolicy"]
    assert template.place(redrive["deadLetterTargetArn"]) == f"Queues/{name}DeadLetters"
    assert redrive["maxReceiveCount"] == 1000


@pytest.mark.parametrize("name", [queue for queue in ALL_QUEUES if queue != "Ticks"])
def test_runs_are_kept_as_long_as_sqs_keeps_anything(template: Template, name: str) -> None:
    """Nothing consumed for less than fourteen days loses no run, and a dead letter keeps its age."""
    assert template.queue(name)["MessageRetentionPeriod"] == FOURTEEN_DAYS


def test_ticks_are_forgotten(template: Template) -> None:
    """The tick queue keeps three minutes and has no dead letters: an old tick is worth nothing."""
    ticks = template.queue("Ticks")
    assert ticks["MessageRetentionPeriod"] == 180
    assert "RedrivePolicy" not in ticks


def test_there_are_no_other_queues(template: Template) -> None:
    """The lists above name every queue of the template."""
    assert set(template.of_type("AWS::SQS::Queue")) == {f"Queues/{name}" for name in ALL_QUEUES}


@pytest.mark.parametrize("name", ALL_QUEUES)
def test_queues_are_encrypted(template: Template, name: str) -> None:
    """Messages lie encrypted with keys that SQS manages."""
    assert template.queue(name)["SqsManagedSseEnabled"] is True


@pytest.mark.parametrize("name", ALL_QUEUES)
def test_queues_refuse_plain_http(template: Template, stage: Stage, name: str) -> None:
    """Everywhere but on a laptop a request without TLS is denied, whoever sends it."""
    denied = [
        statement
        for policy in template.of_type("AWS::SQS::QueuePolicy").values()
        if f"Queues/{name}" in map(template.place, policy["Queues"])
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement["Principal"] == {"AWS": "*"}
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    ]
    assert len(denied) == (0 if stage.name == "local" else 1)
