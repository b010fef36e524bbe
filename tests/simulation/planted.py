"""Bugs that are planted into the product, one at a time, to see that the checker can fail.

Each is a small mutation of one rule of the protocol. Where it is caught first, and that it is, is in `KNOWN`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from carillon.adapters.memory import jobs as memory_jobs
from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.adapters.memory.runs import MemoryRunStore
from carillon.application import bury_message, claim_send_confirm, dispatch_group, execute_run, run_records
from carillon.application.claim_send_confirm import ClaimSendConfirm
from carillon.application.edit_job import EditJob
from carillon.application.execute_run import ExecuteRun
from carillon.application.run_records import RunRecords
from carillon.domain import admission, editing, settling
from carillon.domain.admission import Drop, PutBack
from carillon.domain.job import JobSpec, JobState
from carillon.domain.run import Run, RunState
from carillon.ports import Claim, Saved

Plant = Callable[[], Any]
"""Makes a context in which the bug is there."""

PLANTED: dict[str, Plant] = {}


def plant(bug: Callable[[], Iterator[None]]) -> Callable[[], Any]:
    """Register a bug by the name of its function."""
    made = contextmanager(bug)
    PLANTED[bug.__name__] = made
    return made


def _original(owner: object, name: str) -> Any:
    return getattr(owner, name)


# ------------------------------------------------------------------------------------------------------------- dispatch


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

    original = _original(memory_jobs, "holds_claim")
    confirm = _original(MemoryJobStore, "_confirm")

    def confirmed(self: MemoryJobStore, confirmation: Any) -> bool:
        with patch.object(memory_jobs, "holds_claim", holds):
            return bool(confirm(self, confirmation))

    assert original is not holds
    with patch.object(MemoryJobStore, "_confirm", confirmed):
        yield


@plant
def advance_before_send() -> Iterator[None]:
    """The plan moves on before the queue has the messages."""

    def dispatch_jobs(self: ClaimSendConfirm, entries: Any, epoch: int, counts: Any) -> None:
        claims = self._claim(entries, epoch, counts)
        decided = [plan for plan in (self._decide(claim, counts) for claim in claims) if plan]
        self._confirm(decided, counts)
        self._send(decided, counts)

    with patch.object(ClaimSendConfirm, "_dispatch_jobs", dispatch_jobs):
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
    takeover = _original(ClaimSendConfirm, "_takeover")

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
    pages = _original(dispatch_group.DispatchGroup, "pages")

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


# ------------------------------------------------------------------------------------------------------------ execution


@plant
def starts_need_no_condition() -> Iterator[None]:
    """A worker starts a run whatever its record says by now."""

    def save(self: Any, run: Run, *, seen: int | None) -> Any:
        if run.state is RunState.RUNNING:
            self._state.put_run(run)
            return Saved(run)
        return saved(self, run, seen=seen)

    saved = _original(MemoryRunStore, "save")
    with patch.object(MemoryRunStore, "save", save):
        yield


@plant
def finishes_need_no_condition() -> Iterator[None]:
    """A worker that wakes up late writes its outcome over a newer attempt."""

    def save(self: Any, run: Run, *, seen: int | None) -> Any:
        if run.attempt and run.state is not RunState.RUNNING:
            self._state.put_run(run)
            return Saved(run)
        return saved(self, run, seen=seen)

    saved = _original(MemoryRunStore, "save")
    with patch.object(MemoryRunStore, "save", save):
        yield


@plant
def the_generation_is_forgotten() -> Iterator[None]:
    """A message of an older definition is as good as any."""
    with patch.object(JobSpec, "superseded_at", lambda _self, _generation: None):
        yield


@plant
def the_wait_number_is_ignored() -> Iterator[None]:
    """A duplicate of the message of one retry starts another one."""
    judge = _original(admission, "judge")

    def careless(message: Any, definition: Any, run: Any, now_ms: int) -> Any:
        if run is not None and not run.state.has_ended:
            message = replace(message, wait=run.wait)
        return judge(message, definition, run, now_ms)

    with patch.object(execute_run, "judge", careless), patch.object(bury_message, "judge", careless):
        yield


@plant
def messages_of_running_retries_are_dropped() -> Iterator[None]:
    """The message of a retry whose worker has died is taken for a stale one."""
    judge = _original(admission, "judge")

    def drops(message: Any, definition: Any, run: Any, now_ms: int) -> Any:
        judgement = judge(message, definition, run, now_ms)
        return Drop("stale_wait") if isinstance(judgement, admission.Contested) else judgement

    with patch.object(execute_run, "judge", drops), patch.object(bury_message, "judge", drops):
        yield


@plant
def lost_attempts_are_not_counted() -> Iterator[None]:
    """A run may kill its workers for ever."""

    def waiting(run: Run, **options: Any) -> Run:
        return moved(run, **(options | {"lost": 0}))

    moved = _original(run_records, "waiting")
    with patch.object(run_records, "waiting", waiting):
        yield


@plant
def lost_attempts_have_no_limit() -> Iterator[None]:
    """A run is tried again although its last attempt is lost."""
    with patch.object(run_records, "lost_for_good", lambda _run, _most: False):
        yield


@plant
def run_leases_never_run_out() -> Iterator[None]:
    """The message of a dead worker's run is put back for ever."""
    resolve = _original(admission, "resolve")

    def patient(run: Run, definition: Any, now_ms: int) -> Any:
        resolution = resolve(run, definition, now_ms)
        return PutBack(60_000) if run.state is RunState.RUNNING else resolution

    with patch.object(run_records, "resolve", patient):
        yield


@plant
def run_leases_are_not_looked_at() -> Iterator[None]:
    """A duplicate takes the attempt of a living worker for lost."""
    resolve = _original(admission, "resolve")
    impatient = lambda run, definition, _now_ms: resolve(replace(run, lease_until=0), definition, 1)  # noqa: E731 - a patch
    with patch.object(run_records, "resolve", impatient):
        yield


@plant
def beats_do_not_renew() -> Iterator[None]:
    """A long call's lease runs out although its worker is alive."""
    with patch.object(execute_run._Pulse, "_renew", lambda _self: True):
        yield


@plant
def nothing_is_held_until_due() -> Iterator[None]:
    """A message that comes early starts early."""
    with patch.object(ExecuteRun, "_hold", lambda *_: True):
        yield


# ---------------------------------------------------------------------------------------------------------------- edits


@plant
def an_edit_leaves_the_version() -> Iterator[None]:
    """A dispatcher that had claimed the job before an edit writes its plan over it."""
    stored = _original(EditJob, "_stored")

    def unfenced(self: EditJob, seen: Any, edited: Any) -> bool:
        job = replace(edited.definition.job, version=seen.job.version)
        return bool(stored(self, seen, replace(edited, definition=replace(edited.definition, job=job))))

    with patch.object(EditJob, "_stored", unfenced):
        yield


@plant
def no_segment_is_left() -> Iterator[None]:
    """What is due of the old schedule is forgotten by an edit."""
    with patch.object(editing, "segment_of", lambda _job, _at: None):
        yield


@plant
def nothing_is_settled() -> Iterator[None]:
    """A pause or a cancel forgets what is due."""
    with patch.object(settling, "_settled", lambda *_: ()):
        yield


@plant
def cancelled_jobs_are_called() -> Iterator[None]:
    """A worker does not ask whether the job has been cancelled."""
    with _ignoring(JobState.CANCELLED):
        yield


@plant
def paused_jobs_are_called() -> Iterator[None]:
    """A worker does not ask whether the job is paused."""
    with _ignoring(JobState.PAUSED):
        yield


@contextmanager
def _ignoring(state: JobState) -> Iterator[None]:
    judge = _original(admission, "judge")

    def blind(message: Any, definition: Any, run: Any, now_ms: int) -> Any:
        if definition is not None and definition.job.state is state:
            definition = replace(definition, job=replace(definition.job, state=JobState.SCHEDULED))
        return judge(message, definition, run, now_ms)

    with patch.object(execute_run, "judge", blind):
        yield


@plant
def the_planned_are_not_counted() -> Iterator[None]:
    """An edit gives back runs that are not revoked."""
    with patch.object(editing, "_planned_at", lambda job, _at: max(job.planned - 3, 0)):
        yield


@plant
def claims_in_flight_are_summed_up() -> Iterator[None]:
    """A pause sums up what a dispatcher may have sent."""
    settled = _original(settling, "_settled")
    with patch.object(editing, "settling", lambda *args: (settled(*args), None)):
        yield
