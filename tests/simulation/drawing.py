"""The plan of a seed, drawn: each seed is another stage, with other tenants and other trouble."""

from dataclasses import replace
from typing import Any

from carillon.domain.job import MisfirePolicy, PlanningRules, Priority
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, ScheduleError

from .additions import added
from .history import EditKind
from .plan import FAULTS, MINUTE_MS, ORDINARY_MS, SECOND_MS, EditPlan, Focus, JobPlan, Plan, Spell, TargetPlan, draws

_CLOCK_CHANGES = (
    ("America/New_York", 1_772_953_200_000),  # 2026-03-08T07:00Z: 02:00 becomes 03:00
    ("America/New_York", 1_793_512_800_000),  # 2026-11-01T06:00Z: 02:00 becomes 01:00
    ("Australia/Lord_Howe", 1_791_041_400_000),  # 2026-10-03T15:30Z: half an hour forward
    ("Europe/Berlin", 1_792_890_000_000),  # 2026-10-25T01:00Z: 03:00 becomes 02:00
)
_CRONS = ("* * * * *", "*/2 * * * *", "*/5 * * * *", "0,15,30,45 * * * *", "30 2 * * *", "15 1 * * *", "*/10 1-3 * * *")

_HOT_STEPS = (
    ("jobs.replace", "pause_before"),
    ("runs.list_newest", "pause_after"),
    ("jobs.get", "pause_after"),
    ("runs.save", "pause_before"),
    ("runs.save", "lost"),
    ("runs.save", "crash_after"),
    ("queues.send", "pause_before"),
    ("queues.send", "pause_after"),
    ("queues.send", "part"),
    ("queues.send", "crash_after"),
    ("jobs.claim_many", "pause_after"),
    ("jobs.claim_many", "crash_after"),
    ("jobs.confirm_many", "part"),
    ("runs.leave_index", "pause_before"),
    ("leases.take", "pause_after"),
    ("leases.renew", "pause_before"),
    ("delivery.delete", "crash_before"),
)
"""Between which steps the protocol has its windows: there, suspensions and deaths tell most."""

_CONTESTED = (Focus("queues.send", "pause_after", 0.2, 28_000), Focus("jobs.replace", "pause_before", 0.7, 5_000))
"""Dispatchers that have sent and not confirmed for long, and edits that take long to be written."""

_HOT_PAIRS = (
    (Focus("jobs.replace", "pause_before", 0.8, 5_000), Focus("runs.save", "crash_after", 0.15)),
    (Focus("jobs.claim_many", "pause_after", 0.1, 20_000), Focus("runs.list_newest", "pause_after", 0.5, 3_000)),
    (Focus("queues.send", "part", 0.2), Focus("jobs.confirm_many", "pause_after", 0.1, 60_000)),
)


def plan_of(seed: int) -> Plan:
    """The plan of a seed."""
    return added(_Drawing(seed).plan())


class _Drawing:
    """Draws one plan. In a contested one, many edits meet occurrences that are spread over a window."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._draw = draws(f"plan {seed}")
        self._length_ms = self._pick((60, 120, 300, 600, 1_200, 1_800)) * SECOND_MS
        self._zone, self._start_ms = self._place()
        self._is_contested = self._chance(0.1)
        self._budget = self._pick((800, 2_000, 4_000, 5_000))

    def _pick(self, choices: Any) -> Any:
        return self._draw.choice(choices)

    def _chance(self, share: float) -> bool:
        return self._draw.random() < share

    def _place(self) -> tuple[str, int]:
        if self._chance(0.25):
            zone, change_ms = self._pick(_CLOCK_CHANGES)
            return zone, change_ms - self._length_ms // 2 + self._draw.randrange(-30_000, 30_000)
        return "UTC", ORDINARY_MS + self._draw.randrange(100_000)

    def _instant(self, share_from: float = 0.0, share_until: float = 1.0) -> int:
        low, high = round(self._length_ms * share_from), round(self._length_ms * share_until)
        return self._start_ms + self._draw.randrange(low, high)

    # ------------------------------------------------------------------------------------------------------ the whole

    def plan(self) -> Plan:
        """Calm plans have nothing but lag and slowness in them; the others have everything."""
        is_calm = self._chance(0.15)
        plan = self._stage(is_calm=is_calm)
        jobs = self._jobs(is_calm=is_calm)
        plan = replace(plan, jobs=jobs, edits=self._edits(jobs), is_calm=is_calm)
        if is_calm:
            return plan
        plan = self._troubled(plan)
        if self._is_contested:
            return replace(plan, look_ahead_ms=0, foci=_CONTESTED)
        return self._disowned(plan) if self._chance(0.1) else plan

    def _stage(self, *, is_calm: bool) -> Plan:
        groups = self._pick((1, 1, 2, 3))
        return Plan(
            seed=self._seed,
            start_ms=self._start_ms,
            length_ms=self._length_ms,
            shards=max(groups, self._pick((1, 2, 4))),
            groups=groups,
            look_ahead_ms=self._pick((0, 0, 60_000, 60_000, 300_000)),
            page_size=self._pick((1, 2, 5, 1_000)),
            tick_ms=1_000 if is_calm else self._pick((1_000, 1_000, 3_000, 10_000)),
            ticks_by_queue=self._chance(0.2),
            lag_ms=self._pick((0, 200, 900)) if is_calm else self._pick((0, 500, 2_000, 7_000)),
            poll_ms=self._pick((100, 500)),
            batch=self._pick((1, 10)),
        )

    def _troubled(self, plan: Plan) -> Plan:
        far = self._pick((0, 1_000, 30_000)) if not plan.ticks_by_queue else self._pick((0, 2_000))
        near = self._pick((0, 1_000, 15_000))
        kinds = tuple(kind for kind in FAULTS if self._chance(0.6))
        return replace(
            plan,
            dispatcher_skews_ms=self._skews(self._draw.randint(1, 4), far),
            worker_skews_ms=self._skews(self._draw.randint(1, 4), near),
            client_skews_ms=self._skews(self._draw.randint(1, 2), self._pick((0, 0, 1_000, 30_000))),
            most_receives=self._pick((1_000, 1_000, 1_000, 4)),
            invocations_end=self._chance(0.5),
            faults=kinds,
            fault_every=self._pick((20, 60, 200, 600)) if kinds else 0,
            foci=self._foci(),
            quiet_ms=self._instant(0.6),
            spells=self._spells(),
            thefts_ms=tuple(self._instant() for _ in range(self._pick((0, 0, 3)))),
            restore_ms=self._instant() if self._chance(0.2) else None,
            redeliveries_ms=tuple(self._instant() for _ in range(self._pick((0, 5, 30)))),
            regroup_at_ms=self._instant() if self._chance(0.25) else None,
        )

    def _disowned(self, plan: Plan) -> Plan:
        """Groups change hands between clocks far apart, by a deployment and by an older copy of the control table."""
        return replace(
            plan,
            dispatcher_skews_ms=(0, 0, self._pick((12_000, 25_000))),
            ticks_by_queue=False,
            lag_ms=7_000,
            foci=(Focus("leases.take", "pause_after", 0.5, 4_500), Focus("index.pages", "pause_before", 0.05, 4_500)),
            shards=4,
            groups=self._pick((1, 2)),
            regroup_at_ms=self._instant(0.1, 0.5),
            restore_ms=self._instant(0.5, 0.9),
        )

    def _foci(self) -> tuple[Focus, ...]:
        if self._chance(0.15):
            return self._pick(_HOT_PAIRS)
        return tuple(
            Focus(*self._pick(_HOT_STEPS), self._pick((0.02, 0.1, 0.5)), self._pick((30, 2_000, 15_000, 100_000)))
            for _ in range(self._pick((0, 1, 2)))
        )

    def _skews(self, count: int, most_ms: int) -> tuple[int, ...]:
        return tuple(self._draw.randint(-most_ms, most_ms) for _ in range(count))

    def _spells(self) -> tuple[Spell, ...]:
        return tuple(self._spell() for _ in range(self._pick((0, 0, 1, 2))))

    def _spell(self) -> Spell:
        what = self._pick(("ticks", "workers", "jobs", "runs", "queues", "leases"))
        from_ms = self._instant(0.0, 0.7)
        lasts_ms = self._pick((5, 20, 60, 200)) * SECOND_MS
        return Spell(what, from_ms, from_ms + lasts_ms, self._pick((0.3, 0.9)))

    # -------------------------------------------------------------------------------------------------------- the load

    def _jobs(self, *, is_calm: bool) -> tuple[JobPlan, ...]:
        jobs: list[JobPlan] = []
        for number in range(self._draw.randint(1, 12)):
            job = self._job(number)
            if is_calm:  # a worker that dies takes its neighbours down
                job = replace(job, target=replace(job.target, kills=0.0))
            expected = job.schedule.count(self._start_ms, self._start_ms + self._length_ms)
            if 0 < expected <= self._budget:
                self._budget -= expected
                jobs.append(job)
        return tuple(jobs)

    def _job(self, number: int) -> JobPlan:
        at_ms = self._start_ms if self._chance(0.4) else self._instant(0.0, 0.8)
        attempts = self._pick((1, 2, 3, 5))
        return JobPlan(
            number=number,
            at_ms=at_ms,
            schedule=self._schedule(at_ms),
            rules=self._rules(),
            retry=RetryPolicy(
                max_attempts=attempts,
                base_ms=self._pick((200, 1_000, 5_000)),
                max_delay_ms=20_000,
                jitter=self._pick((Jitter.FULL, Jitter.NONE)),
            ),
            deadline_ms=self._pick((None, None, None, 3_000, 60_000)),
            priority=self._pick(tuple(Priority)),
            timeout_ms=self._pick((5_000, 15_000, 15_000, 60_000, 300_000)),
            target=self._target(),
        )

    def _target(self) -> TargetPlan:
        return TargetPlan(
            fails=self._pick((0.0, 0.0, 0.05, 0.5)),
            kills=self._pick((0.0, 0.0, 0.0, 0.02, 0.3)),
            slow=self._pick((0.0, 0.02, 0.2)),
            slow_ms=self._pick((50, 2_000, 30_000, 200_000)),
            statuses=self._pick(((500, 503, 429, 0), (500,), (404, 503), (0,), (503, 503, 503, 410))),
        )

    def _rules(self) -> PlanningRules:
        return PlanningRules(
            misfire=self._pick(tuple(MisfirePolicy)),
            misfire_grace_ms=self._pick((0, 1_000, 5_000, 60_000)),
            max_catch_up=self._pick((1, 5, 100)),
            max_runs=self._draw.randint(1, 40) if self._chance(0.2) else None,
            window_ms=self._pick((30_000, 30_000, 0) if self._is_contested else (0, 0, 0, 5_000, 30_000)),
        )

    def _schedule(self, at_ms: int) -> Schedule:
        end_ms = self._start_ms + self._length_ms - self._draw.randrange(1, 10_000)
        kind = self._draw.random()
        if kind < 0.2 or end_ms - at_ms < 10_000:
            return OneOff(at_ms + 1_000 + self._draw.randrange(max(end_ms - at_ms, 1_000)))
        if kind < 0.85:
            interval_ms = self._pick((1, 1, 1, 2, 5, 10, 30, 60)) * SECOND_MS + self._pick((0, 0, 337))
            return Every(interval_ms, at_ms - self._draw.randrange(interval_ms), None, end_ms)
        zone = self._zone if self._chance(0.8) else "UTC"
        try:
            return CronSchedule(
                self._pick(_CRONS),
                zone,
                self._pick(("shift", "skip")),
                self._pick(("first", "last", "both")),
                None,
                end_ms,
            )
        except ScheduleError:
            return Every(MINUTE_MS, at_ms, None, end_ms)

    def _edits(self, jobs: tuple[JobPlan, ...]) -> tuple[EditPlan, ...]:
        if not jobs:
            return ()
        count = 20 if self._is_contested else self._pick((0, 1, 3, 8, 20))
        edits = [self._edit(self._pick(jobs)) for _ in range(count)]
        return tuple(sorted(edits, key=lambda edit: edit.at_ms))

    def _edit(self, job: JobPlan) -> EditPlan:
        at_ms = job.at_ms + self._draw.randrange(max(self._start_ms + self._length_ms - job.at_ms, 1))
        if self._chance(0.5):  # close to an occurrence, where it hurts
            nominal = job.schedule.next_after(at_ms)
            at_ms = at_ms if nominal is None else nominal + self._draw.randint(-1_500, 1_500)
        weights = (50, 30, 30, 5, 5, 0, 0) if self._is_contested else (30, 20, 15, 30, 7, 10, 0)
        kind = self._draw.choices(tuple(EditKind), weights)[0]
        changes = kind is EditKind.CHANGE
        return EditPlan(
            job=job.number,
            at_ms=at_ms,
            kind=kind,
            schedule=self._schedule(at_ms) if changes and self._chance(0.8) else None,
            window_ms=self._pick((None, None, 0, 5_000)) if changes else None,
            priority=self._pick((None, *Priority)) if changes else None,
            client=self._draw.randrange(2),
        )
