"""The small documents that go with an action on a job."""

from typing import TypeVar

from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.wire.fields import Document
from carillon.entrypoint.wire.refusals import validated

Options = TypeVar("Options", bound=Document)


class NoOptions(Document):
    """An action without choices."""


class ResumeOptions(Document):
    """How a job is resumed: `catch_up` plans the paused time by the job's misfire policy, this once."""

    catch_up: bool = False


def read_options(body: bytes, kind: type[Options]) -> Options:
    """The choices in a body; without a body, the usual ones.

    Raises:
        JsonError: the body is no JSON object.
        Refusal: something in it is not valid.
    """
    return validated(kind, read_object(body).members if body else {})
