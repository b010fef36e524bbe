"""The other half of a job as an item: read by the worker, listed by tenant, never in the due index."""

from typing import Any

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, packed, raw, size_of, text, texts
from carillon.adapters.dynamodb.job_items import job_id_of
from carillon.adapters.dynamodb.writes import key_of
from carillon.domain.job import (
    Completion,
    HttpTarget,
    JobSpec,
    QueueTarget,
    Revision,
    RevisionKind,
    StoredPayload,
    Target,
)
from carillon.domain.retry import Jitter, RetryPolicy

MOST_BYTES = 400 * 1024
"""DynamoDB's limit of an item."""


class ItemTooLargeError(ValueError):
    """A job does not fit into an item."""

    def __init__(self, job_id: str, size_bytes: int) -> None:
        super().__init__(f"{job_id}: {size_bytes} bytes, at most {MOST_BYTES} are allowed")
        self.size_bytes = size_bytes


def spec_key(job_id: str) -> Item:
    """The key of the other half."""
    return key_of(k.job_pk(job_id), k.SPEC_SK)


def spec_item(spec: JobSpec) -> Item:
    """The item of the other half of a job.

    Raises:
        ItemTooLargeError: its payload, headers and labels do not fit.
    """
    item = spec_key(spec.job_id) | {
        k.KIND: text(k.SPEC_KIND),
        k.TENANT: text(spec.tenant),
        k.LISTED: text(spec.job_id),
        k.LISTED_STATE: text(spec.listed_state),
        k.TARGET: packed(target_fields(spec.target)),
        k.RETRY: packed(_retry_fields(spec.retry)),
        k.REVISIONS: packed([[r.generation, r.since, r.kind] for r in spec.revisions]),
        k.REVISION: number(spec.revision),
        k.CREATED_AT: number(spec.created_at),
        k.UPDATED_AT: number(spec.updated_at),
    }
    if spec.name is not None:
        item[k.NAME] = text(spec.name)
    if spec.labels:
        item[k.LABELS] = texts(spec.labels)
    if spec.payload is not None:
        item[k.PAYLOAD] = raw(spec.payload)
    if spec.stored_payload is not None:
        stored = spec.stored_payload
        item[k.STORED_PAYLOAD] = packed([stored.reference, stored.content_type, stored.size_bytes])
    if spec.deadline_ms is not None:
        item[k.DEADLINE_MS] = number(spec.deadline_ms)
    if spec.on_failure is not None:
        item[k.ON_FAILURE] = packed(target_fields(spec.on_failure))
    if spec.state_reason is not None:
        item[k.STATE_REASON] = text(spec.state_reason)
    if (size_bytes := size_of(item)) > MOST_BYTES:
        raise ItemTooLargeError(spec.job_id, size_bytes)
    return item


def spec_of(item: Item) -> JobSpec:
    """The other half of a job in an item.

    Raises:
        UnreadableItemError: it is damaged.
    """
    fields = Fields(item)
    try:
        target = target_of(fields.unpacked(k.TARGET))
        on_failure = target_of(fields.unpacked(k.ON_FAILURE)) if fields.has(k.ON_FAILURE) else None
        retry = _retry(fields.unpacked(k.RETRY))
        revisions = tuple(_revision(*entry) for entry in fields.unpacked(k.REVISIONS))
        stored_payload = _stored(*fields.unpacked(k.STORED_PAYLOAD)) if fields.has(k.STORED_PAYLOAD) else None
    except (KeyError, TypeError, ValueError) as error:
        raise fields.unreadable("target, retry, revisions or payload are damaged") from error
    return JobSpec(
        job_id=job_id_of(fields),
        tenant=fields.text(k.TENANT),
        target=target,
        retry=retry,
        revisions=revisions,
        revision=fields.number(k.REVISION),
        created_at=fields.number(k.CREATED_AT),
        updated_at=fields.number(k.UPDATED_AT),
        name=fields.text_or_none(k.NAME),
        labels=fields.texts(k.LABELS),
        payload=fields.raw(k.PAYLOAD) if fields.has(k.PAYLOAD) else None,
        stored_payload=stored_payload,
        deadline_ms=fields.number_or_none(k.DEADLINE_MS),
        listed_state=fields.text(k.LISTED_STATE),
        state_reason=fields.text_or_none(k.STATE_REASON),
        on_failure=on_failure,
    )


def target_fields(target: Target) -> dict[str, object]:
    """A target as it is stored."""
    completion = None if target.completion is None else [target.completion.timeout_ms, target.completion.heartbeat_ms]
    if isinstance(target, QueueTarget):
        return {"queue_url": target.queue_url} | ({} if completion is None else {"completion": completion})
    fields = {
        "url": target.url,
        "method": target.method,
        "headers": target.headers,
        "timeout_ms": target.timeout_ms,
        "completion": completion,
        "cancel_url": target.cancel_url,
    }
    return {name: value for name, value in fields.items() if value is not None}


def target_of(fields: dict[str, Any]) -> Target:
    """The target that is stored so. Raises what damage raises: KeyError, TypeError or ValueError."""
    completion = _completion(*fields["completion"]) if "completion" in fields else None
    if "queue_url" in fields:
        return QueueTarget(str(fields["queue_url"]), completion)
    return HttpTarget(
        url=str(fields["url"]),
        method=str(fields["method"]),
        headers=tuple((str(name), str(value)) for name, value in fields["headers"]),
        timeout_ms=int(fields["timeout_ms"]),
        completion=completion,
        cancel_url=str(fields["cancel_url"]) if "cancel_url" in fields else None,
    )


def _completion(timeout_ms: int, heartbeat_ms: int | None) -> Completion:
    return Completion(int(timeout_ms), None if heartbeat_ms is None else int(heartbeat_ms))


def _retry_fields(retry: RetryPolicy) -> dict[str, object]:
    return {
        "max_attempts": retry.max_attempts,
        "base_ms": retry.base_ms,
        "factor": retry.factor,
        "max_delay_ms": retry.max_delay_ms,
        "jitter": retry.jitter,
        "delays_ms": retry.delays_ms,
        "retry_on": retry.retry_on,
    }


def _retry(fields: dict[str, Any]) -> RetryPolicy:
    retry_on = fields["retry_on"]
    return RetryPolicy(
        max_attempts=int(fields["max_attempts"]),
        base_ms=int(fields["base_ms"]),
        factor=float(fields["factor"]),
        max_delay_ms=int(fields["max_delay_ms"]),
        jitter=Jitter(fields["jitter"]),
        delays_ms=tuple(int(delay) for delay in fields["delays_ms"]),
        retry_on=None if retry_on is None else tuple(int(status) for status in retry_on),
    )


def _stored(reference: str, content_type: str, size_bytes: int) -> StoredPayload:
    return StoredPayload(str(reference), str(content_type), int(size_bytes))


def _revision(generation: int, since: int, kind: str) -> Revision:
    return Revision(int(generation), int(since), RevisionKind(kind))
