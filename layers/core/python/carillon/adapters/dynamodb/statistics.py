"""Counts of runs by the hour, in the control table.

A portion of endings is counted in one transaction with the item that remembers it. That one is named by the first
event of the portion, and lists them all: so what is told again, longer or shorter than before, is known. An hour of a
tenant may have several items, which only add up: many full batches at once would keep coming into each other's way.
"""

from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, raw, text
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import ABSENT, ALWAYS, Write, key_of, put, update
from carillon.domain.instants import HOUR_MS
from carillon.domain.run import RunState
from carillon.domain.statistics import KEPT_MS, Ending, Tally, Told, Window, tally, total_of

MOST_HOURS_AT_ONCE: Final = 90
"""Of how many tenants and hours one transaction counts: it may have 100 items."""

SPREAD_FROM: Final = 200
"""From so many endings on, a batch counts in an item of its own choice among those of an hour."""

SLICES: Final = 8

SEEN_KEPT_MS: Final = 3 * 24 * HOUR_MS
"""Longer than the stream keeps what it tells."""

_DIGEST_BYTES: Final = 9
"""72 bits: enough to tell apart all that ends within those days."""

_OF_WINDOW: Final = f"#{k.PK} = :pk AND #{k.SK} BETWEEN :first AND :last"

_SEPARATOR: Final = "__"
_RUNS, _LATE = "runs", "late"

Group = tuple[str, int]
"""A tenant, and the beginning of an hour (epoch ms)."""


class DynamoStatistics:
    """Counts of runs that have ended."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, told: Sequence[Told]) -> None:
        """Count endings, each once however often it is told of."""
        mine = int.from_bytes(_digest(told[0]), "big") % SLICES if len(told) >= SPREAD_FROM else 0
        while told:
            portion = _portion(told)
            events = [_digest(one) for one in portion]
            known = self._count(portion, events, mine)
            told = told[len(portion) :] if known is None else self._behind(told, known)

    def _count(self, portion: Sequence[Told], events: Sequence[bytes], mine: int) -> Sequence[bytes] | None:
        """Count a portion, and remember it; or what was counted with the first of it before."""
        groups: defaultdict[Group, list[Ending]] = defaultdict(list)
        for one in portion:
            groups[one.ending.tenant, one.ending.hour].append(one.ending)
        adding = [self._adding(group, tally(endings), mine) for group, endings in groups.items()]
        latest = max(one.ending.ended_at for one in portion)
        cancelled = self._database.transact([self._remembering(events, latest), *adding])
        return None if cancelled is None else _events_in(cancelled.failed[0])

    def _behind(self, told: Sequence[Told], known: Sequence[bytes]) -> Sequence[Told]:
        """What is told beyond what is known. What is known beyond that will be told next, and must be known then."""
        events = [_digest(one) for one in told]
        counted = set(known)
        unheard = known[known.index(last) + 1 :] if (last := events[-1]) in counted else ()
        if unheard:
            self._database.write(self._remembering(unheard, told[-1].ending.ended_at))
        return [one for one, event in zip(told, events, strict=True) if event not in counted]

    def _remembering(self, events: Sequence[bytes], now_ms: int) -> Write:
        name = urlsafe_b64encode(events[0]).decode()
        kept = {k.EVENTS: raw(b"".join(events)), k.EXPIRES_AT: number((now_ms + SEEN_KEPT_MS) // 1000)}
        return put(self._database.control, key_of(*k.told_key(name)) | kept, ABSENT)

    def _adding(self, group: Group, counts: Tally, mine: int) -> Write:
        tenant, hour = group
        added = _attributes_of(counts)
        adding = ", ".join(f"#{name} :{name}" for name in added)
        values = {f":{name}": number(many) for name, many in added.items()}
        values |= {":until": number((hour + KEPT_MS) // 1000)}
        key = key_of(*k.hour_key(tenant, hour // HOUR_MS, mine))
        return update(self._database.control, key, f"SET #{k.EXPIRES_AT} = :until ADD {adding}", ALWAYS, values)

    def between(self, tenant: str, window: Window) -> Mapping[int, Tally]:
        """A tenant's counts by the beginnings of the hours."""
        pk, first = k.hour_key(tenant, window.since // HOUR_MS, 0)
        values = {
            ":pk": text(pk),
            ":first": text(first),
            ":last": text(k.hour_key(tenant, window.until // HOUR_MS - 1, SLICES)[1]),
        }
        found: defaultdict[int, list[Tally]] = defaultdict(list)
        for page in self._database.query(self._database.control, _OF_WINDOW, values, consistent=False):
            for item in page:
                found[k.hour_in(Fields(item).text(k.SK)) * HOUR_MS].append(_tally_in(item))
        return {hour: total_of(tallies) for hour, tallies in found.items()}


def _portion(told: Sequence[Told]) -> Sequence[Told]:
    """As many from the beginning as one transaction can count."""
    groups: set[Group] = set()
    for position, one in enumerate(told):
        groups.add((one.ending.tenant, one.ending.hour))
        if len(groups) > MOST_HOURS_AT_ONCE:
            return told[:position]
    return told


def _digest(one: Told) -> bytes:
    return sha256(one.event.encode()).digest()[:_DIGEST_BYTES]


def _events_in(item: Item | None) -> Sequence[bytes]:
    """The events that an item remembers; the item was there, since it refused to be written."""
    listed = Fields(item or {}).raw(k.EVENTS)
    return [listed[start : start + _DIGEST_BYTES] for start in range(0, len(listed), _DIGEST_BYTES)]


def _attributes_of(counts: Tally) -> dict[str, int]:
    """The attributes of counts: `runs__skipped__misfire`, `runs__succeeded`, `late__400`, `attempts`."""
    ends = {
        _SEPARATOR.join((_RUNS, state, *([] if reason is None else [reason]))): many
        for (state, reason), many in counts.ends.items()
    }
    late = {f"{_LATE}{_SEPARATOR}{bound}": many for bound, many in counts.lateness.items()}
    return ends | late | ({k.ATTEMPTS: counts.attempts} if counts.attempts else {})


def _tally_in(item: Item) -> Tally:
    fields = Fields(item)
    ends: dict[tuple[RunState, str | None], int] = {}
    lateness: dict[int, int] = {}
    for name in item:
        kind, _, rest = name.partition(_SEPARATOR)
        if kind == _RUNS:
            state, _, reason = rest.partition(_SEPARATOR)
            ends[RunState(state), reason or None] = fields.number(name)
        elif kind == _LATE:
            lateness[int(rest)] = fields.number(name)
    return Tally(ends, fields.number_or_none(k.ATTEMPTS) or 0, lateness)
