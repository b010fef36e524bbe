"""A change and the event that tells of it are written together or not at all; a repeat of a write adds no event."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from carillon.adapters.dynamodb.attributes import size_of
from carillon.adapters.dynamodb.audit import event_item
from carillon.domain.audit import Action, Actor, ActorType, AuditEvent, bounds, told
from carillon.domain.destinations import ANYWHERE, Destination, DestinationKind
from carillon.domain.job import Definition, HttpTarget
from carillon.domain.job_changes import changes_at_creation
from carillon.domain.job_filter import JobFilter
from carillon.domain.limits import Limits
from carillon.domain.operations import BulkAction, asked, cancelled
from carillon.domain.run import RunState
from carillon.domain.schedule import CronSchedule, encode
from carillon.domain.tenancy import Tenant
from carillon.ports.errors import NameTakenError
from carillon.ports.runs import Refused, Saved
from contract.backends import Stores
from contract.samples import NOW_MS, a_definition, a_full_definition, a_run, a_skipped, edited

ACTOR = Actor(ActorType.API_KEY, "01J" + "0" * 23, "req-1", "op_" + "0" * 26)


def event(number: int = 1, action: Action = Action.JOB_UPDATED, tenant: str = "acme") -> AuditEvent:
    """An event, each number another one."""
    return told(action, "job_x", NOW_MS + number, tenant, ACTOR, [("/priority", "low", "high")], of=number)


def trail(stores: Stores, tenant: str = "acme") -> list[AuditEvent]:
    """A tenant's events, the oldest first."""
    return list(stores.trail.list_newest(tenant, 100, None).events)[::-1]


def created(stores: Stores) -> Definition:
    """A stored job."""
    definition = a_definition()
    stores.jobs.create(definition)
    return definition


def test_a_creation(stores: Stores) -> None:
    """A repeat adds nothing, also with another event; a taken name leaves none."""
    definition = a_definition(name="nightly")
    stores.jobs.create(definition, event=event(1))
    for again in (event(1), event(2)):
        stores.jobs.create(definition, event=again)
    with pytest.raises(NameTakenError):
        stores.jobs.create(a_definition(name="nightly"), event=event(3))
    assert trail(stores) == [event(1)]


def test_an_edit(stores: Stores) -> None:
    """A repeat is recognised and adds nothing; who loses leaves none. Records that are there already do not matter."""
    definition = created(stores)
    changed, seen = edited(definition), {"seen_version": definition.job.version, "seen_revision": 1}
    stores.runs.save(a_skipped(definition.job, NOW_MS), seen=None)
    records = (a_skipped(definition.job, NOW_MS), a_skipped(definition.job, NOW_MS + 1))
    assert stores.jobs.replace(changed, **seen, records=records, event=event(1))
    assert stores.jobs.replace(changed, **seen, records=records, event=event(1))
    other = replace(changed, spec=replace(changed.spec, deadline_ms=1_234))
    assert not stores.jobs.replace(other, **seen, records=(), event=event(2))
    assert trail(stores) == [event(1)]


def test_a_run(stores: Stores) -> None:
    """Likewise, alone and with a notice."""
    job = created(stores).job
    run = a_run(job)
    assert isinstance(stores.runs.save(run, seen=None, event=event(1)), Saved)
    assert isinstance(stores.runs.save(run, seen=None, event=event(1)), Saved)
    other = replace(run, reason="another")
    assert stores.runs.save(other, seen=None, event=event(2)) == Refused(run)
    dead = a_run(job, rev=run.rev + 1, state=RunState.DEAD_LETTERED, next_fire_time=None, ended_at=NOW_MS)
    notice = a_run(job, NOW_MS + 1)
    assert isinstance(stores.runs.end_with_notice(dead, notice, seen=run.rev, event=event(3)), Saved)
    lost = stores.runs.end_with_notice(replace(dead, reason="x"), notice, seen=run.rev, event=event(4))
    assert isinstance(lost, Refused)
    assert trail(stores) == [event(1), event(3)]


def test_an_operation(stores: Stores) -> None:
    """Who started it is kept with it, and named for all that it does."""
    operation = asked("op_" + "1" * 26, "acme", BulkAction.PAUSE, JobFilter(), NOW_MS, replace(ACTOR, operation=None))
    for number in (1, 2):
        assert stores.operations.create(operation, event(number)) == operation
    stored = stores.operations.get("acme", operation.id)
    assert stored is not None
    assert stored.doer == replace(ACTOR, operation=operation.id)
    ended = cancelled(stored, NOW_MS + 5)
    for number in (3, 3):
        assert stores.operations.replace(ended, event(number))
    assert not stores.operations.replace(replace(ended, updated_at=1), event(4))
    assert trail(stores) == [event(1), event(3)]


def test_destinations(stores: Stores) -> None:
    """On the condition of their rev."""
    once = ANYWHERE.having(Destination(DestinationKind.HOST, "a.example.net", NOW_MS))
    for number in (1, 1):
        assert stores.destinations.save("acme", once, event(number))
    assert not stores.destinations.save("acme", ANYWHERE.having(replace(once.entries[0], name="b")), event(2))
    assert trail(stores) == [event(1)]


def test_tenants_and_limits(stores: Stores) -> None:
    """A tenant that is there leaves no second event; limits are told each time that they are set, and taken away."""
    assert stores.tenants.create(Tenant("acme", NOW_MS), event(1))
    assert stores.tenants.create(Tenant("acme", NOW_MS), event(2))
    assert not stores.tenants.create(Tenant("acme", NOW_MS + 1), event(3))
    stores.limits.set("acme", Limits(jobs=5), event(4))
    stores.limits.set("acme", Limits(), event(5))
    assert stores.limits.of("acme") == Limits()
    assert trail(stores) == [event(1), event(4), event(5)]


def test_a_time_is_listed_page_by_page(stores: Stores) -> None:
    """From the one bound, included, to the other, not included; whatever the length of the pages."""
    events = [event(number) for number in range(6)]
    for each in events:
        stores.trail.append(each)
    first, last = bounds(NOW_MS + 1, NOW_MS + 5)
    for limit in range(1, 7):
        found: list[AuditEvent] = []
        position = last
        while True:
            page = stores.trail.list_newest("acme", limit, position, first)
            assert len(page.events) <= limit
            found += page.events
            if page.next_before is None:
                break
            position = page.next_before
        assert found[::-1] == events[1:5], limit
    assert stores.trail.list_newest("acme", 5, first, first).events == ()
    assert stores.trail.list_newest("acme", 5, first, last).events == ()


@pytest.mark.parametrize("make", [a_definition, a_full_definition])
def test_an_event_of_a_creation_takes_one_kilobyte(make: Callable[[], Definition]) -> None:
    """So that it costs two write units: with the longest names of tenants, requests and jobs, and texts of any kind."""
    definition = make()
    target = HttpTarget("https://" + "a" * 60 + "." + "b" * 60 + "." + "c" * 100 + ".example.net/" + "d" * 1_000)
    spec = replace(definition.spec, name="\U0001f514" * 128, target=target)
    minutes = ",".join(map(str, range(60)))
    cron = encode(CronSchedule(f"{minutes} 0 1 1 *", "America/Argentina/ComodRivadavia", start_ms=0, end_ms=NOW_MS))
    longest = Definition(replace(definition.job, schedule=cron), spec)
    actor = Actor(ActorType.API_KEY, "0" * 26, "r" * 128)
    made = told(Action.JOB_CREATED, definition.job.id, NOW_MS, "t" * 40, actor, changes_at_creation(longest), of=1)
    assert size_of(event_item(made)) <= 1_024
