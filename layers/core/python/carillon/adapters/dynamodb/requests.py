"""Requests that may be repeated, in the control table. Answers are compressed: a job's may hold a large payload."""

import zlib
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, Fields, Item, number, packed, raw, text
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import ABSENT, delete, key_of, put
from carillon.domain.idempotency import KEPT_MS, IdempotencyRecord, KeptAnswer
from carillon.domain.instants import SECOND_MS

_AS_SEEN: Final = f"#{k.SEED} = :seed AND #{k.LEASE_UNTIL} = :lease"


class DynamoIdempotencyRecords:
    """Requests that may be repeated. TTL removes them after a day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, tenant: str, key: str) -> IdempotencyRecord | None:
        """The record, or None."""
        item = self._database.get(self._database.control, key_of(*k.request_key(tenant, key)))
        return None if item is None else _record_of(item)

    def put(self, tenant: str, key: str, record: IdempotencyRecord, *, seen: IdempotencyRecord | None) -> bool:
        """Write a record if the stored one is still that which was seen; a repeat of the same write succeeds."""
        condition, values = (ABSENT, None) if seen is None else (_AS_SEEN, _seen(seen))
        item = key_of(*k.request_key(tenant, key)) | _fields(record)
        written = self._database.write(put(self._database.control, item, condition, values))
        return isinstance(written, Written) or (written.old is not None and _record_of(written.old) == record)

    def forget(self, tenant: str, key: str, seen: IdempotencyRecord) -> None:
        """Remove a record that is still the one that was seen."""
        item_key = key_of(*k.request_key(tenant, key))
        self._database.write(delete(self._database.control, item_key, _AS_SEEN, _seen(seen)))


def _seen(record: IdempotencyRecord) -> dict[str, Attribute]:
    return {":seed": text(record.seed), ":lease": number(record.lease_until)}


def _fields(record: IdempotencyRecord) -> Item:
    item = {
        k.FINGERPRINT: text(record.fingerprint),
        k.BEGUN_AT: number(record.begun_at),
        k.SEED: text(record.seed),
        k.LEASE_UNTIL: number(record.lease_until),
        k.EXPIRES_AT: number((record.begun_at + KEPT_MS) // SECOND_MS),
    }
    if record.answer is not None:
        item[k.STATUS] = number(record.answer.status)
        item[k.ANSWER_HEADERS] = packed(dict(record.answer.headers))
        if record.answer.text is not None:
            item[k.ANSWER] = raw(zlib.compress(record.answer.text.encode()))
    return item


def _record_of(item: Item) -> IdempotencyRecord:
    fields = Fields(item)
    return IdempotencyRecord(
        fingerprint=fields.text(k.FINGERPRINT),
        begun_at=fields.number(k.BEGUN_AT),
        seed=fields.text(k.SEED),
        lease_until=fields.number(k.LEASE_UNTIL),
        answer=_answer_of(fields) if fields.has(k.STATUS) else None,
    )


def _answer_of(fields: Fields) -> KeptAnswer:
    text_of_answer = zlib.decompress(fields.raw(k.ANSWER)).decode() if fields.has(k.ANSWER) else None
    return KeptAnswer(fields.number(k.STATUS), text_of_answer, fields.unpacked(k.ANSWER_HEADERS))
