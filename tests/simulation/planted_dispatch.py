"""Bugs of the dispatcher: each is a small mutation of one rule of claim, send and confirm."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from carillon.adapters.memory import jobs as memory_jobs
from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.adapters.memory.runs import MemoryRunStore
from carillon.adapters.memory.slots import MemorySlotLedger
from carillon.application import claim_send_confirm, dispatch_group, reserve_slots
from carillon.application.claim_send_confirm import ClaimSendConfirm
from carillon.domain.job import JobState
from carillon.ports.jobs import Claim

from .planting import original, plant


@plant
def claim_ignores_the_version() -> Iterator[None]:
    """A job can be claimed by what an index that lags shows of it."""

    def may_claim(stored: Any, claim: Claim) -> bool:
        if stored.lease.epoch > claim.epoch:
            return False
        return stored.lease.until == 0 if claim.takes_over is None else stored.lease.claim_id == claim.takes_over

    def holds(stored: Any, claim: Claim) -> bool:
        return bool(stored.lease.claim_id == claim.claim_id)

    with patch.object(memory_jobs, "_may_claim", may_claim), patch.object(memory_jobs, "holds_claim", holds):
        yield


@plant
def claim_ignores_the_epoch() -> Iterator[None]:
    """An owner whose group has been taken by another still claims."""

    def may_claim(stored: Any, claim: Claim) -> bool:
        if stored.version != claim.entry.version:
            return False
        return stored.lease.until == 0 if claim.takes_over is None else stored.lease.claim_id == claim.takes_over

    with patch.object(memory_jobs, "_may_claim", may_claim):
        yield


@plant
def claim_of_another_is_confirmed() -> Iterator[None]:
    """The end of a claim does not ask whose claim it is, nor of which version."""

    def holds(stored: Any, _claim: Claim) -> bool:
        return bool(stored.state is JobState.SCHEDULED and stored.scheduled_for is not None)

    confirm = original(MemoryJobStore, "_confirm")

    def confirmed(self: MemoryJobStore, confirmation: Any) -> bool:
        with patch.object(memory_jobs, "holds_claim", holds):
            return bool(confirm(self, confirmation))

    with patch.object(MemoryJobStore, "_confirm", confirmed):
        yield


@plant
def advance_before_send() -> Iterator[None]:
    """The plan moves on before the queue has the messages."""
    send, confirm = original(ClaimSendConfirm, "_send"), original(ClaimSendConfirm, "_confirm")
    with patch.object(ClaimSendConfirm, "_send", confirm), patch.object(ClaimSendConfirm, "_confirm", send):
        yield


@plant
def confirm_ignores_what_was_not_sent() -> Iterator[None]:
    """A message that the queue refused counts as sent."""
    with patch.object(claim_send_confirm._Decided, "first_unsent", None):
        yield


@plant
def refused_messages_are_decided_anew() -> Iterator[None]:
    """After a refusal the rest is decided as of another instant, with what had been sent behind it."""
    with patch.object(memory_jobs, "lease_until_after", lambda _confirmation: 0):
        yield


@plant
def takeover_decides_afresh() -> Iterator[None]:
    """The second owner of a claim decides as of its own instant."""
    takeover = original(ClaimSendConfirm, "_takeover")

    def afresh(self: ClaimSendConfirm, refused: Any, now_ms: int) -> Claim | None:
        claim = takeover(self, refused, now_ms)
        return claim and replace(claim, decided_at=now_ms)

    with patch.object(ClaimSendConfirm, "_takeover", afresh):
        yield


@plant
def claims_never_run_out() -> Iterator[None]:
    """Nobody takes over the claim of a dispatcher that has died."""
    with patch.object(ClaimSendConfirm, "_takeover", lambda *_: None):
        yield


@plant
def only_the_first_page_is_read() -> Iterator[None]:
    """A dispatcher looks at one page of each shard."""
    pages = original(dispatch_group.DispatchGroup, "pages")

    def first_page(self: Any, group: int) -> Iterator[Any]:
        yield from [page for page in [next(pages(self, group), None)] if page]

    def once(self: Any, found: Any) -> None:
        self._sweep(found)

    with (
        patch.object(dispatch_group.DispatchGroup, "pages", first_page),
        patch.object(dispatch_group._Tenure, "work", once),
    ):
        yield


@plant
def waiting_runs_leave_the_index_anyhow() -> Iterator[None]:
    """A run leaves the due index although it waits with another number by now."""

    def leave(self: Any, entry: Any) -> bool:
        self._state.hand_over((entry.job_id, entry.name))
        return True

    with patch.object(MemoryRunStore, "leave_index", leave):
        yield


@plant
def taken_slots_are_forgotten() -> Iterator[None]:
    """Each sweep gives slots as if it were the first."""
    reserve = original(MemorySlotLedger, "reserve")

    def afresh(self: Any, name: str, *asked: Any) -> Any:
        self._state.calendars.pop(name, None)
        return reserve(self, name, *asked)

    with patch.object(MemorySlotLedger, "reserve", afresh):
        yield


@plant
def waiting_runs_need_no_slot() -> Iterator[None]:
    """Retries and runs by hand get round the rate of their tenant."""
    with patch.object(reserve_slots, "_asking_run", lambda *_: None):
        yield
