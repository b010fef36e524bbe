"""Uploaded payloads in S3.

`uploads/<tenant>/<reference>` is what a client has put there by a signed URL, until a lifecycle rule removes it.
`payloads/<tenant>/<job id>/<reference>` is the copy that is a job's own.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError

from carillon.adapters.aws import ask, error_code
from carillon.domain.job import StoredPayload
from carillon.domain.uploads import LONGEST_READ_MS, UPLOAD_MS
from carillon.ports.edges import Clock
from carillon.ports.errors import PayloadMissingError, UnavailableError, UploadTooLargeError
from carillon.ports.payloads import Invitation

UPLOADS: Final = "uploads/"
PAYLOADS: Final = "payloads/"

ANSWER_SECONDS: Final = 4.0
MOST_ATTEMPTS: Final = 2
MOST_READERS: Final = 10
"""Payloads read at the same time: a worker handles ten messages side by side."""

# botocore adds checksums that a signed URL would demand of every client, and checks those of answers; the length is
# checked here, and TLS does the rest.
SIGNING: Final = Config(
    signature_version="s3v4",
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
    # The region's own endpoint: the one for all regions may answer with a redirect, which would not be signed.
    s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
)

_GONE: Final = frozenset({"404", "NoSuchKey", "NotFound"})
_CHANGED: Final = frozenset({"412", "PreconditionFailed"})


class S3Payloads:
    """Uploads, and the payloads that are jobs' own; may be shared by any number of threads."""

    def __init__(self, client: Any, bucket: str, clock: Clock) -> None:
        """Prepare.

        Args:
            client: of S3, with `SIGNING`, `ANSWER_SECONDS` and `MOST_ATTEMPTS`.
            bucket: where they are.
            clock: the present.
        """
        self._client = client
        self._bucket = bucket
        self._clock = clock

    def invite(self, tenant: str, reference: str, content_type: str, size_bytes: int, now_ms: int) -> Invitation:
        """See `ports.Uploads`. Type and length are among the headers that are signed."""
        request = {
            "Bucket": self._bucket,
            "Key": _upload_key(tenant, reference),
            "ContentType": content_type,
            "ContentLength": size_bytes,
        }
        url = self._client.generate_presigned_url(
            ClientMethod="put_object", Params=request, ExpiresIn=UPLOAD_MS // 1000
        )
        return Invitation(url, content_type, now_ms + UPLOAD_MS)

    def keep(self, tenant: str, reference: str, job_id: str, most_bytes: int) -> StoredPayload | None:
        """See `ports.Uploads`. What is copied is what was looked at, whatever is uploaded meanwhile."""
        source = {"Bucket": self._bucket, "Key": _upload_key(tenant, reference)}
        try:
            found = ask(self._client.head_object, **source)
            payload = StoredPayload(reference, str(found.get("ContentType", "")), int(found["ContentLength"]))
            if payload.size_bytes > most_bytes:
                raise UploadTooLargeError
            ask(
                self._client.copy_object,
                Bucket=self._bucket,
                Key=_payload_key(tenant, job_id, reference),
                CopySource=source,
                CopySourceIfMatch=found["ETag"],
            )
        except ClientError as error:
            if error_code(error) in _GONE:
                return None
            if error_code(error) in _CHANGED:
                raise UnavailableError("the upload changed while it was copied") from error
            raise
        return payload

    def read(self, tenant: str, job_id: str, payload: StoredPayload, deadline_ms: int) -> bytes:
        """See `ports.Payloads`. A reader that is late is left behind: its client gives up by itself."""
        left_ms = min(deadline_ms - self._clock.now_ms(), LONGEST_READ_MS)
        if left_ms <= 0:
            raise UnavailableError("no time is left for the payload")
        reading = self._readers.submit(self._read, _payload_key(tenant, job_id, payload.reference), payload.size_bytes)
        try:
            return reading.result(timeout=left_ms / 1000)
        except TimeoutError as error:
            reading.cancel()
            raise UnavailableError("the payload did not come in time") from error

    def remove_all(self, tenant: str, job_id: str) -> None:
        """See `ports.Payloads`."""
        prefix = _payload_key(tenant, job_id, "")
        while found := ask(self._client.list_objects_v2, Bucket=self._bucket, Prefix=prefix).get("Contents"):
            keys = {"Objects": [{"Key": each["Key"]} for each in found], "Quiet": True}
            if ask(self._client.delete_objects, Bucket=self._bucket, Delete=keys).get("Errors"):
                raise UnavailableError("not all objects could be removed")

    @cached_property
    def _readers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(MOST_READERS, thread_name_prefix="payload")

    def _read(self, key: str, size_bytes: int) -> bytes:
        """The object, if it has the size that is known of it; no more than that is read."""
        try:
            found = ask(self._client.get_object, Bucket=self._bucket, Key=key)
            with found["Body"] as stream:
                body: bytes | None = stream.read(size_bytes) if found["ContentLength"] == size_bytes else None
        except ClientError as error:
            if error_code(error) in _GONE:
                raise PayloadMissingError("there is no such object") from error
            raise UnavailableError(error_code(error)) from error
        except HTTPClientError as error:  # while the body was read
            raise UnavailableError(type(error).__name__) from error
        if body is None or len(body) != size_bytes:
            raise PayloadMissingError("the object has another size")
        return body


def _upload_key(tenant: str, reference: str) -> str:
    return f"{UPLOADS}{tenant}/{reference}"


def _payload_key(tenant: str, job_id: str, reference: str) -> str:
    return f"{PAYLOADS}{tenant}/{job_id}/{reference}"
