"""Where uploaded payloads are: for who asks for them, for who calls with them, and for who removes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from carillon.domain.job import StoredPayload


@dataclass(frozen=True, slots=True)
class Invitation:
    """Leave to upload one payload: by a PUT to this URL, with this content type, begun by then (epoch ms)."""

    url: str
    content_type: str
    expires_at: int


class Uploads(Protocol):
    """Uploads of tenants. One that no job takes is removed after a day, or a day later."""

    def invite(self, tenant: str, reference: str, content_type: str, size_bytes: int, now_ms: int) -> Invitation:
        """Let whoever has the answer upload so many bytes of this type under a tenant's reference, and nothing else."""
        ...

    def keep(self, tenant: str, reference: str, job_id: str, most_bytes: int) -> StoredPayload | None:
        """Make a copy of a tenant's upload that is a job's own, and is there as long as the job.

        Repeating it is harmless. Returns None if the tenant has no such upload.

        Raises:
            UploadTooLargeError: it is larger; nothing was copied.
            UnavailableError: there was no answer.
        """
        ...


class Payloads(Protocol):
    """Payloads that are jobs' own."""

    def read(self, tenant: str, job_id: str, payload: StoredPayload, deadline_ms: int) -> bytes:
        """The bytes, before a deadline (epoch ms).

        Raises:
            PayloadMissingError: they are gone, or are not what was stored.
            UnavailableError: there was no answer in time.
        """
        ...

    def remove_all(self, tenant: str, job_id: str) -> None:
        """Remove whatever is a job's own. Repeating it is harmless.

        Raises:
            UnavailableError: there was no answer.
        """
        ...
