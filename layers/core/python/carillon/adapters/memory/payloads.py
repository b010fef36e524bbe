"""Uploaded payloads in memory."""

from dataclasses import dataclass, field

from carillon.domain.job import StoredPayload
from carillon.domain.uploads import UPLOAD_MS
from carillon.ports.errors import PayloadMissingError, UnavailableError, UploadTooLargeError
from carillon.ports.payloads import Invitation

Stored = tuple[str, bytes]


@dataclass(slots=True)
class MemoryPayloads:
    """Uploads, and the payloads that are jobs' own. `is_down`: nothing is answered."""

    uploads: dict[tuple[str, str], Stored] = field(default_factory=dict)
    payloads: dict[tuple[str, str, str], Stored] = field(default_factory=dict)
    is_down: bool = False

    def invite(self, tenant: str, reference: str, content_type: str, size_bytes: int, now_ms: int) -> Invitation:
        """See `ports.Uploads`."""
        url = f"https://uploads.carillon.dev/{tenant}/{reference}?size={size_bytes}"
        return Invitation(url, content_type, now_ms + UPLOAD_MS)

    def upload(self, tenant: str, reference: str, content_type: str, body: bytes) -> None:
        """What a client does by the URL."""
        self.uploads[tenant, reference] = (content_type, body)

    def keep(self, tenant: str, reference: str, job_id: str, most_bytes: int) -> StoredPayload | None:
        """See `ports.Uploads`."""
        self._answer()
        upload = self.uploads.get((tenant, reference))
        if upload is None:
            return None
        if len(upload[1]) > most_bytes:
            raise UploadTooLargeError
        self.payloads[tenant, job_id, reference] = upload
        return StoredPayload(reference, upload[0], len(upload[1]))

    def read(self, tenant: str, job_id: str, payload: StoredPayload, deadline_ms: int) -> bytes:
        """See `ports.Payloads`."""
        del deadline_ms
        self._answer()
        found = self.payloads.get((tenant, job_id, payload.reference))
        if found is None or len(found[1]) != payload.size_bytes:
            raise PayloadMissingError("there is no such object")
        return found[1]

    def remove_all(self, tenant: str, job_id: str) -> None:
        """See `ports.Payloads`."""
        self._answer()
        for key in [key for key in self.payloads if key[:2] == (tenant, job_id)]:
            del self.payloads[key]

    def _answer(self) -> None:
        if self.is_down:
            raise UnavailableError("down")
