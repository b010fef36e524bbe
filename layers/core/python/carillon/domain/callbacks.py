"""The requests to a target, an attempt and the word of a cancel: signed, with the run's identity beside its headers."""

import json
from collections.abc import Sequence
from dataclasses import replace

from carillon import __version__
from carillon.domain.destinations import Destinations
from carillon.domain.instants import format_instant
from carillon.domain.job import HttpTarget, JobSpec, QueueTarget
from carillon.domain.outcomes import CallRequest, SendRequest
from carillon.domain.run import Run
from carillon.domain.signing import sign


def request_of(
    run: Run, spec: JobSpec, secrets: Sequence[str], destinations: Destinations, now_ms: int
) -> CallRequest | SendRequest:
    """The request of a run's current attempt, of the kind that the job's target takes.

    Args:
        run: the run as started: its attempt number is the fencing token.
        spec: the newest definition of the job; of an uploaded payload, `payload` are the bytes that were read.
        secrets: the tenant's live signing secrets, newest first; at least one.
        destinations: where the tenant lets its jobs call.
        now_ms: the instant of sending, epoch ms: each attempt is signed anew.
    """
    identity = _identity(run, spec, secrets, now_ms)
    if isinstance(spec.target, QueueTarget):
        return _message(run, spec, spec.target, identity)
    return _callback(spec, spec.target, identity, destinations)


def _callback(
    spec: JobSpec, target: HttpTarget, identity: Sequence[tuple[str, str]], destinations: Destinations
) -> CallRequest:
    headers = [*target.headers, ("User-Agent", f"carillon/{__version__}"), *identity]
    if spec.payload is not None and not any(name.lower() == "content-type" for name, _ in target.headers):
        stored = spec.stored_payload
        headers.append(("Content-Type", "application/json" if stored is None else stored.content_type))
    return CallRequest(target.method, target.url, tuple(headers), spec.payload, destinations)


def _message(run: Run, spec: JobSpec, target: QueueTarget, identity: Sequence[tuple[str, str]]) -> SendRequest:
    """A message. In a FIFO queue the runs of a job keep their order, and an attempt after a lost answer adds none."""
    return SendRequest(
        tenant=spec.tenant,
        queue_url=target.queue_url,
        attributes=tuple(identity),
        body=(spec.payload or b"").decode(),
        group=run.key.job_id,
        deduplication=run.key.run_id,
    )


def _identity(run: Run, spec: JobSpec, secrets: Sequence[str], now_ms: int) -> list[tuple[str, str]]:
    """What names and proves an attempt: eight pairs, of the ten that a message may have."""
    return [
        ("webhook-id", run.key.run_id),
        ("webhook-timestamp", str(now_ms // 1000)),
        ("webhook-signature", sign(secrets, run.key.run_id, now_ms // 1000, spec.payload or b"")),
        ("Idempotency-Key", run.key.run_id),
        ("Carillon-Job-Id", run.key.job_id),
        ("Carillon-Attempt", str(run.attempt)),
        ("Carillon-Max-Attempts", str(run.spent + spec.retry.max_attempts)),
        ("Carillon-Scheduled-For", format_instant(run.scheduled_for)),
    ]


def completable(request: CallRequest | SendRequest, run: Run, api_url: str, token: str) -> CallRequest | SendRequest:
    """The request of an attempt that is completed later: with the address and the token to do so.

    In a FIFO queue each attempt is a message of its own: the one before holds a token that is stale by now.
    """
    means = (
        ("Carillon-Completion-Url", f"{api_url}/v1/runs/{run.key.run_id}/complete"),
        ("Carillon-Completion-Token", token),
    )
    if isinstance(request, SendRequest):
        deduplication = f"{request.deduplication}#{run.attempt}"
        return replace(request, attributes=(*request.attributes, *means), deduplication=deduplication)
    return replace(request, headers=(*request.headers, *means))


def cancel_notice(
    run: Run, target: HttpTarget, secrets: Sequence[str], destinations: Destinations, now_ms: int
) -> CallRequest:
    """The request that tells a target of the cancel of a run. Arguments as for `request_of`.

    Its `webhook-id` is its own: to a receiver that drops what it has seen, this must not be the callback again.
    """
    message_id = f"cancel_{run.key.run_id}"
    body = json.dumps(
        {
            "type": "run.cancelled",
            "run_id": run.key.run_id,
            "job_id": run.key.job_id,
            "attempt": run.attempt,
            "scheduled_for": format_instant(run.scheduled_for),
        }
    ).encode()
    headers = [
        *((name, value) for name, value in target.headers if name.lower() != "content-type"),
        ("User-Agent", f"carillon/{__version__}"),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(now_ms // 1000)),
        ("webhook-signature", sign(secrets, message_id, now_ms // 1000, body)),
        ("Idempotency-Key", message_id),
        ("Carillon-Job-Id", run.key.job_id),
        ("Carillon-Run-Id", run.key.run_id),
        ("Carillon-Attempt", str(run.attempt)),
        ("Carillon-Scheduled-For", format_instant(run.scheduled_for)),
        ("Content-Type", "application/json"),
    ]
    return CallRequest("POST", target.cancel_url or "", tuple(headers), body, destinations)
