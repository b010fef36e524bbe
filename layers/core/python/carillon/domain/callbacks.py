"""The request of one attempt: the tenant's headers and payload, signed, with the run's identity beside them."""

from collections.abc import Sequence

from carillon import __version__
from carillon.domain.destinations import Destinations
from carillon.domain.instants import format_instant
from carillon.domain.job import JobSpec
from carillon.domain.outcomes import CallRequest
from carillon.domain.run import Run
from carillon.domain.signing import sign


def callback(run: Run, spec: JobSpec, secrets: Sequence[str], destinations: Destinations, now_ms: int) -> CallRequest:
    """The request of a run's current attempt.

    Args:
        run: the run as started: its attempt number is the fencing token.
        spec: the newest definition of the job.
        secrets: the tenant's live signing secrets, newest first; at least one.
        destinations: where the tenant lets its jobs call.
        now_ms: the instant of sending, epoch ms: each attempt is signed anew.
    """
    body = spec.payload
    headers = [
        *spec.target.headers,
        ("User-Agent", f"carillon/{__version__}"),
        ("webhook-id", run.key.run_id),
        ("webhook-timestamp", str(now_ms // 1000)),
        ("webhook-signature", sign(secrets, run.key.run_id, now_ms // 1000, body or b"")),
        ("Idempotency-Key", run.key.run_id),
        ("Carillon-Job-Id", run.key.job_id),
        ("Carillon-Attempt", str(run.attempt)),
        ("Carillon-Max-Attempts", str(run.spent + spec.retry.max_attempts)),
        ("Carillon-Scheduled-For", format_instant(run.scheduled_for)),
    ]
    if body is not None and not any(name.lower() == "content-type" for name, _ in spec.target.headers):
        headers.append(("Content-Type", "application/json"))
    return CallRequest(spec.target.method, spec.target.url, tuple(headers), body, destinations)
