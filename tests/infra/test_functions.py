"""Each function gets its settings, its code and what feeds it, as the tables below say."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from carillon.entrypoint import environment, settings
from tests.infra.template import AT_WORK, INVOCATIONS_OF_A_POLLER, SERVICES, WORK_QUEUES, Template, cap_of

if TYPE_CHECKING:
    from infra.stages import Stage

SETTINGS: dict[str, type[settings.StageSettings]] = {
    "Api": settings.ApiSettings,
    "Ticker": settings.TickerSettings,
    "Dispatcher": settings.DispatcherSettings,
    "Worker": settings.WorkerSettings,
    "LongWorker": settings.WorkerSettings,
    "DeadLetters": settings.DeadLettersSettings,
    "Retention": settings.RetentionSettings,
    "Operations": settings.OperationsSettings,
    "Statistics": settings.StatisticsSettings,
    "Deployments": settings.DeploymentsSettings,
}
LIBRARIES = {
    "PYTHONTZPATH",
    "POWERTOOLS_SERVICE_NAME",
    "POWERTOOLS_METRICS_NAMESPACE",
    "POWERTOOLS_LOG_LEVEL",
    "POWERTOOLS_TRACE_DISABLED",
}


API_HOST = "Api/HttpApi.execute-api.<AWS::Region>.<AWS::URLSuffix>"
"""The gateway's name of the API, as the template puts it together."""


def deployed_environment(template: Template, function: str) -> dict[str, str]:
    """A function's environment as it will be: queues by address, other resources by name."""

    def value(written: Any) -> str:
        place = template.place(written)
        return f"https://sqs.test/{place}" if place.startswith("Queues/") else place.replace(API_HOST, "api.test")

    return {name: value(written) for name, written in template.function(function)["Environment"]["Variables"].items()}


def loaded(template: Template, function: str) -> Any:
    """The settings that a function will read."""
    return environment.load(SETTINGS[function], deployed_environment(template, function))


@pytest.mark.parametrize("function", SETTINGS)
def test_the_environment_is_the_settings_and_nothing_else(template: Template, function: str) -> None:
    """Every field of the settings type has its variable, and there is no other variable but those of libraries."""
    fields_of_type = {environment.variable(field.name) for field in fields(SETTINGS[function])}
    assert set(deployed_environment(template, function)) == fields_of_type | LIBRARIES


@pytest.mark.parametrize("function", SETTINGS)
def test_the_function_can_read_its_settings(template: Template, stage: Stage, function: str) -> None:
    """What is deployed loads, and is this stage's."""
    read = loaded(template, function)
    assert read.stage == stage.name
    for name in (
        "shards",
        "groups",
        "look_ahead_seconds",
        "retention_days",
        "allow_loopback_targets",
        "secrets_kept_seconds",
    ):
        assert getattr(read, name, getattr(stage, name)) == getattr(stage, name)


@pytest.mark.parametrize("function", ["Api", "Worker", "LongWorker"])
def test_what_checks_targets_knows_the_policy_of_the_stage(template: Template, stage: Stage, function: str) -> None:
    """What may be called beside the usual, and that the API's own host may not be."""
    read = loaded(template, function)
    assert read.target_ports == tuple(str(port) for port in stage.target_ports)
    assert (read.target_networks, read.target_names) == (stage.target_networks, stage.target_names)
    assert read.own_hosts == ("api.test", *stage.own_hosts)
    assert read.target_queues == stage.target_queues


@pytest.mark.parametrize("function", ["Worker", "LongWorker"])
def test_what_calls_targets_knows_where_they_reach_the_api(template: Template, stage: Stage, function: str) -> None:
    """At the gateway's own address, unless the stage has another."""
    assert loaded(template, function).api_url == (stage.api_url or "https://api.test")


@pytest.mark.parametrize("function", SETTINGS)
def test_names_and_addresses_are_of_the_right_resources(template: Template, function: str) -> None:
    """No two tables, queues or keys are mixed up."""
    read = loaded(template, function)
    places = {
        "jobs_table": "Storage/Jobs",
        "control_table": "Storage/Control",
        "secrets_key_id": "Storage/SecretsKey",
        "payloads_bucket": "Storage/Payloads",
        "tick_queue_url": "https://sqs.test/Queues/Ticks",
        "operations_queue_url": "https://sqs.test/Queues/Operations",
        **{f"{name.lower()}_queue_url": f"https://sqs.test/Queues/{name}" for name in WORK_QUEUES},
        **{f"{name.lower()}_dead_letter_url": f"https://sqs.test/Queues/{name}DeadLetters" for name in WORK_QUEUES},
    }
    for name, place in places.items():
        assert getattr(read, name, place) == place


@pytest.mark.parametrize("function", SETTINGS)
def test_libraries_are_told_who_they_serve(template: Template, stage: Stage, function: str) -> None:
    """Logs and metrics carry the function's own name; zone rules never come from the host."""
    environment = deployed_environment(template, function)
    assert environment["POWERTOOLS_SERVICE_NAME"] == SERVICES[function]
    assert environment["POWERTOOLS_METRICS_NAMESPACE"] == f"Carillon/{stage.name}"
    assert environment["POWERTOOLS_LOG_LEVEL"] == stage.log_level
    assert environment["POWERTOOLS_TRACE_DISABLED"] == ("false" if stage.tracing else "true")
    assert environment["PYTHONTZPATH"] == ""


@pytest.mark.parametrize(
    ("function", "lane", "call_seconds_limit", "side_by_side"),
    [("Worker", "short", 60, 10), ("LongWorker", "long", 840, 1)],
)
def test_lanes(template: Template, function: str, lane: str, call_seconds_limit: int, side_by_side: int) -> None:
    """Each worker knows its lane; a call ends before its function does, and a batch is handled all at once."""
    read = loaded(template, function)
    assert (read.lane, read.call_seconds_limit, read.side_by_side) == (lane, call_seconds_limit, side_by_side)
    assert call_seconds_limit + 30 <= template.function(function)["Timeout"]
    batches = {mapping["BatchSize"] for (_, name), mapping in template.mappings().items() if name == function}
    assert batches == {side_by_side}


@pytest.mark.parametrize(
    ("source", "function", "batch_size"),
    [
        ("Queues/Ticks", "Dispatcher", 1),
        ("Queues/High", "Worker", 10),
        ("Queues/Normal", "Worker", 10),
        ("Queues/Low", "Worker", 10),
        ("Queues/Long", "LongWorker", 1),
        ("Queues/HighDeadLetters", "DeadLetters", 10),
        ("Queues/NormalDeadLetters", "DeadLetters", 10),
        ("Queues/LowDeadLetters", "DeadLetters", 10),
        ("Queues/LongDeadLetters", "DeadLetters", 10),
        ("Storage/Jobs.StreamArn", "Retention", 100),
        ("Queues/Operations", "Operations", 1),
        ("Storage/Jobs.StreamArn", "Statistics", 1_000),
    ],
)
def test_what_feeds_what(template: Template, source: str, function: str, batch_size: int) -> None:
    """B107: every mapping takes the answer that only some messages failed, so that the others are not done again."""
    mapping = template.mappings()[source, function]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BatchSize"] == batch_size
    assert len(template.mappings()) == 12


def test_mappings_are_capped(template: Template, stage: Stage) -> None:
    """Each queue's share of the account's concurrency is the stage's."""
    caps = {
        source.removeprefix("Queues/"): cap_of(mapping)
        for (source, _), mapping in template.mappings().items()
        if source.startswith("Queues/")
    }
    expected, pollers = stage.concurrency, stage.normal_pollers
    assert caps == {
        "Ticks": expected.dispatcher,
        "High": expected.high,
        "Normal": pollers.most * INVOCATIONS_OF_A_POLLER if pollers else expected.normal,
        "Low": expected.low,
        "Long": expected.long,
        "Operations": expected.operations,
        **{f"{name}DeadLetters": expected.dead_letters for name in WORK_QUEUES},
    }


def test_removals_are_followed_and_never_block(template: Template) -> None:
    """What TTL removed is followed, and what counts no more; what keeps failing is put aside and stops nothing."""
    mapping = template.mappings()["Storage/Jobs.StreamArn", "Retention"]
    removed_by_ttl, ended, removed = mapping["FilterCriteria"]["Filters"]
    assert removed_by_ttl["Pattern"] == (
        '{"eventName":["REMOVE"],"userIdentity":{"type":["Service"],"principalId":["dynamodb.amazonaws.com"]}}'
    )
    assert ended["Pattern"] == (
        '{"eventName":["MODIFY"],"dynamodb":{"OldImage":{"counted":{"N":[{"exists":true}]}},'
        '"NewImage":{"state":{"S":["dispatched","completed","cancelled","error"]}}}}'
    )
    counted = '{"eventName":["REMOVE"],"dynamodb":{"OldImage":{"counted":{"N":[{"exists":true}]}}}}'
    assert removed["Pattern"] == counted
    assert mapping["MaximumRetryAttempts"] == 20
    assert mapping["MaximumBatchingWindowInSeconds"] == 1
    assert mapping["BisectBatchOnFunctionError"] is True
    assert template.place(mapping["DestinationConfig"]["OnFailure"]["Destination"]) == "Queues/FailedRemovals"


def test_endings_are_followed_whole(template: Template, stage: Stage) -> None:
    """Runs that have just ended, whether they had a record before or not; a batch is never cut, and never given up."""
    mapping = template.mappings()["Storage/Jobs.StreamArn", "Statistics"]
    new, old = (json.loads(entry["Pattern"]) for entry in mapping["FilterCriteria"]["Filters"])
    ended = {
        "kind": {"S": ["run"]},
        "sk": {"S": [{"prefix": "RUN#"}]},
        "state": {"S": ["succeeded", "dead_lettered", "cancelled", "skipped"]},
    }
    assert new == {"eventName": ["INSERT"], "dynamodb": {"NewImage": ended}}
    going_on = ["queued", "running", "awaiting_completion", "retrying"]
    assert old == {
        "eventName": ["MODIFY"],
        "dynamodb": {"OldImage": {"state": {"S": going_on}}, "NewImage": ended},
    }
    assert mapping["MaximumBatchingWindowInSeconds"] == stage.statistics_seconds
    assert not {"BisectBatchOnFunctionError", "MaximumRetryAttempts", "MaximumRecordAgeInSeconds"} & set(mapping)
    assert "ParallelizationFactor" not in mapping


@pytest.mark.parametrize("function", SETTINGS)
def test_one_factory(template: Template, stage: Stage, function: str) -> None:
    """All functions have the runtime of the locked wheels, the stage's processor, both layers, and no way to loop."""
    properties = template.function(function)
    assert properties["Runtime"] == "python3.13"
    assert properties["Handler"] == "handler.handler"
    assert properties["Architectures"] == [stage.architecture]
    assert [template.place(layer) for layer in properties["Layers"]] == ["Functions/Core", "Functions/Dependencies"]
    assert properties["RecursiveLoop"] == "Terminate"
    assert properties.get("TracingConfig") == ({"Mode": "Active"} if stage.tracing else None)


@pytest.mark.parametrize("function", SETTINGS)
def test_no_function_is_in_a_network_of_its_own(template: Template, function: str) -> None:
    """Outside any VPC nothing private can be reached, whatever a target's name is made to point to."""
    assert "VpcConfig" not in template.function(function)


@pytest.mark.parametrize("function", SETTINGS)
def test_logs(template: Template, stage: Stage, function: str) -> None:
    """Each function writes JSON lines to a log group of its own, which forgets after the stage's time."""
    logging = template.function(function)["LoggingConfig"]
    assert logging["LogFormat"] == "JSON"
    assert template.place(logging["LogGroup"]) == f"Functions/{function}/Logs"
    assert template.properties(f"Functions/{function}/Logs")["RetentionInDays"] == stage.log_retention_days


@pytest.mark.parametrize("function", SETTINGS)
def test_code(template: Template, function: str) -> None:
    """A function is its folder's handler and nothing compiled; both workers are the same code."""
    folder = template.asset(f"Functions/{function}/Function")
    expected = "worker" if function == "LongWorker" else SERVICES[function]
    assert (folder / "handler.py").read_text(encoding="utf-8") == f"# {expected}\n"
    assert not list(folder.rglob("*.pyc"))


def test_layers(template: Template) -> None:
    """The layers put `python/` where Lambda looks; what the host compiled of our code is left at home."""
    core = template.asset("Functions/Core")
    assert (core / "python" / "carillon" / "__init__.py").exists()
    assert not list(core.rglob("*.pyc"))
    assert (template.asset("Functions/Dependencies") / "python" / "package.py").exists()


def test_a_deployment_asks_before_it_changes_what_jobs_depend_on(template: Template, stage: Stage) -> None:
    """The check hears the new shard count whenever it changes, and all that jobs depend on waits for its answer."""
    check = template.properties("Functions/Shards/Default")
    assert check["shards"] == stage.shards
    assert template.place(check["ServiceToken"]) == "Functions/Deployments/Function"
    assert int(check["ServiceTimeout"]) > template.function("Deployments")["Timeout"]
    assert waits_for(template, "Functions/Shards/Default") >= {
        "Functions/Deployments/Function",
        "Functions/Deployments/Role/DefaultPolicy",
    }
    for function in AT_WORK:
        assert "Functions/Shards/Default" in waits_for(template, f"Functions/{function}/Function")


def waits_for(template: Template, path: str) -> set[str]:
    """The resources that have to be there before another is made."""
    return {template.path(name) for name in template.whole(path)["DependsOn"]}
