"""Each priority has a queue, a mapping and a cap of its own, so that none can take the invocations of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from infra.stages import SPIKE
from tests.infra.template import INVOCATIONS_OF_A_POLLER, cap_of

if TYPE_CHECKING:
    from infra.stages import Stage
    from tests.infra.template import Template

PRIORITIES = ("High", "Normal", "Low")


def caps_of(template: Template, function: str) -> dict[str, int]:
    """How many invocations each queue of a function may have at once."""
    return {
        queue.removeprefix("Queues/"): cap_of(mapping)
        for (queue, reader), mapping in template.mappings().items()
        if reader == function
    }


def test_each_priority_has_its_own_cap(template: Template, stage: Stage) -> None:
    """Three mappings to the one worker, each capped by the stage's setting of that name; nothing else feeds it."""
    caps, pollers = stage.concurrency, stage.normal_pollers
    normal = pollers.most * INVOCATIONS_OF_A_POLLER if pollers else caps.normal
    assert caps_of(template, "Worker") == {"High": caps.high, "Normal": normal, "Low": caps.low}


def test_pollers_are_provisioned_as_the_stage_says(template: Template, stage: Stage) -> None:
    """The normal queue of a stage that wants it has pollers that are always there; no other queue has."""
    provisioned = {
        queue: mapping["ProvisionedPollerConfig"]
        for (queue, _), mapping in template.mappings().items()
        if "ProvisionedPollerConfig" in mapping
    }
    wanted = stage.normal_pollers
    assert provisioned == (
        {"Queues/Normal": {"MinimumPollers": wanted.least, "MaximumPollers": wanted.most}} if wanted else {}
    )
    assert (wanted is not None) is (stage.name == SPIKE.name)


def test_long_calls_take_nothing_from_short_ones(template: Template, stage: Stage) -> None:
    """They have another function, queue and cap."""
    assert caps_of(template, "LongWorker") == {"Long": stage.concurrency.long}


@pytest.mark.parametrize("function", ["Worker", "LongWorker", "Dispatcher"])
def test_no_limit_of_a_function_undercuts_the_caps_of_its_queues(template: Template, function: str) -> None:
    """A reservation below their sum would make the queues compete: then bulk could take what is kept for high."""
    reserved = template.function(function).get("ReservedConcurrentExecutions")
    assert reserved is None or reserved >= sum(caps_of(template, function).values())


@pytest.mark.parametrize("priority", PRIORITIES)
def test_every_priority_keeps_some_capacity(template: Template, stage: Stage, priority: str) -> None:
    """Low is never without invocations, nor is high: Lambda's smallest cap at the least, and high no less than low."""
    assert caps_of(template, "Worker")[priority] >= 2
    assert stage.concurrency.high >= stage.concurrency.low


def test_queues_are_fair_by_being_standard(template: Template) -> None:
    """Message groups make a standard queue fair; in a FIFO queue one slow tenant would block its group's order."""
    for name in (*PRIORITIES, "Long"):
        assert "FifoQueue" not in template.queue(name)
