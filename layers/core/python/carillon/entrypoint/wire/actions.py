"""The small documents that go with an action."""

from typing import Annotated, TypeVar

from carillon.domain.secrets import LONGEST_OVERLAP_MS, USUAL_OVERLAP_MS
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.wire.fields import Document, Duration, lasting, told
from carillon.entrypoint.wire.refusals import validated

Options = TypeVar("Options", bound=Document)


class NoOptions(Document):
    """An action without choices."""


class ResumeOptions(Document):
    """How a job is resumed: `catch_up` plans the paused time by the job's misfire policy, this once."""

    catch_up: Annotated[bool, told("plan the paused time by the misfire policy, this once")] = False


class RotationOptions(Document):
    """How long the secret before the new one goes on signing beside it."""

    overlap: Annotated[Duration, lasting(0, LONGEST_OVERLAP_MS), told("`PT0S` to `P7D`")] = USUAL_OVERLAP_MS


def read_options(body: bytes, kind: type[Options]) -> Options:
    """The choices in a body; without a body, the usual ones.

    Raises:
        JsonError: the body is no JSON object.
        Refusal: something in it is not valid.
    """
    return validated(kind, read_object(body).members if body else {})
