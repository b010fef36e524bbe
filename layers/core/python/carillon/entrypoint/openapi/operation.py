"""What is told of a route beyond what its line in the routing table says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from carillon.entrypoint.wire.fields import Document

Json = dict[str, Any]
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request.

    Attributes:
        model: what reads it.
        example: a body that is accepted. Tests send it.
        is_required: whether there must be one.
        is_patch: whether it is a merge patch of what the model reads.
    """

    model: type[Document]
    example: Json
    is_required: bool = True
    is_patch: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """What is answered when all is well.

    Attributes:
        told: what the body is, as in "200 with …"; may link to sections of `docs/api.md`. Empty: there is no body.
        shape: the type of the body, out of `carillon.answers`; None: there is none, or it is no JSON.
        headers: of the answer, beside those that every one has.
        media_type: of the body.
    """

    told: str
    shape: Any = None
    headers: tuple[str, ...] = ()
    media_type: str = JSON


@dataclass(frozen=True, slots=True)
class Operation:
    """A route, as it is told.

    Attributes:
        id: a name for programs that are made from the document.
        tag: the area that it belongs to.
        summary: what it does, in a few words.
        answers: by status.
        refusals: codes of problems that follow from what the route does. Those that follow from its line in the routing
            table, its body and `if_match` are added by themselves.
        body: None if it takes none.
        parameters: schemas of parameters of the query that mean something else here than in `parameters.QUERY`.
        if_match: whether the header may or must be sent.
        if_none_match: whether the header may be sent.
        description: what else there is to know.
    """

    id: str
    tag: str
    summary: str
    answers: Mapping[int, Answered]
    refusals: tuple[str, ...] = ()
    body: Body | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    if_match: Literal["ignored", "optional", "required"] = "ignored"
    if_none_match: bool = False
    description: str = ""
