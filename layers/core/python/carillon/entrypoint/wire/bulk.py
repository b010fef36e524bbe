"""The document that asks for an action on many jobs."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from carillon.domain.job import JobState
from carillon.domain.job_filter import JobFilter
from carillon.domain.operations import BulkAction
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import FieldError, invalid
from carillon.entrypoint.wire.fields import MOST_NAME_CHARACTERS, Document, Labels, Rule, refused, told
from carillon.entrypoint.wire.refusals import validated

ActionName = Annotated[BulkAction, Field(strict=False)]
StateName = Annotated[JobState, Field(strict=False)]
"""Lax only in this: the text of a member is taken for the member."""


def _check_prefix(text: str) -> str:
    if not 1 <= len(text) <= MOST_NAME_CHARACTERS:
        raise refused("invalid_value", f"allowed: 1 to {MOST_NAME_CHARACTERS} characters")
    return text


Prefix = Annotated[str, Rule(_check_prefix, {"minLength": 1, "maxLength": MOST_NAME_CHARACTERS})]
"""Of a name: it may end where no name may, with a blank."""


class JobFilterDocument(Document):
    """Which jobs: all that is named must hold."""

    state: Annotated[StateName | None, told("only jobs in this state")] = None
    labels: Annotated[Labels, told("only jobs with all of these labels")] = Field(default_factory=dict)
    name_prefix: Annotated[Prefix | None, told("only jobs whose names begin so")] = None


class BulkDocument(Document):
    """An action and a filter, which must be named though it may be empty; whether to try only; where to go on."""

    action: Annotated[ActionName, told("`pause`, `resume`, `cancel` or `trigger`")]
    filter: Annotated[JobFilterDocument, told("which; it must be there, and an empty one means all")]
    dry_run: Annotated[bool, told("only count")] = False
    cursor: Annotated[str | None, told("of a dry run: `next_cursor` of the portion before")] = None


@dataclass(frozen=True, slots=True)
class BulkWish:
    """What is asked for."""

    action: BulkAction
    wanted: JobFilter
    dry_run: bool
    cursor: str | None


def read_bulk(sent: JsonObject) -> BulkWish:
    """The wish in a document.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    document = validated(BulkDocument, sent.members)
    if document.cursor is not None and not document.dry_run:
        raise invalid([FieldError("pointer", "/cursor", "conflicting_fields", "goes with a dry run alone")])
    asked = document.filter
    wanted = JobFilter(asked.state, tuple(sorted(asked.labels.items())), asked.name_prefix or "")
    return BulkWish(document.action, wanted, document.dry_run, document.cursor)
