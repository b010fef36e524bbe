"""Time, names and figures that a test can set and read."""

from collections import Counter, defaultdict
from hashlib import sha256
from random import Random
from threading import Lock

from carillon.domain.identity import ulid


class MemoryClock:
    """A clock that stands still until it is moved. Sleeping moves it."""

    def __init__(self, now_ms: int = 1_790_000_000_000) -> None:
        self._now_ms = now_ms
        self._lock = Lock()

    def now_ms(self) -> int:
        """Where the clock stands, epoch ms."""
        return self._now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        """Move the clock on."""
        self.advance(duration_ms)

    def advance(self, duration_ms: int) -> None:
        """Move the clock on (or back, as clocks do when they are corrected)."""
        with self._lock:
            self._now_ms += duration_ms

    def set(self, now_ms: int) -> None:
        """Set the clock to an instant, epoch ms."""
        with self._lock:
            self._now_ms = now_ms


class SequentialIds:
    """Names and draws that are the same for the same seed, and that sort in the order in which they were made."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._made = 0
        self._draws = Random(seed)  # noqa: S311 - a sequence that can be repeated is the purpose
        self._lock = Lock()

    def job_id(self, now_ms: int) -> str:
        """The next job id."""
        return "job_" + ulid(now_ms, self._numbered())

    def token(self) -> str:
        """The next token: 26 characters."""
        return "T" + ulid(0, self._numbered())[1:]

    def unit(self) -> float:
        """The next draw in [0, 1)."""
        with self._lock:
            return self._draws.random()

    def secret_bytes(self, count: int) -> bytes:
        """The next bytes."""
        seed = self._numbered()
        blocks = (sha256(seed + block.to_bytes(4, "big")).digest() for block in range(count // 32 + 1))
        return b"".join(blocks)[:count]

    def _numbered(self) -> bytes:
        with self._lock:
            self._made += 1
            return (self._seed % 2**32).to_bytes(4, "big") + self._made.to_bytes(6, "big")


class RecordingMeter:
    """A meter that can be read."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.durations_ms: defaultdict[str, list[int]] = defaultdict(list)
        self._lock = Lock()

    def count(self, name: str, value: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self.counts[name] += value

    def observe_ms(self, name: str, value_ms: int) -> None:
        """Keep a duration."""
        with self._lock:
            self.durations_ms[name].append(value_ms)

    def observe_group_ms(self, name: str, group: int, value_ms: int) -> None:
        """Keep a duration of a group."""
        self.observe_ms(f"{name}:{group}", value_ms)
