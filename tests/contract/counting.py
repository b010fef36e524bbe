"""A tenant whose jobs are counted, in a world whose stream is read when it is asked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from carillon.adapters.dynamodb.freeing import DynamoFreedJobs
from carillon.adapters.memory.edges import RecordingMeter
from carillon.application.edit_job import Edit, EditJob
from carillon.domain.job import Definition, JobState
from carillon.domain.limits import Limits
from carillon.domain.schedule import Every, encode
from carillon.entrypoint.removals import removal_handler
from carillon.ports.errors import LimitReachedError, NameTakenError, TooFastError
from carillon.ports.jobs import Claim, Confirmation
from contract.backends import Stores
from contract.samples import NOW_MS, TENANT, a_definition, as_due

DAY_MS = 24 * 3600 * 1000
HOURLY, TWO_HOURLY = (encode(Every(hours * 3_600_000, NOW_MS + 60_000)) for hours in (1, 2))


@dataclass
class Counted:
    """A tenant's jobs in a world, whose stream is read when it is asked."""

    stores: Stores
    streams: Any = None
    seen: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    told_at: float | None = None
    """In which second the stream tells of all that it has told since (epoch seconds); None: as it is."""

    def limit(self, **limits: Any) -> None:
        """Give the tenant limits."""
        self.stores.limits.set(TENANT, Limits(**limits))

    def create(self, **changes: Any) -> Definition:
        """Create a job under the tenant's limits."""
        definition = a_definition(**{"schedule": HOURLY, **changes})
        self.stores.jobs.create(definition, limits=self.stores.limits.of(definition.job.tenant))
        return definition

    def creates(self, number: int) -> list[str]:
        """What becomes of so many creations, one after the other."""
        return [outcome_of(self.create) for _ in range(number)]

    @property
    def used(self) -> int:
        """How many jobs count, with what the stream has told by now."""
        self.follow()
        return sum(each.used for each in self.stores.counts.slices(TENANT))

    @property
    def stored(self) -> int:
        """How many jobs in the table have something planned, or are paused."""
        page = self.stores.jobs.list_newest(TENANT, 1_000, None)
        return sum(each.job.state in (JobState.SCHEDULED, JobState.PAUSED) for each in page.definitions)

    def follow(self) -> None:
        """Let the function that follows the stream see what is new in it."""
        if self.streams is not None:
            self.events = list(self._records())
            self.tell(self.events[self.seen :])
            self.seen = len(self.events)

    def tell(self, records: Sequence[dict[str, Any]]) -> None:
        """Tell the function of these records."""
        assert self.stores.database is not None
        handle = removal_handler(lambda *_: None, DynamoFreedJobs(self.stores.database), RecordingMeter())
        assert handle({"Records": list(records)}, None) == {"batchItemFailures": []}  # type: ignore[arg-type]

    def stored_of(self, definition: Definition) -> Definition:
        """A job as it is stored."""
        stored = self.stores.jobs.get(definition.job.id)
        assert stored is not None
        return stored

    def edit(self, definition: Definition, change: Edit, now_ms: int = NOW_MS) -> Definition:
        """Edit a job as the API does."""
        edit = EditJob(self.stores.jobs, self.stores.runs, DAY_MS, self.stores.limits.of)
        return edit(TENANT, definition.job.id, now_ms, change)

    def dispatch(self, definition: Definition, state: JobState = JobState.DISPATCHED) -> None:
        """Claim a job and confirm that nothing comes next."""
        entry = as_due(self.stored_of(definition).job)
        claim = Claim(entry, 1, "claim", NOW_MS + 30_000, NOW_MS)
        self.stores.jobs.claim_many([claim])
        assert self.stores.jobs.confirm_many([Confirmation(claim, None, 1, state, None)]) == [True]

    def _records(self) -> Iterator[dict[str, Any]]:
        database = self.stores.database
        assert database is not None
        arn = database.client.describe_table(TableName=database.jobs)["Table"]["LatestStreamArn"]
        for shard in self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = self.streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            for record in self.streams.get_records(ShardIterator=iterator)["Records"]:
                told = record["dynamodb"]
                at = told["ApproximateCreationDateTime"].timestamp() if self.told_at is None else self.told_at
                yield record | {"dynamodb": told | {"ApproximateCreationDateTime": at}}


def outcome_of(create: Callable[[], object]) -> str:
    """What becomes of a creation."""
    try:
        create()
    except LimitReachedError as error:
        return error.limit
    except TooFastError:
        return "create_rate"
    except NameTakenError:
        return "name"
    return "created"
