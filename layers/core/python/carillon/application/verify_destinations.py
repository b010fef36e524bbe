"""The verification of destinations: asked for by the API, made by a worker.

The API calls nobody: it leaves a run that is due, and a worker makes the call as it makes every other.
"""

from dataclasses import dataclass

from carillon.application.create_job import ShardCount
from carillon.application.destinations import DestinationNotFoundError
from carillon.domain.audit import CARILLON, Action, Actor, told
from carillon.domain.challenges import Challenge, challenge_of, may_speak_for
from carillon.domain.completions import TOKEN_BYTES, new_token
from carillon.domain.identity import RunKey, shard_of
from carillon.domain.run import Run
from carillon.ports.edges import Ids
from carillon.ports.runs import RunStore
from carillon.ports.tenancy import DestinationStore


class WrongHostError(Exception):
    """The host of the URL cannot answer for the destination: `expected` is the one that can."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


@dataclass(frozen=True, slots=True)
class AskDestination:
    """Leaves a run that asks a destination."""

    destinations: DestinationStore
    runs: RunStore
    shards: ShardCount
    ids: Ids

    def __call__(self, tenant: str, destination_id: str, url: str, host: str, now_ms: int, by: Actor = CARILLON) -> Run:
        """Have a URL of a destination asked; `host`: of the URL, in lower case, without a trailing dot.

        Raises:
            DestinationNotFoundError: the tenant has no such destination.
            WrongHostError: the host cannot answer for it.
        """
        found = self.destinations.of(tenant).find(destination_id)
        if found is None:
            raise DestinationNotFoundError(destination_id)
        if not may_speak_for(found, host):
            raise WrongHostError(found.name)
        token = new_token(self.ids.secret_bytes(TOKEN_BYTES))
        challenge = Challenge(found.id, found.created_at, url, token)
        job_id = self.ids.job_id(now_ms)
        shard = shard_of(job_id, self.shards.in_force())
        run = challenge_of(tenant, RunKey.of(job_id, now_ms).challenge(), challenge, shard=shard, now_ms=now_ms)
        run_id = run.key.run_id
        event = told(Action.DESTINATION_ASKED, found.id, now_ms, tenant, by, [("/run", None, run_id)], of=run_id)
        self.runs.save(run, seen=None, event=event)
        return run
