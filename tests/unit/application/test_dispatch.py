"""The dispatcher over the memory stores: ownership, claims, take-overs, refusals, paging, what is set aside."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from carillon.adapters.memory.edges import SequentialIds
from carillon.application.claim_send_confirm import Addressed, DispatchCounts
from carillon.application.dispatch_group import PORTION_ENTRIES, SLICE_ENTRIES
from carillon.domain.job import JobState, Lane, MisfirePolicy, PlanningRules, Priority, expiry_seconds
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.outcomes import Failure
from carillon.domain.planning import DueEntry, UnreadableEntry
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import RunState
from carillon.domain.schedule import CronSchedule, Every, OneOff
from carillon.ports.edges import Clock
from support.world import DAY_MS, START_MS, Fault, World, failure, status


def bodies(world: World) -> list[WorkMessage]:
    """All messages in the work queues."""
    return [
        WorkMessage.decode(stored.body) for queue in world.queues.queues.values() for stored in queue._stored.values()
    ]


def test_an_idle_tick_writes_nothing() -> None:
    """Finding nothing due, a dispatcher takes no lease and touches no table."""
    world = World()
    world.create(OneOff(START_MS + 3_600_000))
    world.dispatch()
    assert set(world.calls_made) == {"index.pages"}


def test_a_busy_tick_gives_its_lease_up() -> None:
    """After the last read finds nothing new, the next invocation may take the group at once."""
    world = World()
    world.create(OneOff(START_MS + 1_000))
    world.dispatch()
    assert world.state.leases[0].until == 0


def test_a_held_group_is_left_alone() -> None:
    """A dispatcher that finds the group owned by another changes nothing."""
    world = World()
    world.create(OneOff(START_MS + 1_000))
    world.leases.take(0, "another", START_MS, 10_000)
    counts = world.dispatch()
    assert counts is not None
    assert (counts.claimed, bodies(world)) == (0, [])
    world.clock.advance(10_001)
    world.dispatch()
    assert len(bodies(world)) == 1


def test_an_owner_that_lost_its_group_stops() -> None:
    """B097: a dispatcher that wakes after its lease has moved extends nothing and writes nothing more."""
    world = World(page_size=1)
    for _ in range(3):
        world.create(OneOff(START_MS + 1_000))
    pages = world.index.pages

    def slow_pages(shard: int, until_ms: int) -> Iterator[Sequence[DueEntry]]:
        for number, page in enumerate(pages(shard, until_ms)):
            if number == 1:
                world.clock.advance(15_000)
                assert world.leases.take(0, "another", world.clock.now_ms(), 10_000)
            yield page

    world.index.pages = slow_pages  # type: ignore[method-assign]
    counts = world.dispatch()
    assert counts is not None
    assert counts.claimed == 1
    assert world.meter.counts["group_lease_lost"] == 1


def test_an_older_owner_cannot_claim() -> None:
    """B097: even if it tries, the stored epoch refuses it."""
    world = World()
    job_id = world.create(OneOff(START_MS + 1_000))
    (entry,) = next(iter(world.index.pages(0, START_MS + 60_000)))
    job = world.state.jobs[job_id]
    world.state.put_job(replace(job, lease=replace(job.lease, epoch=START_MS + 5)))
    counts = DispatchCounts()
    world.dispatcher().steps([entry], START_MS, counts)
    assert (counts.claimed, counts.refused, bodies(world)) == (0, 1, [])


def test_b115_a_crash_after_the_claim_is_repaired_by_the_next_owner() -> None:
    """B115: the claim of a dead dispatcher runs out, and its occurrence is sent once."""
    world = World(fault=Fault("queues.send", 1, after=False))
    job_id = world.create(OneOff(START_MS + 1_000))
    world.run_until(START_MS + 60_000)
    assert world.run_of(job_id, START_MS + 1_000).state is RunState.SUCCEEDED
    assert len(world.caller.calls) == 1


@pytest.mark.parametrize("policy", list(MisfirePolicy))
def test_a_take_over_decides_as_of_the_first_claim(policy: MisfirePolicy) -> None:
    """A second owner sends the same occurrences as the one that died after sending: no misfire, nothing twice."""
    world = World(look_ahead_ms=0, fault=Fault("jobs.confirm_many", 1, after=False))
    rules = PlanningRules(misfire=policy, misfire_grace_ms=5_000)
    job_id = world.create(Every(600_000, START_MS, end_ms=START_MS), rules=rules)
    world.run_until(START_MS + 120_000)
    assert [(run.state, run.attempt) for run in world.history(job_id)] == [(RunState.SUCCEEDED, 1)]
    assert len(world.caller.calls) == 1


def test_a_lost_answer_to_a_claim_is_recognised() -> None:
    """A claim whose answer was lost is ours: the same claim tried again holds."""
    world = World()
    world.create(OneOff(START_MS + 1_000))
    claim_many = world.jobs.claim_many
    world.jobs.claim_many = lambda claims: claim_many(claims) and claim_many(claims)  # type: ignore[method-assign]
    counts = world.dispatch()
    assert counts is not None
    assert (counts.claimed, counts.sent) == (1, 1)


def test_what_the_queue_refuses_is_sent_again() -> None:
    """B116: the job advances to the earliest occurrence that was not accepted; none is lost, none is called twice."""
    world = World()
    job_id = world.create(Every(10_000, START_MS, end_ms=START_MS + 50_000))
    send = world.queues.send
    refused = [False, True, False, True, True, False]

    def partly(messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        answers = [not refused.pop(0) if refused else True for _ in messages]
        send([message for message, accepted in zip(messages, answers, strict=True) if accepted], clock)
        return answers

    world.queues.send = partly  # type: ignore[method-assign]
    counts = world.dispatch()
    assert counts is not None
    assert (counts.unsent, counts.sent) == (3, 8), "as long as it takes some, the same tick goes on"
    world.run_until(START_MS + 120_000)
    assert [run.attempt for run in world.history(job_id)] == [1] * 6
    assert len(world.caller.calls) == 6
    assert world.state.jobs[job_id].planned == 6


def test_where_the_queue_takes_nothing_each_tick_tries_once() -> None:
    """What it refuses is due again at once: an owner that went on would claim it until its time is up."""
    world = World()
    job_id = world.create(OneOff(START_MS + 10_000))
    send = world.queues.send
    world.queues.send = lambda messages, _clock: [False] * len(messages)  # type: ignore[method-assign]
    for tick in (1, 2, 3):
        counts = world.dispatch()
        assert counts is not None
        assert (counts.claimed, counts.unsent, counts.sent) == (1, 1, 0)
        assert world.calls_made["queues.send"] == 2 * tick
        world.clock.advance(1_000)
    world.queues.send = send  # type: ignore[method-assign]
    world.run_until(START_MS + 20_000)
    assert [run.lateness_ms for run in world.history(job_id)] == [0]


def test_what_the_queue_takes_meanwhile_is_no_reason_to_go_on_for_ever() -> None:
    """An owner goes on while anything is taken, and no longer."""
    world = World()
    world.caller.script = [status(503)]
    world.create(OneOff(START_MS), retry=RetryPolicy(base_ms=1_000, factor=1.0, jitter=Jitter.NONE))
    world.dispatch()
    world.work()
    world.clock.advance(1_000)
    world.create(OneOff(START_MS + 1_000))
    send = world.queues.send

    def retries_only(messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        taken = [message.kind is MessageKind.WAIT for message, _, _ in messages]
        send([message for message, is_taken in zip(messages, taken, strict=True) if is_taken], clock)
        return taken

    world.queues.send = retries_only  # type: ignore[method-assign]
    counts = world.dispatch()
    assert counts is not None
    assert (counts.waits_sent, counts.claimed, counts.unsent, counts.sent) == (1, 2, 2, 0)


def test_every_page_is_read() -> None:
    """B127: 250 jobs due in one second, ten a page, are all sent by the one tick."""
    world = World(page_size=10)
    for _ in range(250):
        world.create(OneOff(START_MS + 1_000))
    counts = world.dispatch()
    assert counts is not None
    assert (counts.sent, counts.confirmed) == (250, 250)


def test_a_lagging_index_repeats_nothing() -> None:
    """Entries that were handled and are still shown are not claimed again, and nothing is sent twice."""
    world = World()
    world.index.lag_ms = 3_000
    jobs = [world.create(Every(5_000, START_MS, end_ms=START_MS + 60_000)) for _ in range(3)]
    world.run_until(START_MS + 120_000)
    for job_id in jobs:
        assert [run.attempt for run in world.history(job_id)] == [1] * 13
    assert len(world.caller.calls) == 39


def test_two_versions_of_the_dispatcher_side_by_side() -> None:
    """B109: two dispatchers that see the same entry compute the same key; one claim wins, one run exists."""
    world = World()
    job_id = world.create(OneOff(START_MS + 1_000))
    (entry,) = next(iter(world.index.pages(0, START_MS + 60_000)))
    first, second = DispatchCounts(), DispatchCounts()
    world.dispatcher().steps([entry], START_MS, first)
    world.ids = SequentialIds(8)
    world.dispatcher().steps([entry], START_MS + 1, second)
    assert (first.claimed, second.claimed) == (1, 0)
    world.run_until(START_MS + 5_000)
    assert len(world.history(job_id)) == 1


def test_b131_an_outage_leaves_no_hole() -> None:
    """B131: after seven minutes without a dispatcher everything due meanwhile is found."""
    world = World()
    rules = PlanningRules(misfire=MisfirePolicy.FIRE_ALL)
    jobs = [world.create(OneOff(START_MS + minute * 60_000), rules=rules) for minute in range(8)]
    world.clock.advance(8 * 60_000)
    world.run_until(START_MS + 9 * 60_000)
    assert all(world.history(job_id)[0].state is RunState.SUCCEEDED for job_id in jobs)


def test_a_stale_plan_does_not_bring_an_old_schedule_back() -> None:
    """B137: an edit between claim and confirm wins; the confirm is refused by the version."""
    world = World()
    job_id = world.create(Every(60_000, START_MS))
    send = world.queues.send

    def edited_meanwhile(messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        job = world.state.jobs[job_id]
        moved = replace(
            job, version=job.version + 1, scheduled_for=START_MS + 999_000, next_fire_time=START_MS + 999_000
        )
        world.state.put_job(moved)
        return send(messages, clock)

    world.queues.send = edited_meanwhile  # type: ignore[method-assign]
    world.dispatch()
    assert world.state.jobs[job_id].scheduled_for == START_MS + 999_000


@pytest.mark.parametrize("damage", [{"schedule": "cron|??"}, {"rules": "x"}])
def test_b185_a_job_that_cannot_be_decided_is_alone(damage: dict[str, str]) -> None:
    """B185: it is set to error and leaves the index; its neighbours fire on time (B082)."""
    world = World()
    bad, good = world.create(OneOff(START_MS + 1_000)), world.create(OneOff(START_MS + 1_000))
    world.state.put_job(replace(world.state.jobs[bad], **damage))  # type: ignore[arg-type]
    world.run_until(START_MS + 3_000)
    job = world.state.jobs[bad]
    assert (job.state, job.next_fire_time) == (JobState.ERROR, None)
    assert world.run_of(good, START_MS + 1_000).state is RunState.SUCCEEDED
    assert world.meter.counts["undecidable_job"] == 1


def test_an_unreadable_entry_is_set_aside_alone() -> None:
    """An item of the index that is nothing of ours leaves it visibly, and its neighbours go on."""
    world = World()
    world.state.plant_unreadable(UnreadableEntry("JOB#x", "WHAT", 0, "no such kind"), START_MS)
    good = world.create(OneOff(START_MS + 1_000))
    counts = world.dispatch()
    assert counts is not None
    assert (counts.set_aside, counts.sent) == (1, 1)
    assert [kept.reason for kept in world.state.set_aside] == ["no such kind"]
    world.run_until(START_MS + 3_000)
    assert world.run_of(good, START_MS + 1_000).state is RunState.SUCCEEDED


def test_skipped_occurrences_are_recorded_with_the_confirm() -> None:
    """Each missed occurrence that the policy does not run has its record, and the job goes on (B124)."""
    world = World(look_ahead_ms=0)
    job_id = world.create(CronSchedule("*/5 * * * *", "UTC"), rules=PlanningRules(misfire=MisfirePolicy.SKIP))
    world.clock.advance(3_600_000)
    world.run_until(world.clock.now_ms() + 301_000)
    states = [run.state for run in world.history(job_id)]
    assert sum(state is RunState.SUCCEEDED for state in states) >= 1
    skipped = sum(run.block.count if run.block else 1 for run in world.history(job_id) if run.state is RunState.SKIPPED)
    assert skipped in (11, 12)
    assert world.state.jobs[job_id].state is JobState.SCHEDULED


def test_a_retry_goes_through_the_due_index_once() -> None:
    """A waiting run is sent when due; duplicates of its message are void by their wait number."""
    world = World(fault=Fault("runs.leave_index", 1, after=False))
    world.caller.script = [failure(Failure.CONNECT_ERROR), status(503)]
    job_id = world.create(OneOff(START_MS + 1_000), retry=RetryPolicy(jitter=Jitter.NONE))
    world.run_until(START_MS + 60_000)
    run = world.run_of(job_id, START_MS + 1_000)
    assert (run.state, run.attempt, run.wait) == (RunState.SUCCEEDED, 3, 2)
    assert len(world.caller.calls) == 3


def test_priorities_take_their_queues() -> None:
    """High, normal and low are apart; long calls have a lane of their own."""
    world = World()
    for priority in Priority:
        world.create(OneOff(START_MS + 1_000), priority=priority)
    world.dispatch()
    sizes = {(lane, priority): len(world.queues.queue(lane, priority)) for lane in Lane for priority in Priority}
    assert [sizes[Lane.SHORT, priority] for priority in Priority] == [1, 1, 1]
    assert sizes[Lane.LONG, Priority.NORMAL] == 0


def test_shards_used_before_are_still_read() -> None:
    """A ledger that knows more shards than the settings is believed: jobs keep the shard they were made in."""
    world = World(shards=1)
    job_id = world.create(OneOff(START_MS + 1_000))
    world.state.put_job(replace(world.state.jobs[job_id], shard=3))
    world.state.shards = 4
    world.dispatch()
    assert len(bodies(world)) == 1


def test_groups_divide_the_shards() -> None:
    """Each shard belongs to exactly one group."""
    world = World(shards=8, groups=3)
    for shard in range(8):
        job_id = world.create(OneOff(START_MS + 1_000))
        world.state.put_job(replace(world.state.jobs[job_id], shard=shard))
    sent = [world.dispatcher()(group).sent for group in range(3)]
    assert sent == [3, 3, 2]


def test_shards_are_worked_through_together() -> None:
    """Each slice is sent for all shards: one shard's place in the due index takes only so many writes a second."""
    world = World(shards=4, page_size=30)
    for number in range(240):
        job_id = world.create(OneOff(START_MS + 1_000))
        world.state.put_job(replace(world.state.jobs[job_id], shard=number % 4))
    world.dispatch()
    shards = [world.state.jobs[message.key.job_id].shard for message in bodies(world)]
    assert len(shards) == 240
    for start in range(0, 240, 40):
        assert Counter(shards[start : start + 40]) == {0: 10, 1: 10, 2: 10, 3: 10}


def test_a_sweep_comes_in_portions() -> None:
    """However much a page holds, time and lease are looked at after a portion of it."""
    world = World(page_size=10_000)
    for _ in range(PORTION_ENTRIES + SLICE_ENTRIES):
        world.create(OneOff(START_MS + 1_000))
    assert [len(portion) for portion in world.dispatcher().pages(0)] == [PORTION_ENTRIES, SLICE_ENTRIES]


@pytest.mark.parametrize("due_in_ms", [-300_000, 40_000], ids=["overdue", "spike-ahead"])
def test_what_is_due_now_does_not_wait_for_a_backlog(due_in_ms: int) -> None:
    """A job that is created while a long sweep goes on is sent in the midst of it: the sweep would pass it by."""
    world = World(page_size=2 * SLICE_ENTRIES)
    for _ in range(10 * SLICE_ENTRIES):
        world.create(OneOff(START_MS + 60_000))
    world.clock.advance(60_000 - due_in_ms)
    queues = world.queues
    sent: list[str] = []

    class SlowQueues:
        """A slice takes half a second; behind the third one, somebody has created a job."""

        def send(self, messages: Sequence[Addressed], clock: Clock) -> list[bool]:
            world.clock.advance(500)
            sent.extend(message.key.job_id for message, *_ in messages)
            if len(sent) >= 3 * SLICE_ENTRIES and not created:
                created.append(world.create(OneOff(world.clock.now_ms() + 100)))
            return queues.send(messages, clock)

    created: list[str] = []
    world.queues = SlowQueues()  # type: ignore[assignment]  # it is one
    world.dispatch()
    assert len(sent) == len(set(sent)) == 10 * SLICE_ENTRIES + 1
    assert sent.index(created[0]) < 5 * SLICE_ENTRIES


def test_a_short_sweep_looks_nothing_up_besides() -> None:
    """The look at the present costs reads: only a sweep that takes long makes it."""
    world = World()
    for _ in range(3 * SLICE_ENTRIES):
        world.create(OneOff(START_MS + 1_000))
    world.dispatch()
    assert "index.between" not in world.calls_made


@pytest.mark.parametrize("late_ms", [-50_000, 3_600_000], ids=["sent before it is due", "sent late"])
def test_a_finished_job_is_kept_from_when_its_run_is_due_or_was_sent(late_ms: int) -> None:
    """From the later of the two: what may still wait for 14 days must not lose its job before."""
    world = World()
    job_id = world.create(OneOff(START_MS + 50_000))
    world.clock.advance(50_000 + late_ms)
    world.dispatch()
    latest_ms = max(START_MS + 50_000, world.clock.now_ms())
    assert world.state.jobs[job_id].expires_at == expiry_seconds(latest_ms, 30 * DAY_MS)
