"""The document of the target that is told of failed runs of all jobs of a tenant."""

from typing import Annotated

from carillon.domain.job import Target
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import invalid
from carillon.entrypoint.wire.documents import TargetDocument
from carillon.entrypoint.wire.fields import Document, told
from carillon.entrypoint.wire.jobs import failure_target_errors, target_in
from carillon.entrypoint.wire.refusals import validated


class FailureTargetDocument(Document):
    """Who is told of failed runs of jobs that name nobody themselves."""

    target: Annotated[TargetDocument, told("a target like the `on_failure` of a job")]


def read_failure_target(sent: JsonObject, policy: TargetPolicy) -> Target:
    """What is to be told.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    document = validated(FailureTargetDocument, sent.members)
    if errors := [*failure_target_errors(document.target, "target", policy)]:
        raise invalid(errors)
    return target_in(document.target)
