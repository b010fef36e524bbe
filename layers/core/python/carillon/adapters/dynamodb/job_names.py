"""The names that jobs hold within their tenant."""

from dataclasses import dataclass
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, text
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import ABSENT, Write, delete, key_of, put
from carillon.domain.job import JobSpec

_HELD_BY: Final = f"#{k.JOB_ID} = :{k.JOB_ID}"
_FREE_OR_HELD_BY: Final = f"{ABSENT} OR #{k.JOB_ID} IN (:{k.JOB_ID}, :former)"


@dataclass(frozen=True, slots=True)
class JobNames:
    """Writes that take and free names, and who holds one."""

    database: Database

    def holder(self, tenant: str, name: str) -> str | None:
        """The job that took a name last, or None when the name is free."""
        item = self.database.get(self.database.control, key_of(*k.name_key(tenant, name)))
        return None if item is None else Fields(item).text(k.JOB_ID)

    def taking(self, spec: JobSpec, former_holder: str | None) -> list[Write]:
        """The write by which a job takes its name, if it has one: free, its own, or left by its former holder."""
        if spec.name is None:
            return []
        holder = {k.JOB_ID: text(spec.job_id)}
        values = {f":{k.JOB_ID}": text(spec.job_id), ":former": text(former_holder or spec.job_id)}
        item = key_of(*k.name_key(spec.tenant, spec.name)) | holder
        return [put(self.database.control, item, _FREE_OR_HELD_BY, values)]

    def freeing(self, tenant: str, name: str | None, job_id: str) -> list[Write]:
        """The write by which a job's name becomes free, if it has one and still holds it."""
        return [] if name is None else [self._freeing(tenant, name, job_id)]

    def free(self, tenant: str, name: str, job_id: str) -> None:
        """Free a name, if this job still holds it."""
        self.database.write(self._freeing(tenant, name, job_id))

    def _freeing(self, tenant: str, name: str, job_id: str) -> Write:
        holder = {f":{k.JOB_ID}": text(job_id)}
        return delete(self.database.control, key_of(*k.name_key(tenant, name)), _HELD_BY, holder)
