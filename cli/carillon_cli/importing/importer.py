"""Sending the rows of a file to the service, several at a time, so that a repeat changes nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event
from typing import Any

from carillon.client import ApiProblem, Client, ClientError
from carillon_cli.importing.comparison import differences
from carillon_cli.importing.rows import BadLine, Row

_STOPPING = frozenset({401, 403, 429, 503})
"""Refusals that say nothing about the row: the next one would fare the same."""


class Outcome(StrEnum):
    """What became of a line."""

    CREATED = "created"
    UNCHANGED = "unchanged"
    DIFFERS = "differs"
    REFUSED = "refused"
    NOT_TRIED = "not_tried"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a line. `name` is its job's, `reason` says why it was refused or what differs."""

    line: int
    outcome: Outcome
    name: str | None = None
    job_id: str | None = None
    reason: str | None = None


@dataclass(slots=True)
class Importer:
    """Creates a job for each row. A name that is taken means that an earlier import was here: then the job is compared.

    Attributes:
        client: The service.
        settings: All of each job but name and schedule; a payload is for the lines that bring none.
        failure: What ended the import early, or None. Rows that it did not come to are `NOT_TRIED`.
    """

    client: Client
    settings: Mapping[str, Any]
    failure: ClientError | None = None
    _stopped: Event = field(default_factory=Event)

    def run(self, rows: Iterable[Row], parallel: int) -> Iterator[Result]:
        """What became of each row, in the order of completion."""
        try:
            yield from side_by_side(self._try_row, rows, parallel)
        finally:
            self._stopped.set()

    def _try_row(self, row: Row) -> Result:
        if self._stopped.is_set():
            return Result(row.line, Outcome.NOT_TRIED, row.name)
        try:
            return self._create(row)
        except ClientError as error:
            self.failure = self.failure or error
            self._stopped.set()
            return Result(row.line, Outcome.NOT_TRIED, row.name, reason=str(error))

    def _create(self, row: Row) -> Result:
        definition = definition_of(row, self.settings)
        try:
            job = self.client.create_job(definition)
        except ApiProblem as problem:
            if problem.status in _STOPPING:
                raise
            holder = problem.members.get("job_id")
            if problem.code == "name_taken" and isinstance(holder, str):
                return self._compare(row, definition, holder)
            return Result(row.line, Outcome.REFUSED, row.name, reason=str(problem))
        return Result(row.line, Outcome.CREATED, row.name, str(job.get("id")))

    def _compare(self, row: Row, definition: Mapping[str, Any], job_id: str) -> Result:
        try:
            different = differences(definition, self.client.job(job_id))
        except ApiProblem as problem:
            if problem.status in _STOPPING:
                raise
            return Result(row.line, Outcome.REFUSED, row.name, job_id, f"the name is taken, and its job: {problem}")
        if not different:
            return Result(row.line, Outcome.UNCHANGED, row.name, job_id)
        return Result(row.line, Outcome.DIFFERS, row.name, job_id, f"the job there has another {', '.join(different)}")


def definition_of(row: Row, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The job that a row asks for, in the words of the interface."""
    payload = {} if row.payload is None else {"payload": row.payload}
    return {"name": row.name, "schedule": row.schedule, **settings, **payload}


def refused(line: BadLine) -> Result:
    """The result of a line that cannot become a job."""
    return Result(line.line, Outcome.REFUSED, line.name, reason=line.reason)


def side_by_side(function: Callable[[Row], Result], rows: Iterable[Row], parallel: int) -> Iterator[Result]:
    """Results in the order of completion, with few rows waiting at a time. Leaving early drops those not begun."""
    pool = ThreadPoolExecutor(parallel, thread_name_prefix="import")
    running: set[Future[Result]] = set()
    try:
        for row in rows:
            running.add(pool.submit(function, row))
            if len(running) >= 2 * parallel:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        pool.shutdown(cancel_futures=True)
