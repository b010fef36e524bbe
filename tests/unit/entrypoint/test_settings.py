"""Settings: every field is read from its variable, and what is wrong is named."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

import pytest

from carillon.entrypoint import settings
from carillon.entrypoint.environment import SettingsError, load, to_environ, variable

if TYPE_CHECKING:
    from carillon.entrypoint.settings import StageSettings

QUEUES = {f"{queue}_queue_url": f"https://sqs.test/{queue}" for queue in ("high", "normal", "low", "long")}
DEAD_LETTERS = {
    f"{queue}_dead_letter_url": f"https://sqs.test/{queue}-dead" for queue in ("high", "normal", "low", "long")
}
TABLES = {"stage": "dev", "jobs_table": "jobs", "control_table": "control"}
FAILING: dict[str, Any] = {"pause_after_failures": 20, "pause_after_hours": 24}
QUEUE = "arn:aws:sqs:eu-west-1:111122223333:orders"
ALLOWED_QUEUES = "<tenant, or a beginning and *>=<ARN of a queue> with blanks between, or none"
NETWORKS = "networks without loopback and link-local addresses with blanks between, or none"
EXAMPLES: list[StageSettings] = [
    settings.ApiSettings(
        **TABLES,
        secrets_key_id="key",
        payloads_bucket="payloads",
        secrets_kept_seconds=300,
        shards=64,
        operations_queue_url="https://sqs.test/operations",
        **QUEUES,
        retention_days=30,
        **FAILING,
        allow_loopback_targets=False,
        target_ports=("443",),
        target_networks=(),
        target_names=(),
        verify_destinations=False,
        own_hosts=("abc.execute-api.eu-west-1.amazonaws.com",),
        target_queues=(),
    ),
    settings.TickerSettings(stage="dev", control_table="control", tick_queue_url="http://localhost/tick", groups=4),
    settings.DispatcherSettings(
        **TABLES,
        **QUEUES,
        groups=4,
        shards=64,
        look_ahead_seconds=60,
        retention_days=30,
        batched_updates=True,
        catch_up_rate=1000,
    ),
    settings.WorkerSettings(
        **TABLES,
        **QUEUES,
        secrets_key_id="arn:aws:kms:us-east-1:000000000000:key/1",
        payloads_bucket="payloads",
        secrets_kept_seconds=300,
        retention_days=30,
        **FAILING,
        allow_loopback_targets=True,
        target_ports=("443", "8443"),
        target_networks=("10.20.0.0/16", "fd12:3456::/32"),
        target_names=("internal", "corp"),
        verify_destinations=True,
        own_hosts=("abc.execute-api.eu-west-1.amazonaws.com", "api.acme.com"),
        target_queues=(f"acme={QUEUE}", f"team-*={QUEUE}.fifo"),
        lane="long",
        call_seconds_limit=840,
        api_url="https://api.acme.com",
        side_by_side=1,
        breaker_failures=5,
        breaker_pause_seconds=10,
    ),
    settings.DeadLettersSettings(**TABLES, **DEAD_LETTERS, **FAILING, retention_days=30),
    settings.RetentionSettings(**TABLES, payloads_bucket="payloads"),
    settings.StatisticsSettings(stage="dev", control_table="control"),
    settings.DeploymentsSettings(stage="dev", control_table="control"),
    settings.OperationsSettings(**TABLES, retention_days=30, operations_queue_url="https://sqs.test/operations"),
]


def name_of(value: Any) -> str:
    """The id of a parametrised example."""
    return type(value).__name__


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_what_the_deployment_writes_the_function_reads(example: StageSettings) -> None:
    """The environment written from settings loads to equal settings, whatever else is in it."""
    assert load(type(example), {**to_environ(example), "PATH": "/usr/bin"}) == example


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_each_missing_variable_is_named(example: StageSettings) -> None:
    """Leaving out any one variable is refused with that variable's name, and nothing has a silent default."""
    for field in fields(example):
        environ = {name: value for name, value in to_environ(example).items() if name != variable(field.name)}
        with pytest.raises(SettingsError, match=rf"^{variable(field.name)} is not set; allowed: "):
            load(type(example), environ)


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_settings_cannot_change(example: StageSettings) -> None:
    """Settings are frozen."""
    with pytest.raises(FrozenInstanceError):
        example.stage = "prod"  # type: ignore[misc]  # the assignment is what must fail


@pytest.mark.parametrize(
    ("field", "text", "allowed"),
    [
        ("stage", "", "a text that is not empty"),
        ("jobs_table", "  ", "a text that is not empty"),
        ("shards", "0", "a whole number from 1 to 4096"),
        ("shards", "4097", "a whole number from 1 to 4096"),
        ("shards", "8.0", "a whole number from 1 to 4096"),
        ("shards", "-8", "a whole number from 1 to 4096"),
        ("shards", " 8", "a whole number from 1 to 4096"),
        ("shards", "²", "a whole number from 1 to 4096"),
        ("retention_days", "", "a whole number from 1 to 3650"),
        ("call_seconds_limit", "841", "a whole number from 1 to 840"),
        ("side_by_side", "11", "a whole number from 1 to 10"),
        ("lane", "fast", "short or long"),
        ("allow_loopback_targets", "1", "true or false"),
        ("allow_loopback_targets", "True", "true or false"),
        ("target_ports", "", "ports with blanks between, or none"),
        ("target_ports", "443,8443", "ports with blanks between, or none"),
        ("target_networks", "10.0.0.0/8 127.0.0.0/8", NETWORKS),
        ("target_networks", "169.254.169.254/32", NETWORKS),
        ("target_networks", "0.0.0.0/0", NETWORKS),
        ("target_networks", "::/0", NETWORKS),
        ("target_networks", "fe80::/64", NETWORKS),
        ("target_networks", "10.0.0.1/8", NETWORKS),
        ("target_networks", "inside", NETWORKS),
        ("target_names", "Internal", "host names with blanks between, or none"),
        ("own_hosts", "https://api.acme.com", "host names with blanks between, or none"),
        ("target_queues", QUEUE, ALLOWED_QUEUES),
        ("target_queues", f"acme={QUEUE}, umbrella={QUEUE}", ALLOWED_QUEUES),
        ("target_queues", "acme=https://sqs.eu-west-1.amazonaws.com/111122223333/orders", ALLOWED_QUEUES),
        ("target_queues", "*=arn:aws:sqs:eu-west-1:111122223333:Carillon-prod-QueuesHigh", ALLOWED_QUEUES),
        ("high_queue_url", "high", "a text that starts with https:// or http://"),
    ],
)
def test_a_value_that_is_not_allowed_is_named(field: str, text: str, allowed: str) -> None:
    """The error names the variable, shows the value and says what is allowed."""
    example = next(example for example in reversed(EXAMPLES) if hasattr(example, field))
    with pytest.raises(SettingsError) as caught:
        load(type(example), {**to_environ(example), variable(field): text})
    assert str(caught.value) == f"{variable(field)} is {text!r}; allowed: {allowed}"


def test_all_problems_are_told_at_once() -> None:
    """One start tells every variable at fault, a line each, so that a deployment is mended once."""
    with pytest.raises(SettingsError) as caught:
        load(settings.TickerSettings, {"CARILLON_STAGE": "dev", "CARILLON_GROUPS": "many"})
    named = {line.split(" ")[0] for line in str(caught.value).splitlines()}
    assert named == {"CARILLON_CONTROL_TABLE", "CARILLON_TICK_QUEUE_URL", "CARILLON_GROUPS"}


def test_look_ahead_may_be_zero() -> None:
    """Zero is a look-ahead (claim nothing early), not a missing value."""
    dispatcher = next(example for example in EXAMPLES if isinstance(example, settings.DispatcherSettings))
    environ = {**to_environ(dispatcher), "CARILLON_LOOK_AHEAD_SECONDS": "0"}
    assert load(settings.DispatcherSettings, environ).look_ahead_seconds == 0
