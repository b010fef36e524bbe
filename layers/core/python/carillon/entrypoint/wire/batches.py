"""The document that asks for many jobs to be created. Its jobs are judged one by one, each by its own text."""

from typing import Annotated, Any

from carillon.answers import Form
from carillon.entrypoint.json_text import read_list
from carillon.entrypoint.wire.fields import Document, counting, told
from carillon.entrypoint.wire.refusals import validated

MOST_JOBS = 100


class BatchDocument(Document):
    """Jobs to create."""

    jobs: Annotated[
        list[Any],
        counting(1, MOST_JOBS),
        Form(items={}),
        told("1 to 100 jobs, each as at a creation; what is wrong with one is told in its place of the answer"),
    ]


def read_batch(body: bytes) -> list[str]:
    """The texts of the jobs in a body.

    Raises:
        JsonError: the body is no JSON object.
        Refusal: there is no list of jobs in it, or more than that.
    """
    members, texts = read_list(body, "jobs")
    validated(BatchDocument, members)
    return texts
