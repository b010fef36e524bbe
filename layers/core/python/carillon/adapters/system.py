"""The real clock and the real randomness. Nothing else reads them."""

import secrets
import time
from base64 import b32encode
from random import SystemRandom
from typing import Final

from carillon.domain.identity import CROCKFORD, ulid

TOKEN_CHARACTERS: Final = 26
_RANDOM: Final = SystemRandom()
_TO_CROCKFORD: Final = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", CROCKFORD.encode())


class SystemClock:
    """The clock of the host."""

    def now_ms(self) -> int:
        """The present, epoch ms."""
        return time.time_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Let so much time pass."""
        time.sleep(max(duration_ms, 0) / 1000)


class SystemIds:
    """Names from the operating system's randomness."""

    def job_id(self, now_ms: int) -> str:
        """A new job id: a ULID, so that ids sort by the time of creation."""
        return "job_" + ulid(now_ms, secrets.token_bytes(10))

    def token(self) -> str:
        """A new unguessable name: 130 random bits in 26 of Crockford's characters. Each claim takes one."""
        return b32encode(secrets.token_bytes(20)).translate(_TO_CROCKFORD)[:TOKEN_CHARACTERS].decode()

    def unit(self) -> float:
        """A draw in [0, 1)."""
        return _RANDOM.random()

    def secret_bytes(self, count: int) -> bytes:
        """Random bytes fit for keys."""
        return secrets.token_bytes(count)
