"""Uploaded payloads: what was put comes back to the byte, for the tenant and the job that it belongs to."""

from dataclasses import replace

import pytest

from carillon.domain.job import StoredPayload
from carillon.domain.uploads import MOST_UPLOAD_BYTES
from carillon.ports.errors import PayloadMissingError, UnavailableError, UploadTooLargeError
from contract.backends import PayloadsUnderTest

TENANT, OTHER = "acme", "globex"
REF = "pay_" + "A" * 26
JOB, OTHER_JOB = "job_" + "0" * 26, "job_" + "1" * 26
BYTES = bytes(range(256)) + b"\r\n\x00"


def kept(payloads: PayloadsUnderTest, body: bytes = BYTES, content_type: str = "image/png") -> StoredPayload:
    """An upload that has become a job's own."""
    payloads.upload(TENANT, REF, content_type, body)
    found = payloads.store.keep(TENANT, REF, JOB, MOST_UPLOAD_BYTES)
    assert found is not None
    return found


def read(payloads: PayloadsUnderTest, payload: StoredPayload, tenant: str = TENANT, job: str = JOB) -> bytes:
    """What a worker reads."""
    return payloads.store.read(tenant, job, payload, payloads.clock.now_ms() + 10_000)


@pytest.mark.parametrize("content_type", ["image/png", "text/csv; charset=utf-8", 'a/b; c="d e"'])
def test_bytes_and_type_come_back(payloads: PayloadsUnderTest, content_type: str) -> None:
    """No byte is changed, and the type is told as it was said."""
    payload = kept(payloads, content_type=content_type)
    assert payload == StoredPayload(REF, content_type, len(BYTES))
    assert read(payloads, payload) == BYTES


def test_the_largest_payload(payloads: PayloadsUnderTest) -> None:
    """It fits to the byte; one byte more is not taken."""
    body = b"\xff" * MOST_UPLOAD_BYTES
    assert read(payloads, kept(payloads, body)) == body
    with pytest.raises(UploadTooLargeError):
        payloads.store.keep(TENANT, REF, OTHER_JOB, MOST_UPLOAD_BYTES - 1)
    assert len(payloads.kept()) == 1


def test_what_was_not_uploaded_is_not_kept(payloads: PayloadsUnderTest) -> None:
    """Neither a reference under which nothing was put, nor one of another tenant."""
    assert payloads.store.keep(TENANT, REF, JOB, MOST_UPLOAD_BYTES) is None
    payloads.upload(OTHER, REF, "image/png", BYTES)
    assert payloads.store.keep(TENANT, REF, JOB, MOST_UPLOAD_BYTES) is None
    assert payloads.kept() == set()


def test_a_copy_does_not_change(payloads: PayloadsUnderTest) -> None:
    """What is uploaded under the reference later is another thing, until it is kept again."""
    payload = kept(payloads)
    payloads.upload(TENANT, REF, "text/plain", b"another")
    assert read(payloads, payload) == BYTES


def test_keeping_again_changes_nothing(payloads: PayloadsUnderTest) -> None:
    """A repeated request copies the same to the same place."""
    payload = kept(payloads)
    assert payloads.store.keep(TENANT, REF, JOB, MOST_UPLOAD_BYTES) == payload
    assert payloads.kept() == {f"payloads/{TENANT}/{JOB}/{REF}"}


def test_a_payload_belongs_to_its_job(payloads: PayloadsUnderTest) -> None:
    """Another job, or another tenant, finds nothing under the same reference."""
    payload = kept(payloads)
    for tenant, job in ((TENANT, OTHER_JOB), (OTHER, JOB)):
        with pytest.raises(PayloadMissingError):
            read(payloads, payload, tenant, job)


@pytest.mark.parametrize("size_bytes", [len(BYTES) - 1, len(BYTES) + 1, 0])
def test_another_size_is_another_thing(payloads: PayloadsUnderTest, size_bytes: int) -> None:
    """What is not as long as it was is not sent: it would be signed as if it were right."""
    with pytest.raises(PayloadMissingError):
        read(payloads, replace(kept(payloads), size_bytes=size_bytes))


def test_everything_of_a_job_is_removed(payloads: PayloadsUnderTest) -> None:
    """All of its payloads, none of its neighbours', also if it is done again."""
    payload = kept(payloads)
    for number in range(3):
        reference = "pay_" + str(number) * 26
        payloads.upload(TENANT, reference, "image/png", BYTES)
        assert payloads.store.keep(TENANT, reference, JOB, MOST_UPLOAD_BYTES)
    assert payloads.store.keep(TENANT, REF, OTHER_JOB, MOST_UPLOAD_BYTES) == payload
    for _ in range(2):
        payloads.store.remove_all(TENANT, JOB)
        assert payloads.kept() == {f"payloads/{TENANT}/{OTHER_JOB}/{REF}"}
    with pytest.raises(PayloadMissingError):
        read(payloads, payload)
    assert read(payloads, payload, job=OTHER_JOB) == BYTES


def test_who_never_uploaded_has_nothing_to_remove(payloads: PayloadsUnderTest) -> None:
    """It is no error."""
    payloads.store.remove_all(TENANT, JOB)


@pytest.mark.parametrize("world", ["moto"])
def test_a_read_ends_with_the_time_that_is_left(payloads: PayloadsUnderTest) -> None:
    """A deadline that is over leaves no time for a read, whatever the client would wait for."""
    payload = kept(payloads)
    with pytest.raises(UnavailableError):
        payloads.store.read(TENANT, JOB, payload, payloads.clock.now_ms() - 1)
