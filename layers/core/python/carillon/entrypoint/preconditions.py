"""ETags of jobs, and the conditions that a client sets by them (RFC 9110, section 13)."""

import re
from dataclasses import dataclass

from carillon.domain.job import Definition
from carillon.entrypoint.http_request import Request
from carillon.entrypoint.problems import FieldError, Refusal

_TAGS_OF_OURS = re.compile(r'(W/)?"([1-9][0-9]{0,14})"', re.ASCII)
_ANY = "*"


def etag_of(definition: Definition) -> str:
    """The strong tag of a job: its revision."""
    return f'"{definition.spec.revision}"'


def revisions_wanted(request: Request) -> frozenset[int] | None:
    """The revisions that a request may change, by its If-Match header; None for any.

    Weak tags, and tags that are not ours, match none.
    """
    if_match = request.headers.get("if-match", _ANY)
    if if_match.strip() == _ANY:
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


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must hold of a job, or of there being none, for a request to be carried out.

    Attributes:
        must_exist: whether If-Match was sent: then there must be a job.
        wanted: the revisions that If-Match names; None for any.
        unwanted: the revisions that If-None-Match names, weakly compared; None for any: then there must be no job.
    """

    must_exist: bool = False
    wanted: frozenset[int] | None = None
    unwanted: frozenset[int] | None = frozenset()

    def check(self, revision: int | None) -> None:
        """Judge the revision there is; None: there is no job.

        Raises:
            Refusal: it is not one that the request is for.
        """
        if revision is None:
            if self.must_exist:
                raise _unmet("If-Match", "there is no such job")
            return
        if self.wanted is not None and revision not in self.wanted:
            raise _unmet("If-Match", "the job has another revision by now")
        if self.unwanted is None or revision in self.unwanted:
            raise _unmet("If-None-Match", "there is such a job")


def conditions_of(request: Request) -> Conditions:
    """The conditions in the headers of a request."""
    none_of = request.headers.get("if-none-match", "")
    unwanted = frozenset(int(number) for _, number in _TAGS_OF_OURS.findall(none_of))
    return Conditions(
        "if-match" in request.headers, revisions_wanted(request), None if none_of.strip() == _ANY else unwanted
    )


def _unmet(header: str, detail: str) -> Refusal:
    return Refusal("revision_mismatch", detail, (FieldError("header", header, "revision_mismatch", detail),))
