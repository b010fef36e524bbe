"""The tables of docs/operations.md say what the code says: settings, stages, items, log lines, metrics."""

import re
from dataclasses import fields
from typing import get_type_hints

import pytest

from carillon.adapters.dynamodb import keys
from carillon.entrypoint.environment import variable
from carillon.entrypoint.settings import (
    ApiSettings,
    DeadLettersSettings,
    DispatcherSettings,
    OperationsSettings,
    RetentionSettings,
    StageSettings,
    StatisticsSettings,
    TickerSettings,
    WorkerSettings,
)
from infra.stages import STAGES, Concurrency, Stage
from tests.unit.docs.code import CLI, actions, constants, metrics
from tests.unit.docs.pages import PAGES, page, spans_of

OPERATIONS = page("docs/operations.md")
SETTINGS: dict[str, type[StageSettings]] = {
    "api": ApiSettings,
    "ticker": TickerSettings,
    "dispatcher": DispatcherSettings,
    "worker": WorkerSettings,
    "long_worker": WorkerSettings,
    "dead_letters": DeadLettersSettings,
    "retention": RetentionSettings,
    "operations": OperationsSettings,
    "statistics": StatisticsSettings,
}
_VARIABLE = re.compile(r"\bCARILLON_[A-Z][A-Z_]*")


def first_names(title: str) -> list[str]:
    """The words in code of the first column of a section's first table."""
    return [name for row in OPERATIONS.tables(title)[0] for name in spans_of(row[0])]


def readers(name: str) -> set[str]:
    """The functions that read a variable."""
    return {function for function, kind in SETTINGS.items() if name in map(variable, get_type_hints(kind))}


def shown(value: object) -> str:
    """A setting as the table writes it."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    words: dict[object, str] = {True: "yes", False: "no", None: "none"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def stage_value(stage: Stage, name: str) -> object:
    """The value of a setting by its name in the table."""
    found: object = stage
    for step in name.split("."):
        found = getattr(found, step)
    return found


def stage_settings() -> set[str]:
    """All settings of a stage, as the table names them."""
    plain = {field.name for field in fields(Stage)} - {"name", "concurrency"}
    return plain | {f"concurrency.{field.name}" for field in fields(Concurrency)}


def test_every_variable_of_the_functions_is_listed() -> None:
    """Each variable stands with the functions that read it, and no other does."""
    (table,) = OPERATIONS.tables("What the functions are told")
    everybody = set(SETTINGS)
    listed = {
        spans_of(row[0])[0]: everybody if row[2] == "all" else set(row[2].replace(" ", "").split(",")) for row in table
    }
    names = {variable(field) for kind in SETTINGS.values() for field in get_type_hints(kind)}
    assert listed == {name: readers(name) for name in names}


@pytest.mark.parametrize("name", [each.name for each in PAGES])
def test_variables_that_are_named_exist(name: str) -> None:
    """Each variable that a page names is read by a function or by the command line."""
    of_functions = {variable(field) for kind in SETTINGS.values() for field in get_type_hints(kind)}
    of_commands = {found for text in constants(CLI) for found in _VARIABLE.findall(text)}
    assert set(_VARIABLE.findall(page(name).text)) <= of_functions | of_commands


def test_every_setting_of_a_stage_is_listed() -> None:
    """The table of stages has each setting once."""
    assert sorted(first_names("Stages")) == sorted(stage_settings())


@pytest.mark.parametrize("column", range(1, 5))
def test_the_settings_of_stages_are_theirs(column: int) -> None:
    """Each cell is what the stage is deployed with."""
    stage = STAGES[("local", "dev", "small", "prod")[column - 1]]
    for row in OPERATIONS.tables("Stages")[0]:
        if row[column] != "host's":
            assert row[column] == shown(stage_value(stage, spans_of(row[0])[0])), row[0]


def test_every_log_line_is_listed() -> None:
    """Each `action` that the code logs is in the table, and no other is."""
    assert sorted(first_names("Logs")) == sorted(actions())


def test_every_metric_is_listed() -> None:
    """Each figure that the code counts is in the table, and no other is."""
    assert sorted(first_names("Metrics")) == sorted(metrics())


def test_items_have_the_keys_that_are_listed() -> None:
    """The table of items spells keys as the code does."""
    job = keys.job_pk("<job id>")
    quarantine = keys.quarantine_key("<day>", "<message id>")
    assert {(row[0], *(spans_of(cell)[0] for cell in row[1:3])) for row in OPERATIONS.tables("The tables")[0]} == {
        ("jobs", job, keys.JOB_SK),
        ("jobs", job, keys.SPEC_SK),
        ("jobs", keys.breakers_pk("<tenant>"), "<host>:<port>"),
        ("jobs", job, keys.run_sk("<nominal time>")),
        ("jobs", job, keys.run_sk("<nominal time>_f<n>")),
        ("jobs", job, keys.run_sk("<nominal time>_v<n>")),
        ("jobs", keys.verifications_pk("<tenant>"), "<destination id>"),
        ("jobs", job, keys.plan_sk(0).replace("0", "<generation>")),
        ("control", keys.tenant_pk("<tenant>"), keys.TENANT_SK),
        ("control", *keys.tenants_key_key("<tenant>", "<key id>")),
        ("control", *keys.failure_target_key("<tenant>")),
        ("control", *keys.destinations_key("<tenant>")),
        ("control", *keys.secret_key("<tenant>", "<secret id>")),
        ("control", *keys.request_key("<tenant>", "<idempotency key>")),
        ("control", keys.audit_pk("<tenant>"), "<event id>"),
        ("control", *keys.api_key_key("<key id>")),
        ("control", *keys.name_key("<tenant>", "<name>")),
        ("control", keys.group_key(0)[0].replace("0", "<n>"), keys.LEASE_SK),
        ("control", *keys.limit_key("<tenant>")),
        ("control", keys.slice_key("<tenant>", 0)[0].replace("0", "<slice>"), keys.COUNT_SK),
        ("control", keys.freed_key("<tenant>", 0)[0], "<second>"),
        ("control", *keys.calendar_key("<tenant>@<interval>")),
        ("control", *keys.operation_key("<tenant>", "<operation id>")),
        ("control", keys.hour_key("<tenant>", 0, 0)[0], "<hour>#<n>"),
        ("control", *keys.told_key("<event>")),
        ("control", *keys.TICKS_KEY),
        ("control", *keys.SHARDS_KEY),
        ("control", *keys.CURSOR_KEY_KEY),
        ("control", *quarantine),
    }


def test_indexes_have_the_keys_that_are_listed() -> None:
    """The table of indexes names each with its two keys."""
    described = {
        index["IndexName"]: [each["AttributeName"] for each in index["KeySchema"]]
        for index in keys.jobs_table("jobs")["GlobalSecondaryIndexes"]
    }
    listed = {spans_of(row[0])[0]: spans_of(row[1]) for row in OPERATIONS.tables("The tables")[1]}
    assert listed == described
