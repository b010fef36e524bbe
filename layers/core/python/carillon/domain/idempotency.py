"""Requests that a client may repeat: what is kept of one under the key that the client gave it.

Kept are the instant of the request and a seed. Whoever carries the request out again, because nobody knows how far the
first try came, does so as of that instant and with the names that come of that seed. So it writes what the first try
wrote, and the stores, which recognise a repeated write, take it for the same.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from carillon.domain.identity import ulid
from carillon.domain.instants import DAY_MS

KEPT_MS = DAY_MS
LEASE_MS = 30_000
"""How long a request is taken to be under way: as long as the gateway waits for it."""

SEED_BYTES = 32
MOST_KEPT_BYTES = 384 * 1024
KEY = re.compile(r"[!-~]{1,255}", re.ASCII)
_TOKEN_CHARACTERS = 26


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What was answered."""

    status: int
    text: str | None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether it can be kept: not larger than an item, with what else there is in it."""
        return len((self.text or "").encode()) <= MOST_KEPT_BYTES


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """A request under its key. Instants in epoch ms.

    Attributes:
        fingerprint: of all that makes the request: another request under the same key is refused.
        begun_at: the instant as of which it is carried out.
        seed: of the names that it makes, hex.
        lease_until: until when somebody carries it out.
        answer: what came of it, or None while that is not known.
    """

    fingerprint: str
    begun_at: int
    seed: str
    lease_until: int
    answer: KeptAnswer | None = None

    def is_over(self, now_ms: int) -> bool:
        """Whether the key is free again."""
        return now_ms >= self.begun_at + KEPT_MS


def fingerprint_of(*parts: bytes) -> str:
    """The fingerprint of a request made of these parts."""
    return sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


class SeededIds:
    """The same names and draws for the same seed, in the order in which they are asked for."""

    def __init__(self, seed: str) -> None:
        self._seed = bytes.fromhex(seed)
        self._made = 0

    def job_id(self, now_ms: int) -> str:
        """The next job id."""
        return "job_" + ulid(now_ms, self.secret_bytes(10))

    def token(self) -> str:
        """The next token: 26 characters."""
        return ulid(int.from_bytes(self.secret_bytes(6), "big"), self.secret_bytes(10))[:_TOKEN_CHARACTERS]

    def unit(self) -> float:
        """The next draw in [0, 1)."""
        return int.from_bytes(self.secret_bytes(6), "big") / 2**48

    def secret_bytes(self, count: int) -> bytes:
        """The next bytes: at most 32."""
        self._made += 1
        return sha256(self._seed + self._made.to_bytes(4, "big")).digest()[:count]
