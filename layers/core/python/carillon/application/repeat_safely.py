"""Carrying a request out once, however often a client repeats it under the same key."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from carillon.domain.idempotency import LEASE_MS, SEED_BYTES, IdempotencyRecord, KeptAnswer, SeededIds
from carillon.ports.edges import Ids
from carillon.ports.errors import UnavailableError
from carillon.ports.tenancy import IdempotencyRecords

_MOST_TRIES = 4


class RequestInFlightError(Exception):
    """A request of this key is being carried out; it may take so many ms more."""

    def __init__(self, wait_ms: int) -> None:
        super().__init__("the first request is under way")
        self.wait_ms = wait_ms


class OtherRequestError(Exception):
    """The key belongs to another request."""


@dataclass(frozen=True, slots=True)
class Turn:
    """As of when a request is carried out, and with which names. `is_again`: an earlier try may have come through."""

    now_ms: int
    ids: Ids
    is_again: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """The answer of an earlier request."""

    answer: KeptAnswer


@dataclass(frozen=True, slots=True)
class RepeatSafely:
    """Carries requests out once a key."""

    records: IdempotencyRecords
    ids: Ids

    def __call__(
        self,
        tenant: str,
        key: str,
        fingerprint: str,
        now_ms: int,
        act: Callable[[Turn], KeptAnswer],
        *,
        is_refusal: Callable[[Exception], bool],
    ) -> KeptAnswer | Replayed:
        """Carry a request out, or give the answer of the first one.

        Args:
            tenant: who asks.
            key: under which the request may be repeated.
            fingerprint: of the whole request.
            now_ms: the present, epoch ms.
            act: carries it out.
            is_refusal: whether what `act` raised says that nothing was done: then the key is free again.

        Raises:
            RequestInFlightError: somebody is at it.
            OtherRequestError: the key belongs to another request.
            Exception: what `act` raises.
        """
        record, is_again = self._begun(tenant, key, fingerprint, now_ms)
        if record.answer is not None:
            return Replayed(record.answer)
        try:
            answer = act(Turn(record.begun_at, SeededIds(record.seed), is_again))
        except Exception as error:
            if is_refusal(error):
                self.records.forget(tenant, key, record)
            else:
                self.records.put(tenant, key, replace(record, lease_until=now_ms), seen=record)
            raise
        # What is too large to be kept is carried out again by whoever repeats it, which comes to the same.
        kept = answer if answer.fits else None
        self.records.put(tenant, key, replace(record, answer=kept, lease_until=now_ms), seen=record)
        return answer

    def _begun(self, tenant: str, key: str, fingerprint: str, now_ms: int) -> tuple[IdempotencyRecord, bool]:
        """The record to go by, and whether somebody has tried before us."""
        fresh = IdempotencyRecord(fingerprint, now_ms, self.ids.secret_bytes(SEED_BYTES).hex(), now_ms + LEASE_MS)
        for _ in range(_MOST_TRIES):
            seen = self.records.get(tenant, key)
            if seen is None or seen.is_over(now_ms):
                if self.records.put(tenant, key, fresh, seen=seen):
                    return fresh, False
                continue
            if seen.fingerprint != fingerprint:
                raise OtherRequestError
            if seen.answer is not None:
                return seen, True
            if seen.lease_until > now_ms:
                raise RequestInFlightError(seen.lease_until - now_ms)
            taken = replace(seen, lease_until=now_ms + LEASE_MS)
            if self.records.put(tenant, key, taken, seen=seen):
                return taken, True
        raise UnavailableError("the key is in use")
