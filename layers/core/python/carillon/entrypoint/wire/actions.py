"""The small documents that go with an action."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator

from carillon.domain.secrets import LONGEST_OVERLAP_MS, USUAL_OVERLAP_MS
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.wire.fields import Document, Duration, lasting
from carillon.entrypoint.wire.refusals import validated

Options = TypeVar("Options", bound=Document)


class NoOptions(Document):
    """An action without choices."""


class ResumeOptions(Document):
    """How a job is resumed: `catch_up` plans the paused time by the job's misfire policy, this once."""

    catch_up: bool = False


class RotationOptions(Document):
    """How long the secret before the new one goes on signing beside it."""

    overlap: Annotated[Duration, AfterValidator(lasting(0, LONGEST_OVERLAP_MS))] = USUAL_OVERLAP_MS


def read_options(body: bytes, kind: type[Options]) -> Options:
    """The choices in a body; without a body, the usual ones.

    Raises:
        JsonError: the body is no JSON object.
        Refusal: something in it is not valid.
    """
    return validated(kind, read_object(body).members if body else {})
