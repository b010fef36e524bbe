"""The handlers of API keys: each parses, calls one use case, and maps the outcome."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.api_keys import CreateKey, ListKeys, NewKey, RevokeKey, RotateKey
from carillon.domain.instants import format_instant
from carillon.domain.tenancy import SCOPES, ApiKey
from carillon.entrypoint.action_bodies import body_of_action
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.views import shown_instant

if TYPE_CHECKING:
    from carillon import answers

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none


@dataclass(frozen=True, slots=True)
class KeyHandlers:
    """One method a route."""

    list: ListKeys
    create: CreateKey
    rotate: RotateKey
    revoke: RevokeKey

    def list_keys(self, request: Request) -> Answer:
        """GET /v1/keys: few enough for one page."""
        found = self.list(request.tenant)
        shown: answers.ApiKeyList = {"data": [_key(each) for each in found], "next_cursor": None}
        return Answer(200, json.dumps(shown))

    def create_key(self, request: Request) -> Answer:
        """POST /v1/keys."""
        from carillon.entrypoint.wire.keys import read_key

        require_json(request)
        wish = read_key(read_object(request.body), request.now_ms)
        new = self.create(
            request.known_principal,
            request.actor,
            wish.scopes,
            request.now_ms,
            name=wish.name,
            expires_at_ms=wish.expires_at_ms,
        )
        return Answer(201, json.dumps(_new_key(new)))

    def rotate_key(self, request: Request) -> Answer:
        """POST /v1/keys/{key_id}/rotate."""
        from carillon.entrypoint.wire.actions import RotationOptions, read_options

        options = read_options(body_of_action(request), RotationOptions)
        key_id = request.path_values["key_id"]
        new, old = self.rotate(request.known_principal, request.actor, key_id, options.overlap, request.now_ms)
        shown: answers.RotatedApiKey = {**_new_key(new), "previous": [_key(old)]}
        return Answer(201, json.dumps(shown))

    def revoke_key(self, request: Request) -> Answer:
        """DELETE /v1/keys/{key_id}."""
        self.revoke(request.known_principal, request.actor, request.path_values["key_id"], request.now_ms)
        return Answer(204)


def _new_key(new: NewKey) -> "answers.NewApiKey":
    return {**_key(new.key), "key": new.text}


def _key(key: ApiKey) -> "answers.ApiKey":
    return {
        "id": key.id,
        "name": key.name,
        "hint": key.hint,
        "scopes": [scope for scope in SCOPES if scope in key.scopes],
        "created_at": format_instant(key.created_at),
        "expires_at": shown_instant(key.expires_at_ms),
        "revoked_at": shown_instant(key.revoked_at),
        "last_used_at": shown_instant(key.last_used_at),
    }
