"""The count of a tenant's jobs, in slices in the control table.

A slice is changed together with the job that it counts, in one transaction, on the condition that it has room: whoever
finds some has looked at nothing else. Only who finds none looks at all slices. The shares of a limit are changed by
one at a time: each such change raises the `rev` of the tenant's limits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import ZERO, Fields, Item, number
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.limit_items import limits_in, limits_write, rev_of
from carillon.adapters.dynamodb.writes import ALWAYS, Write, key_of, update
from carillon.domain.audit import AuditEvent
from carillon.domain.counting import (
    SLICES,
    Place,
    Slice,
    Turn,
    mark_in,
    order_of,
    place_in,
    shares_of,
    turn_in,
    wait_ms,
)
from carillon.domain.limits import Limits
from carillon.ports.errors import LimitReachedError, TooFastError, UnavailableError

MOST_REMEMBERED: Final = 10_000

_HAS_ROOM: Final = f"(attribute_not_exists(#{k.SHARE}) OR #{k.USED} < #{k.SHARE})"
_OPENS: Final = f"{_HAS_ROOM} AND (attribute_not_exists(#{k.WINDOW}) OR #{k.WINDOW} < :window)"
_WITHIN: Final = f"{_HAS_ROOM} AND #{k.WINDOW} = :window AND #{k.MADE} < :most"
_FITS: Final = f"attribute_not_exists(#{k.USED}) OR #{k.USED} <= :share"


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks to be counted, as of when (epoch ms). `creates`: it is a new job, which takes a turn of creating."""

    tenant: str
    job_id: str
    now_ms: int
    creates: bool

    def under(self, limits: Limits) -> Limits:
        """What of the limits binds it."""
        return limits if self.creates or limits.create is None else replace(limits, create=None)


class JobCounters:
    """The counts. What this process knows of turns of creating is what it tries first."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._windows: dict[tuple[str, int], int] = {}

    def first_place(self, asking: Asking, known: Limits) -> Place:
        """Where a job is most likely to find room, under limits that may be a little old."""
        mine = order_of(asking.job_id, known)[0]
        seen = Slice(mine, window=self._windows.get((asking.tenant, mine), 0))
        return Place(mine, mark_in(mine, known), turn_in(seen, asking.under(known), asking.now_ms))

    def next_place(self, asking: Asking, refused: Place, old: Item | None) -> Place:
        """Where a job finds room after all, when a slice has refused it; `old`: that slice as it is.

        Raises:
            LimitReachedError: there is none.
            TooFastError: there is no turn of creating left.
        """
        stored, rev = self._limits_of(asking.tenant)
        limits, in_order = asking.under(stored), order_of(asking.job_id, stored)
        if refused.slice in in_order:
            place = place_in(_slice_of(refused.slice, old), limits, asking.now_ms)
            if place is not None:  # only our guess of the turn was wrong
                return place
        slices = self.slices(asking.tenant)
        candidates = [slices[mine] for mine in in_order]
        for each in candidates:
            place = place_in(each, limits, asking.now_ms)
            if place is not None:
                return place
        with_room = [each for each in candidates if each.has_room]
        if limits.create is not None and with_room:
            raise TooFastError(wait_ms(with_room, limits.create, asking.now_ms))
        if stored.jobs is not None and sum(each.used for each in slices) >= stored.jobs:
            raise LimitReachedError("jobs", stored.jobs)
        writes = _unsharing if stored.jobs is None else _sharing
        # Whether it is we who share anew or somebody else just has: there may be room now.
        self._database.transact(writes(self._database.control, asking.tenant, stored, slices, rev))
        return self.first_place(asking, stored)

    def taking(self, tenant: str, place: Place) -> Write:
        """The write by which a job is counted."""
        key = key_of(*k.slice_key(tenant, place.slice))
        if place.turn is None:
            return update(self._database.control, key, f"ADD #{k.USED} :one", _HAS_ROOM, {":one": number(1)})
        return self._taking_a_turn(key, place.turn)

    def slices(self, tenant: str) -> list[Slice]:
        """All slices of a tenant, each read with strong consistency."""
        keys = [key_of(*k.slice_key(tenant, each)) for each in range(SLICES)]
        found = {item[k.PK]["S"]: item for item in self._database.get_many(self._database.control, keys)}
        return [_slice_of(each, found.get(k.slice_key(tenant, each)[0])) for each in range(SLICES)]

    def correct(self, tenant: str, seen: Slice, counted: int) -> bool:
        """Let a slice count so many, if it is as it was seen."""
        key = key_of(*k.slice_key(tenant, seen.number))
        values = {":counted": number(counted), ":seen": number(seen.used)}
        condition = f"#{k.USED} = :seen" if seen.used else f"attribute_not_exists(#{k.USED}) OR #{k.USED} = :seen"
        written = self._database.write(
            update(self._database.control, key, f"SET #{k.USED} = :counted", condition, values)
        )
        return isinstance(written, Written)

    def _taking_a_turn(self, key: Item, turn: Turn) -> Write:
        values = {":one": number(1), ":window": number(turn.window)}
        if turn.opens:
            change = f"SET #{k.WINDOW} = :window, #{k.MADE} = :one ADD #{k.USED} :one"
            return update(self._database.control, key, change, _OPENS, values)
        change = f"ADD #{k.USED} :one, #{k.MADE} :one"
        return update(self._database.control, key, change, _WITHIN, values | {":most": number(turn.most)})

    def taken(self, tenant: str, place: Place) -> None:
        """Remember the turn that was taken: the next creation is likely to come within it."""
        if place.turn is not None:
            if len(self._windows) >= MOST_REMEMBERED:
                self._windows.clear()
            self._windows[tenant, place.slice] = place.turn.window

    def share(self, tenant: str, limits: Limits, event: AuditEvent | None = None) -> None:
        """Give a tenant limits, the slices of its count their shares of them, and the trail the event; all or nothing.

        Raises:
            UnavailableError: others kept coming first.
        """
        for attempt in self._database.tries():
            stored, rev = self._limits_of(tenant)
            if attempt and event is not None and stored == limits:
                return  # an earlier try, or somebody who wants the same: the event is of that
            if limits.jobs is not None:
                writes = _sharing(self._database.control, tenant, limits, self.slices(tenant), rev)
            elif stored.jobs is not None:
                writes = _unsharing(self._database.control, tenant, limits, (), rev)
            else:
                writes = [limits_write(self._database.control, tenant, limits, rev)]
            if self._database.transact([*writes, *telling(self._database, event)]) is None:
                return
        raise UnavailableError("the limits keep changing")

    def _limits_of(self, tenant: str) -> tuple[Limits, int]:
        """The limits as they are now: read before the slices, so that shares changed since are noticed by the `rev`."""
        item = self._database.get(self._database.control, key_of(*k.limit_key(tenant)))
        return limits_in(item), rev_of(item)


def _sharing(table: str, tenant: str, limits: Limits, slices: Sequence[Slice], rev: int) -> list[Write]:
    """The writes that give a tenant its limits, of which `rev` were seen, and its slices their shares of them."""
    # None at all is right whatever a slice counts by now: it is given where more is counted than allowed.
    condition = ALWAYS if sum(each.used for each in slices) > (limits.jobs or 0) else _FITS
    shares = zip(slices, shares_of(slices, limits), strict=True)
    return [
        limits_write(table, tenant, limits, rev),
        *(_giving(table, tenant, each.number, share, condition) for each, share in shares),
    ]


def _unsharing(table: str, tenant: str, limits: Limits, _: Sequence[Slice], rev: int) -> list[Write]:
    """The writes that give a tenant limits without one of its jobs."""
    change = f"SET #{k.USED} = if_not_exists(#{k.USED}, :none) REMOVE #{k.SHARE}"
    keys = [key_of(*k.slice_key(tenant, each)) for each in range(SLICES)]
    return [
        limits_write(table, tenant, limits, rev),
        *(update(table, key, change, ALWAYS, {":none": ZERO}) for key in keys),
    ]


def _giving(table: str, tenant: str, mine: int, share: int, condition: str) -> Write:
    change = f"SET #{k.SHARE} = :share, #{k.USED} = if_not_exists(#{k.USED}, :none)"
    values = {":share": number(share), ":none": ZERO}
    return update(table, key_of(*k.slice_key(tenant, mine)), change, condition, values)


def _slice_of(mine: int, item: Item | None) -> Slice:
    if item is None:
        return Slice(mine)
    fields = Fields(item)
    return Slice(
        mine,
        used=fields.number_or_none(k.USED) or 0,
        share=fields.number_or_none(k.SHARE),
        window=fields.number_or_none(k.WINDOW) or 0,
        made=fields.number_or_none(k.MADE) or 0,
    )
