"""Names of jobs and runs, and the shard that a job lives in.

A job id is `job_` and a ULID. A run id is `<job id>@<name>`, where the name is the nominal time in UTC to the
millisecond (`20261012T023000000Z`). Behind it stand `~` and four characters for a manual run, `_f` and a number for
the notice that a run has failed, and `_v` and a number where a destination is asked whether it wants to be called. A
run id holds no dot, because it is the `webhook-id` and a dot separates what is signed.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from carillon.domain.instants import format_compact, parse_compact

ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.ASCII)
JOB_ID = re.compile(rf"job_{ULID.pattern}", re.ASCII)
RUN_NAME = re.compile(r"([0-9]{8}T[0-9]{9}Z)(~[0-9A-HJKMNP-TV-Z]{4})?(_[fv][1-9][0-9]{0,8})?", re.ASCII)
NOTICE_MARK, CHALLENGE_MARK = "_f", "_v"
_ASIDE = "_"
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
        return parse_compact(self._names_run.partition("~")[0])

    @property
    def is_manual(self) -> bool:
        """Whether a person asked for the run: such a run ignores pause, misfire and deadline."""
        return "~" in self.name

    @property
    def is_aside(self) -> bool:
        """Whether it is no run of its job: a notice or a challenge."""
        return is_aside_name(self.name)

    @property
    def is_notice(self) -> bool:
        """Whether the run tells of another run's failure."""
        return NOTICE_MARK in self.name

    @property
    def is_challenge(self) -> bool:
        """Whether the run asks a destination whether it wants to be called."""
        return CHALLENGE_MARK in self.name

    @property
    def tells_of(self) -> "RunKey":
        """The run that a notice tells of; of any other run, the run itself."""
        return RunKey(self.job_id, self._names_run)

    @property
    def _names_run(self) -> str:
        return self.name.partition(_ASIDE)[0]

    def notice(self, rev: int) -> "RunKey":
        """The key of the notice of this run's end, by the rev with which it ended: it may end again, redriven."""
        return RunKey(self.job_id, f"{self.name}{NOTICE_MARK}{rev}")

    def challenge(self) -> "RunKey":
        """The key of a challenge that is due at the time of this run."""
        return RunKey(self.job_id, f"{self.name}{CHALLENGE_MARK}1")

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
            BadIdentityError: the name is not a nominal time, with or without the suffixes of manual runs and notices.
        """
        match = RUN_NAME.fullmatch(name)
        if not match:
            raise BadIdentityError("not a run name: expected YYYYMMDDTHHMMSSmmmZ")
        try:
            parse_compact(match[1])
        except ValueError as error:
            raise BadIdentityError("not a run name: no such time") from error
        return cls(job_id, name)


def is_aside_name(name: str) -> bool:
    """Whether the name is of a notice or a challenge, which are no runs of their job."""
    return _ASIDE in name


def is_job_id(text: str) -> bool:
    """Whether the text has the form of a job id."""
    return JOB_ID.fullmatch(text) is not None


def is_ulid(text: str) -> bool:
    """Whether the text has the form of a ULID, of which ids are made."""
    return ULID.fullmatch(text) is not None


def ulid(now_ms: int, randomness: bytes) -> str:
    """A ULID (26 characters of Crockford's base 32): 48 bits of time, 80 bits of randomness.

    Source: github.com/ulid/spec.
    """
    number = (now_ms << 80) | int.from_bytes(randomness[:10], "big")
    return "".join(CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def shard_of(job_id: str, shards: int) -> int:
    """The shard of a job: the first four bytes of SHA-256 of its id, modulo the count of shards at its creation."""
    return int.from_bytes(sha256(job_id.encode()).digest()[:4], "big") % shards
