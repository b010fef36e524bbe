"""Challenges: how a destination shows that it wants the calls of a tenant.

A challenge is a run of its own, beside those of jobs, as a notice is. It is signed like a callback and carries a token.
Who answers with that token, and nothing else, has read what was sent and agrees. A page that repeats its input has not.
"""

import json
from dataclasses import dataclass

from carillon.domain.destinations import Destination
from carillon.domain.identity import RunKey
from carillon.domain.job import Definition, HttpTarget, Job, JobSpec, JobState, Lane, Priority
from carillon.domain.outcomes import Outcome
from carillon.domain.retry import RetryPolicy
from carillon.domain.run import Run, RunState

KIND = "destination.verification"
NOT_ECHOED = "challenge_not_echoed"
RETRY = RetryPolicy(max_attempts=3, base_ms=1_000, factor=5.0, max_delay_ms=10_000)
"""Within half a minute: somebody waits for it, and can ask again."""

TIMEOUT_MS = 10_000


@dataclass(frozen=True, slots=True)
class Challenge:
    """What is asked: of which destination (and when that was registered, epoch ms), at which URL, with which token."""

    destination_id: str
    registered_at: int
    url: str
    token: str


def challenge_of(tenant: str, key: RunKey, challenge: Challenge, *, shard: int, now_ms: int) -> Run:
    """The run that asks, as its record begins: due at once."""
    return Run(
        key=key,
        tenant=tenant,
        state=RunState.QUEUED,
        scheduled_for=now_ms,
        generation=0,
        priority=Priority.HIGH,
        lane=Lane.SHORT,
        shard=shard,
        created_at=now_ms,
        wait=1,
        next_fire_time=now_ms,
        body=_body(challenge),
    )


def challenge_in(run: Run) -> Challenge:
    """What a run asks.

    Raises:
        ValueError: its body is damaged.
    """
    try:
        told = json.loads(run.body or b"")
        return Challenge(told["destination_id"], int(told["registered_at_ms"]), told["url"], told["challenge"])
    except (KeyError, TypeError) as error:
        raise ValueError("the body of a challenge is damaged") from error


def as_challenge(run: Run) -> Definition:
    """A job as a challenge runs by it: there is none, and of one it needs no more than its target and retries."""
    job = Job(
        id=run.key.job_id,
        tenant=run.tenant,
        state=JobState.SCHEDULED,
        schedule="",
        rules="",
        shard=run.shard,
        lane=run.lane,
        priority=run.priority,
        version=0,
        generation=run.generation,
        created_at=run.created_at,
        scheduled_for=None,
        next_fire_time=None,
    )
    target = HttpTarget(challenge_in(run).url, timeout_ms=TIMEOUT_MS)
    at_ms = run.created_at
    return Definition(job, JobSpec(job.id, job.tenant, target, RETRY, (), 0, at_ms, at_ms, payload=run.body))


def is_echoed(challenge: Challenge, outcome: Outcome) -> bool:
    """Whether an answer is the token alone, blanks around it aside."""
    return not outcome.truncated and outcome.excerpt.strip() == challenge.token


def may_speak_for(destination: Destination, host: str) -> bool:
    """Whether a host may answer for a destination: for a suffix only the suffix itself.

    Who holds one name below a suffix need not hold the others.
    """
    return host == destination.name


def _body(challenge: Challenge) -> bytes:
    told = {
        "type": KIND,
        "challenge": challenge.token,
        "destination_id": challenge.destination_id,
        "registered_at_ms": challenge.registered_at,
        "url": challenge.url,
    }
    return json.dumps(told).encode()
