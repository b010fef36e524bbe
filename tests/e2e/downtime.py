"""An outage of the dispatcher under each misfire policy, at any scale, with the run history as the proof."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from carillon.domain.planning import MOST_SINGLE_SKIPS

from .dev_stack import DevStack
from .histories import SETTLE_SECONDS, History, Stage, assert_called_back, grid, history, instant, settled
from .live import Json, aws_client, ended_runs, eventually, job, wait_until

# Of the local stage. No scale changes it: what is due within it of the outage's begin was sent before.
LOOK_AHEAD = timedelta(seconds=60)
# A tick that was taken before the mapping was disabled is worked off by then.
LAST_TICK = timedelta(seconds=5)
# How long a decision may take until its record is written, on a machine that does much else.
SLACK = timedelta(seconds=5)


@dataclass(frozen=True)
class Scale:
    """The lengths that belong together: an outage of fifteen intervals, and a grace of half an interval.

    Of half an hour that makes a job of each two minutes, with the default grace of one minute.
    """

    outage: timedelta

    @property
    def every(self) -> timedelta:
        """The interval of the jobs."""
        return self.outage / 15

    @property
    def grace(self) -> timedelta:
        """The misfire grace of the jobs."""
        return self.outage / 30

    @property
    def begins_before(self) -> bool:
        """Whether the jobs live before the outage.

        With intervals below the look-ahead nearly all of the outage would have been sent before it: such jobs are
        created at its begin.
        """
        return self.every > LOOK_AHEAD

    @property
    def sent_ahead(self) -> timedelta:
        """How far into the outage occurrences may have been sent before it."""
        return LOOK_AHEAD + LAST_TICK if self.begins_before else timedelta(0)


@dataclass(frozen=True)
class Policy:
    """A misfire policy, and how many of the missed occurrences it makes up for at most."""

    name: str
    fields: Json
    made_up: int | None


POLICIES = (
    Policy("all", {"misfire_policy": "fire_all"}, None),
    Policy("newest", {"misfire_policy": "fire_all", "max_catch_up": 3}, 3),
    Policy("once", {"misfire_policy": "fire_once"}, 1),
    Policy("skip", {"misfire_policy": "skip"}, 0),
)
SINGLE_RUNS = {"fire_once": ("succeeded", None), "fire_all": ("succeeded", None), "skip": ("skipped", "misfire")}


@dataclass(frozen=True)
class Outage:
    """From when until when no dispatcher ran, and what each job's history says of it, by the policy's name."""

    down_from: datetime
    up_from: datetime
    histories: dict[str, History]
    single_runs: dict[str, History]


@contextmanager
def no_dispatcher(stack: DevStack) -> Iterator[None]:
    """The dispatcher gets no ticks, because its event source mapping is disabled, as long as the block runs."""
    with closing(aws_client(stack.aws_endpoint, "lambda")) as functions:
        found = functions.list_event_source_mappings(FunctionName=stack.outputs["DispatcherFunction"])
        [mapping] = found["EventSourceMappings"]
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        try:
            wait_until(datetime.now(UTC) + LAST_TICK)
            yield
        finally:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def outage_under_each_policy(stage: Stage, scale: Scale) -> Outage:
    """B083, B095: every occurrence of the outage has exactly one record, and each policy runs what it says it does."""
    jobs: dict[str, Json] = {}
    if scale.begins_before:
        jobs = _create(stage, scale)
        assert eventually(lambda: all(_newest(stage, created) for created in jobs.values()), _bound(scale))
    down_from = datetime.now(UTC)
    with no_dispatcher(stage.stack):
        jobs = jobs or _create(stage, scale)
        singles = _create_single_runs(stage, scale)
        wait_until(down_from + scale.outage)
        up_from = datetime.now(UTC)
        _assert_silence(stage, down_from + scale.sent_ahead)
    assert eventually(
        lambda: all((_newest(stage, created) or up_from) > up_from + scale.every for created in jobs.values()),
        _bound(scale),
    )
    return Outage(
        down_from,
        up_from,
        {name: settled(stage, created["id"]) for name, created in jobs.items()},
        {name: _single_run(stage, name, created) for name, created in singles.items()},
    )


def assert_policy(stage: Stage, scale: Scale, policy: Policy, outage: Outage) -> None:
    """An unbroken row of occurrences, of which the policy has skipped the oldest missed ones, in one record if many."""
    past = outage.histories[policy.name]
    times = past.covered(scale.every)
    assert set(times.values()) == {1}
    assert sorted(times) == grid(min(times), max(times), scale.every)
    assert_called_back(stage, _path(policy), past)
    records = [run for run in past.runs if run["state"] == "skipped"]
    skipped = sorted(History(tuple(records)).covered(scale.every))
    assert {run["reason"] for run in records} == (set() if policy.made_up is None else {"misfire"})
    if policy.made_up is None:
        assert skipped == []
        return
    assert skipped == grid(skipped[0], skipped[-1], scale.every)
    assert outage.down_from < skipped[0] <= max(outage.down_from + scale.sent_ahead + scale.every, min(times))
    assert len(records) == (len(skipped) if len(skipped) <= MOST_SINGLE_SKIPS else 1)
    # What was missed was older than its grace at the decision, which was made shortly before the records.
    last_missed = skipped[-1] + policy.made_up * scale.every
    decided_by = instant(records[0]["created_at"])
    assert outage.up_from <= decided_by
    assert last_missed < decided_by - scale.grace <= last_missed + scale.every + SLACK
    assert next(at for at in past.of("succeeded") if at > skipped[-1]) == skipped[-1] + scale.every


def _create(stage: Stage, scale: Scale) -> dict[str, Json]:
    """A job of each policy."""
    schedule, grace = {"every": _duration(scale.every)}, _duration(scale.grace)
    return {
        policy.name: stage.client.create_job(
            job(stage.receiver.url(_path(policy)), schedule, **policy.fields, misfire_grace=grace)
        )
        for policy in POLICIES
    }


def _create_single_runs(stage: Stage, scale: Scale) -> dict[str, Json]:
    """A single run of each policy, due a third of the outage later."""
    schedule, grace = {"delay": _duration(scale.outage / 3)}, _duration(scale.grace)
    url = stage.receiver.url("/single")
    return {
        policy: stage.client.create_job(job(url, schedule, misfire_policy=policy, misfire_grace=grace))
        for policy in SINGLE_RUNS
    }


def _single_run(stage: Stage, policy: str, created: Json) -> History:
    """A single run that was missed: it ran late, or has a record, after which the job is over."""
    state, reason = SINGLE_RUNS[policy]
    [run] = ended_runs(stage.client, created["id"], 1, SETTLE_SECONDS)
    assert (run["state"], run["reason"], run["scheduled_for"]) == (state, reason, created["next_scheduled_for"])
    over = "dispatched" if state == "succeeded" else "completed"
    assert eventually(lambda: stage.client.job(created["id"])["state"] == over, SETTLE_SECONDS)
    return History((run,))


def _assert_silence(stage: Stage, sent_until: datetime) -> None:
    """While the dispatcher is down nothing is called but what had been sent before."""
    paths = {_path(policy) for policy in POLICIES} | {"/single"}
    calls = [call for call in stage.receiver.calls() if call.path in paths]
    assert [call for call in calls if instant(call.headers["carillon-scheduled-for"]) > sent_until] == []


def _newest(stage: Stage, created: Json) -> datetime | None:
    """The newest occurrence of a job that has succeeded."""
    return max(history(stage, created["id"]).of("succeeded"), default=None)


def _bound(scale: Scale) -> float:
    """How long to wait for two occurrences, seconds."""
    return 3 * scale.every.total_seconds() + SETTLE_SECONDS


def _path(policy: Policy) -> str:
    return f"/outage-{policy.name}"


def _duration(length: timedelta) -> str:
    return f"PT{length.total_seconds():g}S"
