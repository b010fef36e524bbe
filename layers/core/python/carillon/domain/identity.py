"""Names of jobs and runs, and the shard that a job lives in.

A job id is `job_` and a ULID. A run id is `<job id>@<name>`, where the name is the nominal time in UTC to the
millisecond (`20261012T023000000Z`), with `~` and four characters behind it for a manual run. A run id holds no dot,
because it is the `webhook-id` and a dot separates what is signed.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from carillon.domain.instants import format_compact, parse_compact

JOB_ID = re.compile(r"job_[0-7][0-9A-HJKMNP-TV-Z]{25}", re.ASCII)
RUN_NAME = re.compile(r"([0-9]{8}T[0-9]{9}Z)(~[0-9A-HJKMNP-TV-Z]{4})?", re.ASCII)
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
MOST_SHARDS = 4096


class BadIdentityError(ValueError):
    """The text is not an id of the kind asked for."""


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """The identity of a run: its job and its name within the job."""

    job_id: str
    name: str

    @property
    def run_id(self) -> str:
        """The public id, which is also the `webhook-id` and the idempotency key of every attempt."""
        return f"{self.job_id}@{self.name}"

    @property
    def scheduled_for(self) -> int:
        """The nominal time, epoch ms."""
        return parse_compact(self.name.partition("~")[0])

    @property
    def is_manual(self) -> bool:
        """Whether a person asked for the run: such a run ignores pause, misfire and deadline."""
        return "~" in self.name

    @classmethod
    def of(cls, job_id: str, scheduled_for: int) -> "RunKey":
        """The key of the run of a nominal time (epoch ms)."""
        return cls(job_id, format_compact(scheduled_for))

    @classmethod
    def manual(cls, job_id: str, asked_at: int, suffix: str) -> "RunKey":
        """The key of a run that was asked for at an instant (epoch ms); `suffix`: four characters of Crockford's."""
        return cls(job_id, f"{format_compact(asked_at)}~{suffix}")

    @classmethod
    def parse(cls, run_id: str) -> "RunKey":
        """The key in a public run id.

        Raises:
            BadIdentityError: it is not a run id.
        """
        job_id, _, name = run_id.partition("@")
        if not is_job_id(job_id):
            raise BadIdentityError("not a run id: expected <job id>@<nominal time>")
        return cls.from_parts(job_id, name)

    @classmethod
    def from_parts(cls, job_id: str, name: str) -> "RunKey":
        """The key of a job's run by its name.

        Raises:
            BadIdentityError: the name is not a nominal time, with or without a manual run's suffix.
        """
        match = RUN_NAME.fullmatch(name)
        if not match:
            raise BadIdentityError("not a run name: expected YYYYMMDDTHHMMSSmmmZ")
        try:
            parse_compact(match[1])
        except ValueError as error:
            raise BadIdentityError("not a run name: no such time") from error
        return cls(job_id, name)


def is_job_id(text: str) -> bool:
    """Whether the text has the form of a job id."""
    return JOB_ID.fullmatch(text) is not None


def ulid(now_ms: int, randomness: bytes) -> str:
    """A ULID (26 characters of Crockford's base 32): 48 bits of time, 80 bits of randomness.

    Source: github.com/ulid/spec.
    """
    number = (now_ms << 80) | int.from_bytes(randomness[:10], "big")
    return "".join(CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def shard_of(job_id: str, shards: int) -> int:
    """The shard of a job: the first four bytes of SHA-256 of its id, modulo the count of shards at its creation."""
    return int.from_bytes(sha256(job_id.encode()).digest()[:4], "big") % shards
