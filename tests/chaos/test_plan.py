"""What a seed stands for, and that the proxy understands it."""

import pytest
from microburst.rules import RuleEngine

from tests.chaos.plan import SPELLS, STEADY, Plan, Rule, plan_of
from tests.chaos.proxy import rule_document
from tests.simulation.history import EditKind

MOST_EDITS = 49
"""A job may be edited so often in 15 days."""


@pytest.fixture
def plan() -> Plan:
    """Of five minutes."""
    return plan_of(7, 300, "http://127.0.0.1:9000/")


def test_a_seed_stands_for_one_plan(plan: Plan) -> None:
    """The same seed tries the same, another one something else."""
    assert plan == plan_of(7, 300, "http://127.0.0.1:9000/")
    assert plan != plan_of(8, 300, "http://127.0.0.1:9000/")


def test_all_kinds_of_work_and_of_trouble_are_in_a_plan(plan: Plan) -> None:
    """Jobs of each schedule in each priority, each edit, kills of workers and of dispatchers, all within the time."""
    schedules = {kind for script in plan.scripts for kind in script.definition["schedule"]}
    assert schedules == {"every", "cron", "delay"}
    assert {script.definition["priority"] for script in plan.scripts} == {"high", "normal", "low"}
    edits = {act.kind for script in plan.scripts for act in script.acts}
    # Which resume it is, is a matter of the job; and the rules of zones do not change under a running stack.
    assert edits == set(EditKind) - {EditKind.CATCH_UP, EditKind.REPLAN}
    assert max(len(script.acts) for script in plan.scripts) < MOST_EDITS
    assert {"WorkerFunction", "DispatcherFunction"} <= {kill.function for kill in plan.kills}
    assert all(0 < kill.at_s < 300 for kill in plan.kills)
    spells = [rule for rule in plan.rules if rule.between_s]
    assert {(rule.kind, rule.service) for rule in spells} == {(rule.kind, rule.service) for rule in SPELLS}
    assert all(0 < rule.between_s[0] < rule.between_s[1] <= 300 for rule in spells if rule.between_s)


@pytest.mark.parametrize("rule", {repr(rule): rule for rule in (*STEADY, *SPELLS)}.values(), ids=lambda rule: rule.kind)
def test_the_proxy_knows_each_fault(rule: Rule) -> None:
    """A fault that the proxy took for something else, or for nothing, would strike nobody."""
    [known] = RuleEngine().set_rules([rule_document(rule, 1_000.0)])
    assert (known.service, known.operation, known.probability) == (rule.service, rule.operation, rule.share)
    expected = {
        "lost": known.response == {"abort_bytes": 0},
        "reset": known.reset,
        "throttled": known.error is not None and known.error.status == 400,
        "broken": known.error is not None and known.error.status == 500,
        "slow": known.latency is not None and known.latency.max_ms < 1_000,
        "stuck": known.latency is not None and known.latency.max_ms > 5_000,
    }
    assert expected[rule.kind]


def test_a_spell_is_of_its_time() -> None:
    """It begins and ends so long after the begin."""
    [known] = RuleEngine().set_rules([rule_document(Rule("reset", 1.0, {"reset": True}, "sqs", None, (2, 5)), 1_000.0)])
    assert (known.active_at, known.until) == (1_002.0, 1_005.0)
