"""Jobs are created whole, once, under a name that is theirs alone."""

import pytest

from carillon.domain.job import Completion, QueueTarget
from carillon.ports.errors import NameTakenError
from contract.backends import Stores
from contract.samples import a_definition, a_full_definition, cancelled_now

QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/orders.fifo"
DEFINITIONS = [
    a_definition(),
    a_full_definition(),
    a_definition(spec={"target": QueueTarget(QUEUE_URL)}),
    a_definition(spec={"target": QueueTarget(QUEUE_URL, Completion(60_000))}),
]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=["plain", "everything set", "queue", "completed queue"])
def test_what_was_created_is_read_as_it_was(stores: Stores, definition: object) -> None:
    """Nothing of a job is lost or changed by storing it."""
    stores.jobs.create(definition)  # type: ignore[arg-type]  # parametrised values come untyped
    assert stores.jobs.get(definition.job.id) == definition  # type: ignore[attr-defined]  # as above


def test_unknown_job_is_none(stores: Stores) -> None:
    """A job that nobody created is not found."""
    assert stores.jobs.get(a_definition().job.id) is None


def test_creating_again_is_no_error(stores: Stores) -> None:
    """A create whose answer was lost may be repeated, also when the job has been changed meanwhile."""
    definition = a_definition(name="daily")
    stores.jobs.create(definition)
    stores.jobs.create(definition)
    stores.jobs.replace(cancelled_now(definition), seen_version=1, seen_revision=1, records=())
    stores.jobs.create(definition)
    assert stores.jobs.get(definition.job.id) == cancelled_now(definition)


def test_another_job_of_the_same_id_is_refused(stores: Stores) -> None:
    """An id is never used for two jobs, and the first one stays as it is."""
    first = a_definition()
    stores.jobs.create(first)
    with pytest.raises(ValueError, match="another job"):
        stores.jobs.create(a_definition(id=first.job.id, created_at=first.job.created_at + 1))
    assert stores.jobs.get(first.job.id) == first


def test_b146_name_of_a_living_job_is_taken(stores: Stores) -> None:
    """B146: of two jobs with one name the second is refused, told which job holds it, and not stored."""
    first, second = a_definition(name="daily"), a_definition(name="daily")
    stores.jobs.create(first)
    with pytest.raises(NameTakenError) as refused:
        stores.jobs.create(second)
    assert refused.value.job_id == first.job.id
    assert stores.jobs.get(second.job.id) is None
    assert [entry.job_id for entry in stores.due_entries()] == [first.job.id]


def test_tenants_do_not_share_names(stores: Stores) -> None:
    """The same name in another tenant is free."""
    stores.jobs.create(a_definition(name="daily"))
    stores.jobs.create(a_definition(name="daily", tenant="umbrella"))


def test_b142_name_of_a_cancelled_job_is_free(stores: Stores) -> None:
    """B142: a name can be used again once its job is cancelled, and the new job has an id of its own."""
    first, second = a_definition(name="nightly"), a_definition(name="nightly")
    stores.jobs.create(first)
    assert stores.jobs.replace(cancelled_now(first), seen_version=1, seen_revision=1, records=())
    stores.jobs.create(second)
    with pytest.raises(NameTakenError):
        stores.jobs.create(a_definition(name="nightly"))


def test_who_holds_a_name(stores: Stores) -> None:
    """Nobody at first; then the job that took it, within its tenant; nobody again when that is cancelled."""
    first = a_definition(name="nightly")
    assert stores.jobs.holder_of(first.job.tenant, "nightly") is None
    stores.jobs.create(first)
    assert stores.jobs.holder_of(first.job.tenant, "nightly") == first.job.id
    assert stores.jobs.holder_of("umbrella", "nightly") is None
    stores.jobs.replace(cancelled_now(first), seen_version=1, seen_revision=1, records=())
    assert stores.jobs.holder_of(first.job.tenant, "nightly") is None


def test_name_of_a_job_that_is_gone_is_free(stores: Stores) -> None:
    """A name whose job was removed without freeing it is taken over."""
    first, second = a_definition(name="nightly"), a_definition(name="nightly")
    stores.jobs.create(first)
    stores.drop_hot_half(first.job.id)
    stores.jobs.create(second)
    stores.jobs.delete(first.job.id)
    with pytest.raises(NameTakenError) as refused:
        stores.jobs.create(a_definition(name="nightly"))
    assert refused.value.job_id == second.job.id


def test_what_is_left_of_a_removed_job_is_deleted(stores: Stores) -> None:
    """Deleting removes the other half and frees the name of a job whose hot half is gone; of a living one, nothing."""
    definition = a_definition(name="daily")
    stores.jobs.create(definition)
    stores.jobs.delete(definition.job.id)
    assert stores.jobs.get(definition.job.id) == definition
    stores.drop_hot_half(definition.job.id)
    stores.jobs.delete(definition.job.id)
    stores.jobs.delete(definition.job.id)
    assert stores.jobs.list_newest(definition.job.tenant, 10, None).definitions == ()
    stores.jobs.create(a_definition(name="daily"))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 100])
def test_b188_b191_lists_show_each_job_once_newest_first(stores: Stores, size: int) -> None:
    """B188, B191: pages of any size show every job of the tenant once, and the last one says that it is the last."""
    definitions = [a_definition() for _ in range(5)]
    for definition in [*definitions, a_definition(tenant="umbrella")]:
        stores.jobs.create(definition)
    seen, after, pages = [], None, 0
    while pages == 0 or after is not None:
        page = stores.jobs.list_newest("acme", size, after)
        seen.extend(page.definitions)
        after, pages = page.next_after, pages + 1
    assert seen == definitions[::-1]
    assert pages == -(-len(definitions) // size)


def test_lists_leave_out_what_is_gone_and_go_on(stores: Stores) -> None:
    """A job removed meanwhile shortens its page and does not end the list."""
    definitions = [a_definition() for _ in range(3)]
    for definition in definitions:
        stores.jobs.create(definition)
    stores.drop_hot_half(definitions[2].job.id)
    page = stores.jobs.list_newest("acme", 1, None)
    assert page.definitions == ()
    assert stores.jobs.list_newest("acme", 1, page.next_after).definitions == (definitions[1],)
