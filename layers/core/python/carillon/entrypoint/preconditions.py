"""ETags of jobs, and the conditions that a client sets by them (RFC 9110, section 13)."""

import re

from carillon.domain.job import Definition
from carillon.entrypoint.http_request import Request
from carillon.entrypoint.problems import FieldError, Refusal

_TAGS_OF_OURS = re.compile(r'(W/)?"([1-9][0-9]{0,14})"', re.ASCII)


def etag_of(definition: Definition) -> str:
    """The strong tag of a job: its revision."""
    return f'"{definition.spec.revision}"'


def revisions_wanted(request: Request) -> frozenset[int] | None:
    """The revisions that a request may change, by its If-Match header; None for any.

    Weak tags, and tags that are not ours, match none.
    """
    if_match = request.headers.get("if-match", "*")
    if if_match.strip() == "*":
        return None
    return frozenset(int(number) for weak, number in _TAGS_OF_OURS.findall(if_match) if not weak)


def revisions_required(request: Request) -> frozenset[int] | None:
    """The same, of a request that must have the header.

    Raises:
        Refusal: it has none.
    """
    if "if-match" not in request.headers:
        detail = "say which revision you have seen (its ETag), or * for whichever there is"
        missing = FieldError("header", "If-Match", "required", detail)
        raise Refusal("precondition_required", f"If-Match is required: {detail}", (missing,))
    return revisions_wanted(request)
