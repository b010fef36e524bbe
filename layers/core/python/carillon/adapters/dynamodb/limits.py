"""Limits of tenants in the control table."""

import logging
from collections.abc import Mapping
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, Fields, Item, number, text
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import delete, key_of, put
from carillon.domain.audit import AuditEvent
from carillon.domain.limits import NO_LIMITS, BadLimitError, CreateLimit, DispatchLimit, Limits, RateLimit
from carillon.ports.errors import UnreadableItemError

logger = logging.getLogger("carillon")

_LIMITS: Final = f"#{k.PK} = :pk"
_ANY: Final = f"attribute_exists(#{k.PK})"
_ALWAYS: Final = f"attribute_not_exists(#{k.PK}) OR {_ANY}"


class DynamoTenantLimits:
    """The limits of those tenants that have some: a partition of their own, so that one query reads them all."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> Mapping[str, Limits]:
        """The limits of every tenant that has some. Those that cannot be read are left out, and logged."""
        values = {":pk": text(k.LIMITS_PK)}
        items = (item for page in self._database.query(self._database.control, _LIMITS, values) for item in page)
        return dict(read for read in map(_limits_if_readable, items) if read)

    def of(self, tenant: str) -> Limits:
        """The limits of a tenant; none when they cannot be read, which is logged."""
        item = self._database.get(self._database.control, key_of(*k.limit_key(tenant)))
        read = None if item is None else _limits_if_readable(item)
        return NO_LIMITS if read is None else read[1]

    def set(self, tenant: str, limits: Limits, event: AuditEvent | None = None) -> None:
        """Give a tenant limits in place of those it has, with the event of it."""
        key, table = key_of(*k.limit_key(tenant)), self._database.control
        change = put(table, key | _attributes_of(tenant, limits), _ALWAYS)
        if limits == NO_LIMITS:
            change = delete(table, key, _ANY)
        self._database.write_with(change, telling(self._database, event))


def _attributes_of(tenant: str, limits: Limits) -> Item:
    attributes = {
        **_rate_attributes(limits.dispatch, k.RATE_MILLI, k.BURST),
        **_rate_attributes(limits.create, k.CREATE_RATE_MILLI, k.CREATE_BURST),
        k.MOST_JOBS: limits.jobs,
        k.PAYLOAD_BYTES: limits.payload_bytes,
    }
    return {k.TENANT: text(tenant), **{name: number(value) for name, value in attributes.items() if value is not None}}


def _rate_attributes(limit: RateLimit | None, rate: str, burst: str) -> dict[str, int]:
    return {} if limit is None else {rate: limit.rate_milli, burst: limit.burst}


def _limits_if_readable(item: Mapping[str, Attribute]) -> tuple[str, Limits] | None:
    fields = Fields(item)
    try:
        return fields.text(k.TENANT), _limits_in(fields)
    except (UnreadableItemError, BadLimitError) as error:
        logger.error("limit unreadable", extra={"action": "limit_unreadable", "why": str(error)})  # noqa: TRY400 - the trace says no more
        return None


def _limits_in(fields: Fields) -> Limits:
    return Limits(
        dispatch=DispatchLimit(fields.number(k.RATE_MILLI), fields.number(k.BURST))
        if fields.has(k.RATE_MILLI)
        else None,
        create=CreateLimit(fields.number(k.CREATE_RATE_MILLI), fields.number(k.CREATE_BURST))
        if fields.has(k.CREATE_RATE_MILLI)
        else None,
        jobs=fields.number_or_none(k.MOST_JOBS),
        payload_bytes=fields.number_or_none(k.PAYLOAD_BYTES),
    )
