"""The limits of a tenant as an item."""

import logging
from collections.abc import Mapping
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, Fields, Item, number, text
from carillon.adapters.dynamodb.writes import Write, key_of, put
from carillon.domain.limits import NO_LIMITS, BadLimitError, CreateLimit, DispatchLimit, Limits, RateLimit
from carillon.ports.errors import UnreadableItemError

logger = logging.getLogger("carillon")

_AS_SEEN: Final = f"#{k.REV} = :seen"
_NONE_YET: Final = f"attribute_not_exists(#{k.REV})"


def limits_write(table: str, tenant: str, limits: Limits, seen_rev: int) -> Write:
    """The write of a tenant's limits in place of those of a revision (0: there were none)."""
    item = key_of(*k.limit_key(tenant)) | _attributes_of(tenant, limits) | {k.REV: number(seen_rev + 1)}
    return put(table, item, _AS_SEEN, {":seen": number(seen_rev)}) if seen_rev else put(table, item, _NONE_YET)


def rev_of(item: Item | None) -> int:
    """The revision of limits."""
    return 0 if item is None else Fields(item).number_or_none(k.REV) or 0


def limits_in(item: Item | None) -> Limits:
    """The limits in an item; none when they cannot be read, which is logged."""
    read = None if item is None else limits_if_readable(item)
    return NO_LIMITS if read is None else read[1]


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


def limits_if_readable(item: Mapping[str, Attribute]) -> tuple[str, Limits] | None:
    """A tenant and its limits, or None when they cannot be read, which is logged."""
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
