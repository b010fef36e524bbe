"""Uploads of payloads: leave to make one, and taking one for a job."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from carillon.application.create_job import LimitsOf, NewJob, check_payload, unlimited
from carillon.domain.job import StoredPayload
from carillon.domain.limits import NO_LIMITS, Limits
from carillon.domain.uploads import MOST_UPLOAD_BYTES, is_content_type, new_reference
from carillon.ports.edges import Ids
from carillon.ports.errors import UploadTooLargeError
from carillon.ports.payloads import Invitation, Uploads


class NoSuchUploadError(Exception):
    """The tenant has no upload of this reference that could be a job's payload."""


@dataclass(frozen=True, slots=True)
class InviteUpload:
    """Lets tenants upload. `uploads` is asked for where they are when the first one is wanted."""

    uploads: Callable[[], Uploads]
    ids: Ids
    limits_of: LimitsOf = unlimited

    def __call__(self, tenant: str, content_type: str, size_bytes: int, now_ms: int) -> tuple[str, Invitation]:
        """A new reference of the tenant, and the leave to upload under it. Nothing is stored by that.

        Raises:
            LimitReachedError: so large no payload of the tenant may be.
        """
        check_payload(self.limits_of(tenant), size_bytes, "size")
        reference = new_reference(self.ids.token())
        return reference, self.uploads().invite(tenant, reference, content_type, size_bytes, now_ms)


@dataclass(frozen=True, slots=True)
class KeepUpload:
    """Makes the upload that a wish refers to the job's own, before the job is written.

    A process that dies in between leaves an object that no job refers to. The other order could leave a job without its
    payload.
    """

    uploads: Callable[[], Uploads]

    def __call__(
        self,
        tenant: str,
        job_id: str,
        wish: NewJob,
        seen: StoredPayload | None = None,
        limits: Limits = NO_LIMITS,
    ) -> NewJob:
        """The wish with what is stored of its upload.

        Args:
            tenant: who asks.
            job_id: which job it becomes, or is.
            wish: as it was read.
            seen: what the job has so far: referred to again, it stays.
            limits: of the tenant.

        Raises:
            NoSuchUploadError: the tenant has no such upload.
            LimitReachedError: it is larger than a payload of the tenant may be.
            UnavailableError: there was no answer.
        """
        reference = wish.payload_ref
        if reference is None:
            return wish
        if seen is not None and seen.reference == reference:
            return replace(wish, stored_payload=seen)
        most = MOST_UPLOAD_BYTES if limits.payload_bytes is None else min(limits.payload_bytes, MOST_UPLOAD_BYTES)
        try:
            kept = self.uploads().keep(tenant, reference, job_id, most)
        except UploadTooLargeError as error:
            check_payload(limits, most + 1, "payload_ref")
            raise NoSuchUploadError from error
        if kept is None or not is_content_type(kept.content_type):
            raise NoSuchUploadError
        return replace(wish, stored_payload=kept)
