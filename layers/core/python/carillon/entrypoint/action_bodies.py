"""The bodies of actions, which may be missing."""

from carillon.entrypoint.http_request import Request, require_json


def refuse_options(request: Request) -> None:
    """An action without choices takes no body but an empty object.

    Raises:
        Refusal: there is more in the body.
        JsonError: the body is no JSON object.
    """
    from carillon.entrypoint.wire.actions import NoOptions, read_options  # noqa: PLC0415 - reading needs no validator

    read_options(body_of_action(request), NoOptions)


def body_of_action(request: Request) -> bytes:
    """The body of an action, which may be missing.

    Raises:
        Refusal: it is not JSON by its type.
    """
    if request.body:
        require_json(request)
    return request.body
