"""DynamoDB ends a page at one megabyte, wherever that falls: every list is read to its end."""

from dataclasses import replace

import pytest

from contract.backends import Stores
from contract.conftest import LIVE
from contract.samples import NOW_MS, a_definition, a_job, a_run

KILOBYTE = "x" * 1_000


@pytest.fixture(params=["moto", LIVE])
def world(request: pytest.FixtureRequest) -> str:
    """Memory knows no megabyte."""
    return str(request.param)


def test_b127_the_due_index_is_read_to_the_end(stores: Stores) -> None:
    """B127: entries of 1.5 MB come in several pages, and all of them come."""
    definitions = [a_definition(schedule=KILOBYTE * 50, next_fire_time=NOW_MS + number) for number in range(30)]
    for definition in definitions:
        stores.jobs.create(definition)
    pages = [[entry.job_id for entry in page] for page in stores.due.pages(1, NOW_MS + 100)]  # type: ignore[union-attr]  # jobs
    assert len(pages) > 1
    assert [job_id for page in pages for job_id in page] == [definition.job.id for definition in definitions]


def test_b190_long_lists_of_large_runs_are_read_to_the_end(stores: Stores) -> None:
    """B190: a page that the store cuts short is filled from the next one."""
    job = a_job()
    runs = [a_run(job, NOW_MS + number) for number in range(12)]
    for run in runs:
        excerpt = replace(run.attempts[0], excerpt=KILOBYTE * 150)
        stores.runs.save(replace(run, attempts=(excerpt,)), seen=None)
    page = stores.runs.list_newest(job.id, 11, None)
    assert [run.key for run in page.runs] == [run.key for run in runs[:0:-1]]
    assert stores.runs.list_newest(job.id, 11, page.next_before).runs[0].key == runs[0].key


def test_lists_of_large_jobs_are_whole(stores: Stores) -> None:
    """Both halves of every job of a page are read, however large they are."""
    definitions = [a_definition(spec={"payload": b"x" * 300_000}) for _ in range(8)]
    for definition in definitions:
        stores.jobs.create(definition)
    assert stores.jobs.list_newest("acme", 8, None).definitions == tuple(definitions[::-1])
