"""The tables of docs/api.md say what the interface does: routes, codes, states, bounds."""

import re

import pytest

from carillon.application.authenticate import CACHED_FOR_MS
from carillon.domain import completions, headers, outcomes, retry, targets
from carillon.domain.admission import LONGEST_PAUSE_RETRY_MS, PAUSE_RETRY_MS
from carillon.domain.audit import Action
from carillon.domain.cron import LONGEST_EXPRESSION
from carillon.domain.every import SHORTEST_INTERVAL_MS
from carillon.domain.explaining.explanation import MOST_OCCURRENCES
from carillon.domain.idempotency import MOST_KEPT_BYTES
from carillon.domain.job import LONGEST_COMPLETION_MS, Completion, JobState
from carillon.domain.outcomes import Failure
from carillon.domain.retry import RetryPolicy
from carillon.domain.revisions import MOST_REVISIONS, REVISIONS_KEPT_MS
from carillon.domain.run import RunState
from carillon.entrypoint import cursors, http_request, json_text, pages, problems
from carillon.entrypoint.wire import batches, documents, fields, jobs
from carillon.entrypoint.wire.documents import HttpTargetDocument, JobDocument, QueueTargetDocument, RetryDocument
from carillon.entrypoint.wire.previews import DEFAULT_COUNT, PreviewDocument
from support.api import ApiUnderTest
from tests.unit.docs import reference
from tests.unit.docs.code import place_codes
from tests.unit.docs.pages import page, spans_of

API = page("docs/api.md")
KIB, SECOND_MS, DAY_MS = 1024, 1_000, 24 * 3600 * 1_000
MINUTE_MS, HOUR_MS = 60 * SECOND_MS, 3600 * SECOND_MS


def first_names(title: str, table: int = 0) -> list[str]:
    """The words in code of the first column of one of a section's tables."""
    return [name for row in API.tables(title)[table] for name in spans_of(row[0])]


def routes() -> set[tuple[str, str]]:
    """The routes of the interface, with their scopes."""
    known = ApiUnderTest().handle.routes  # type: ignore[attr-defined]  # the handler is the front, which knows them
    return {(f"{route.method} {route.template}", route.scope or "none") for route in known}


def test_the_made_parts_are_current() -> None:
    """What a page has from the code is what the code says; `make docs` writes it anew."""
    assert list(reference.stale()) == []


def test_every_route_is_listed() -> None:
    """Each route stands with its scope, and no other does."""
    listed = {(spans_of(row[0])[0], (spans_of(row[1]) or ["none"])[0]) for row in API.tables("Routes")[0]}
    assert listed == routes()


def test_every_refusal_is_listed() -> None:
    """Each code of a problem stands with its status."""
    listed = {spans_of(row[1])[0]: int(row[0]) for row in API.tables("Errors")[0]}
    assert listed == {code: status for code, (status, _) in problems.KINDS.items()}


def test_every_code_of_a_place_is_listed() -> None:
    """Each code that the code gives to a single place is in the table, and no other is."""
    listed = {code for row in API.tables("Errors")[1] for code in spans_of(row[1])}
    assert sorted(listed) == sorted(place_codes())


@pytest.mark.parametrize(
    ("title", "model"),
    [
        ("Creating a job", JobDocument),
        ("Targets", HttpTargetDocument),
        ("Queues", QueueTargetDocument),
        ("Retries", RetryDocument),
        ("Previewing a schedule", PreviewDocument),
    ],
    ids=["job", "target", "queue", "retry", "preview"],
)
def test_every_field_is_listed(title: str, model: type[fields.Document]) -> None:
    """The fields of a document are those that are explained, and those that are named as not built."""
    not_built = set(spans_of(API.section("Not built yet")))
    explained = {name for row in API.tables(title)[0] for name in spans_of(row[0])}
    fields_of_it = {field.alias or name for name, field in model.model_fields.items()}
    assert explained <= fields_of_it <= explained | not_built


def test_every_state_is_listed() -> None:
    """States of jobs and of runs are those of the code."""
    assert set(first_names("The answer")) == set(JobState)
    assert set(first_names("Runs")) == set(RunState)


def test_every_action_is_listed() -> None:
    """The page tells of each action that leaves an audit event, and of no other."""
    assert set(first_names("Audit events")) == set(Action)


def test_every_failure_is_listed() -> None:
    """Each way in which a call gets no answer is told, but the one that nobody is shown."""
    named = set(spans_of(API.section("Callbacks")))
    assert set(Failure) - {Failure.CANCELLED} <= named


@pytest.mark.parametrize(
    ("title", "text", "value"),
    [
        ("Authentication", "for up to a minute", CACHED_FOR_MS == 60 * SECOND_MS),
        ("Creating a job", "1 to 128 printable characters", fields.MOST_NAME_CHARACTERS == 128),
        ("Creating a job", "up to 256 KiB", jobs.MOST_PAYLOAD_BYTES == 256 * KIB),
        ("Creating a job", "up to 100 statuses from 300 to 599", documents.MOST_RETRY_STATUSES == 100),
        ("Creating a job", "1 to 1,000", documents.MOST_CATCH_UP == 1_000),
        ("Creating a job", "up to `P14D`", documents.LONGEST_LATENESS_MS == 14 * DAY_MS),
        ("Creating a job", "| `window` | `PT0S` | up to `PT23H`", documents.LONGEST_WINDOW_MS == 23 * HOUR_MS),
        ("Creating a job", "up to 32; a key has", fields.MOST_LABELS == 32),
        ("Creating a job", "a value up to 256", fields.MOST_LABEL_VALUE_CHARACTERS == 256),
        ("Schedules", "at least `PT1S`", SHORTEST_INTERVAL_MS == SECOND_MS),
        ("Schedules", "at most 200 characters", LONGEST_EXPRESSION == 200),
        ("Schedules", "1 to 1,000,000", documents.MOST_RUNS == 1_000_000),
        ("Targets", "up to 2,048 ASCII", targets.MOST_URL_CHARACTERS == 2_048),
        ("Targets", "port 443 or 8443", targets.HOSTED.ports == frozenset({443, 8443})),
        ("Targets", "up to 32, 8 KiB", (headers.MOST_HEADERS, headers.MOST_HEADER_BYTES) == (32, 8 * KIB)),
        ("Targets", "names of up to 64", headers.MOST_NAME_CHARACTERS == 64),
        ("Targets", "`PT1S` to `PT14M`", documents.LONGEST_TIMEOUT_MS == 14 * 60 * SECOND_MS),
        ("Completing later", "| `timeout` | `PT6H` | `PT1S` to `P14D`", Completion().timeout_ms == 6 * HOUR_MS),
        ("Completing later", "`PT1S` to `P14D`, no more than `timeout`", LONGEST_COMPLETION_MS == 14 * DAY_MS),
        ("Completing later", "any JSON of up to 4 KiB", completions.MOST_RESULT_BYTES == 4 * KIB),
        ("Errors", "a result above 4 KiB", completions.MOST_RESULT_BYTES == 4 * KIB),
        ("Retries", "| `max_attempts` | 5 | 1 to 100", (RetryPolicy().max_attempts, retry.MOST_ATTEMPTS) == (5, 100)),
        ("Retries", "| `base` | `PT1S` |", RetryPolicy().base_ms == SECOND_MS),
        ("Retries", "| `factor` | 2 |", RetryPolicy().factor == 2),
        ("Retries", "| `max_delay` | `PT1M` |", RetryPolicy().max_delay_ms == 60 * SECOND_MS),
        ("Retries", "1 to 99 durations", documents.MOST_DELAYS == 99),
        ("Retries", "up to 24 hours", retry.LONGEST_RETRY_AFTER_MS == DAY_MS),
        ("Retries", "14 days after the nominal time", retry.MAX_AGE_MS == 14 * DAY_MS),
        ("Changing a job", "At most 49", MOST_REVISIONS == 50),  # the creation is the first one
        ("Changing a job", "into 15 days", REVISIONS_KEPT_MS == 15 * DAY_MS),
        ("Pausing and resuming a job", "after two minutes", PAUSE_RETRY_MS == MINUTE_MS),  # twice that
        ("Pausing and resuming a job", "up to an hour", LONGEST_PAUSE_RETRY_MS == HOUR_MS),
        ("Previewing a schedule", "| `count` | 10 | 1 to 1,000", (DEFAULT_COUNT, MOST_OCCURRENCES) == (10, 1_000)),
        ("Runs", "up to 4 KiB", outcomes.MOST_EXCERPT_BYTES == 4 * KIB),
        ("Lists", "1 to 100, default 50", (pages.HIGHEST_LIMIT, pages.DEFAULT_LIMIT) == (100, 50)),
        ("Lists", "hold for 24 hours", cursors.VALID_FOR_MS == DAY_MS),
        ("Errors", "deeper than 64 levels", json_text.MOST_LEVELS == 64),
        ("Errors", "a body above 512 KiB", http_request.MOST_BODY_BYTES == 512 * KIB),
        ("Errors", "(of a batch of jobs 4 MiB)", http_request.MOST_BATCH_BYTES == 4 * KIB * KIB),
        ("Creating many jobs", "up to 100 jobs, in up to 4 MiB", batches.MOST_JOBS == 100),
        ("Repeating a request", "above 384 KiB", MOST_KEPT_BYTES == 384 * KIB),
        ("Errors", "At most 32 errors", problems.MOST_ERRORS == 32),
    ],
)
def test_bounds_are_what_they_are(title: str, text: str, *, value: bool) -> None:
    """The page names the bound, and the code has it."""
    assert re.sub(r"\s+", " ", text) in re.sub(r"\s+", " ", API.section(title))
    assert value
