"""The handlers of what a tenant has beside jobs and runs: each parses, calls one use case, and maps the outcome."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.limit_tenant import ReadLimits
from carillon.application.read_audit import AuditFilter, ListAuditEvents
from carillon.application.signing_secrets import ListSecrets, RevealSecret, RotateSecret
from carillon.domain.audit import Action, AuditEvent
from carillon.domain.instants import format_instant
from carillon.domain.limits import Limits
from carillon.domain.secrets import SigningSecret
from carillon.entrypoint.action_bodies import body_of_action, refuse_options
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import Answer, Request
from carillon.entrypoint.pages import answer_page, choice, instant, read_page, single
from carillon.entrypoint.views import shown_instant

if TYPE_CHECKING:
    from carillon import answers

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none

_ACTIONS = {str(action): action for action in Action}


@dataclass(frozen=True, slots=True)
class TenantHandlers:
    """One method a route."""

    secrets: ListSecrets
    rotate: RotateSecret
    reveal: RevealSecret
    audit: ListAuditEvents
    limits: ReadLimits
    cursors: Cursors

    def list_secrets(self, request: Request) -> Answer:
        """GET /v1/signing-secrets: two at the most, so there is one page."""
        found = self.secrets(request.tenant, request.now_ms)
        shown: answers.SigningSecretList = {"data": [_secret(each) for each in found], "next_cursor": None}
        return Answer(200, json.dumps(shown))

    def rotate_secret(self, request: Request) -> Answer:
        """POST /v1/signing-secrets/rotate."""
        from carillon.entrypoint.wire.actions import RotationOptions, read_options

        options = read_options(body_of_action(request), RotationOptions)
        rotation, text = self.rotate(request.tenant, request.actor, options.overlap, request.now_ms)
        previous = [_secret(each) for each in rotation.retired]
        made: answers.RotatedSecret = {**_secret(rotation.added), "secret": text, "previous": previous}
        return Answer(201, json.dumps(made))

    def reveal_secret(self, request: Request) -> Answer:
        """POST /v1/signing-secrets/{secret_id}/reveal."""
        refuse_options(request)
        shown = self.reveal(request.tenant, request.actor, request.path_values["secret_id"], request.now_ms)
        revealed: answers.RevealedSecret = {**_secret(shown.secret), "secret": shown.text}
        return Answer(200, json.dumps(revealed))

    def list_audit_events(self, request: Request) -> Answer:
        """GET /v1/audit-events."""
        asked = read_page(request, self.cursors)
        walked = self.audit(request.tenant, _filter(request), asked.limit, asked.position)
        return answer_page(request, asked, walked, self.cursors, view=_event, position_of=lambda event: event.id)

    def read_limits(self, request: Request) -> Answer:
        """GET /v1/limits."""
        limits, used = self.limits(request.tenant)
        shown: answers.LimitsAndUsage = {"limits": shown_limits(limits), "usage": {"jobs": used}}
        return Answer(200, json.dumps(shown))


def shown_limits(limits: Limits) -> "answers.Limits":
    """Limits as they are shown; None: there is none."""
    create, dispatch = limits.create, limits.dispatch
    return {
        "jobs": limits.jobs,
        "payload_bytes": limits.payload_bytes,
        "create_rate": None if create is None else create.rate_milli / 1000,
        "create_burst": None if create is None else create.burst,
        "dispatch_rate": None if dispatch is None else dispatch.rate_milli / 1000,
        "dispatch_burst": None if dispatch is None else dispatch.burst,
    }


def _filter(request: Request) -> AuditFilter:
    return AuditFilter(
        choice(request, "action", _ACTIONS),
        single(request, "actor"),
        single(request, "target"),
        instant(request, "since"),
        instant(request, "until"),
    )


def _secret(secret: SigningSecret) -> "answers.SigningSecret":
    return {
        "id": secret.id,
        "created_at": format_instant(secret.created_at),
        "expires_at": shown_instant(secret.retires_at),
    }


def _event(event: AuditEvent) -> "answers.AuditEvent":
    actor = event.actor
    return {
        "id": event.id,
        "occurred_at": format_instant(event.occurred_at),
        "actor": {"type": actor.type, "id": actor.id},
        "action": event.action,
        "target": event.target,
        "request_id": actor.request_id,
        "operation": actor.operation,
        "changes": [{"pointer": path, "before": before, "after": after} for path, before, after in event.changes],
    }
