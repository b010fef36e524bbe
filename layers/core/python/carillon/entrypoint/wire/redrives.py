"""The document that asks for many dead letters to be redriven."""

from dataclasses import dataclass
from typing import Annotated

from carillon.answers import Instant
from carillon.application.redrive import DeadLetterFilter
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.wire.fields import Document, told
from carillon.entrypoint.wire.refusals import read_instant, validated


class FilterDocument(Document):
    """Which dead letters: of a job, and since when they have been dead."""

    job: Annotated[str | None, told("the id of a job")] = None
    since: Annotated[Instant | None, told("only what ended at this instant or later")] = None


class RedriveDocument(Document):
    """A filter, which must be named though it may be empty; whether to try only; and where to go on."""

    filter: Annotated[FilterDocument, told("which; it must be there and may be empty")]
    dry_run: Annotated[bool, told("only count")] = False
    cursor: Annotated[str | None, told("`next_cursor` of the portion before")] = None


@dataclass(frozen=True, slots=True)
class RedriveWish:
    """What is asked for."""

    wanted: DeadLetterFilter
    dry_run: bool
    cursor: str | None


def read_redrive(sent: JsonObject) -> RedriveWish:
    """The wish in a document.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    document = validated(RedriveDocument, sent.members)
    since = document.filter.since
    since_ms = 0 if since is None else read_instant(since, "/filter/since")
    return RedriveWish(DeadLetterFilter(document.filter.job, since_ms), document.dry_run, document.cursor)
