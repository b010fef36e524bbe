"""The handler of uploads."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.uploads import InviteUpload
from carillon.domain.instants import format_instant
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object
from carillon.ports.payloads import Invitation

if TYPE_CHECKING:
    from carillon import answers

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none


@dataclass(frozen=True, slots=True)
class PayloadHandlers:
    """One method a route."""

    invite: InviteUpload

    def invite_upload(self, request: Request) -> Answer:
        """POST /v1/payloads: nothing is stored by it, so whoever repeats it has one reference more."""
        from carillon.entrypoint.wire.uploads import read_upload

        require_json(request)
        wish = read_upload(read_object(request.body))
        reference, invitation = self.invite(request.tenant, wish.content_type, wish.size, request.now_ms)
        return Answer(201, json.dumps(view_of_upload(reference, invitation)))


def view_of_upload(reference: str, invitation: Invitation) -> "answers.Upload":
    """The leave to upload, as the answer shows it."""
    return {
        "payload_ref": reference,
        "method": "PUT",
        "url": invitation.url,
        "headers": {"Content-Type": invitation.content_type},
        "expires_at": format_instant(invitation.expires_at),
    }
