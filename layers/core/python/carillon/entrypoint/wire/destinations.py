"""The documents of destinations."""

from typing import Annotated

from carillon.domain.destinations import DestinationKind
from carillon.domain.targets import TargetPolicy, TargetRefused, parse_target_url, read_host
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import FieldError, invalid, pointer
from carillon.entrypoint.wire.fields import Document, told
from carillon.entrypoint.wire.refusals import validated


class DestinationDocument(Document):
    """One host, or a suffix with all that lies below it."""

    host: Annotated[str | None, told("this host alone")] = None
    suffix: Annotated[str | None, told("every host below it, and itself")] = None


def read_destination(sent: JsonObject, policy: TargetPolicy) -> tuple[DestinationKind, str]:
    """What is to be registered: a name that a target could have on this stage.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    document = validated(DestinationDocument, sent.members)
    if document.host is not None and document.suffix is not None:
        raise invalid([FieldError("pointer", "/suffix", "conflicting_fields", "give a host or a suffix, not both")])
    kind = DestinationKind.HOST if document.suffix is None else DestinationKind.SUFFIX
    name = document.host if document.suffix is None else document.suffix
    if name is None:
        raise invalid([FieldError("pointer", "/host", "required", "give a host or a suffix")])
    try:
        return kind, read_host(name, policy)
    except TargetRefused as error:
        raise invalid([FieldError("pointer", pointer(kind), error.code, error.detail)]) from None


class VerificationDocument(Document):
    """Where a destination is asked whether it wants to be called."""

    url: Annotated[str, told("of the destination itself: of the host, or of the suffix and of no host below it")]


def read_verification(sent: JsonObject, policy: TargetPolicy) -> tuple[str, str]:
    """The URL that is to be asked, and its host.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    document = validated(VerificationDocument, sent.members)
    try:
        return document.url, parse_target_url(document.url, policy).host
    except TargetRefused as error:
        raise invalid([FieldError("pointer", "/url", error.code, error.detail)]) from None
