"""Which destinations were verified, in the jobs table, where workers write anyway: one item a destination."""

from collections.abc import Mapping
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, number, text
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import key_of, put
from carillon.domain.destinations import Verification

_OF_TENANT: Final = f"#{k.PK} = :pk"
_ALWAYS: Final = f"attribute_not_exists(#{k.PK}) OR attribute_exists(#{k.PK})"


class DynamoVerifications:
    """Which destinations were verified."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, tenant: str) -> Mapping[str, Verification]:
        """A tenant's, by the ids of the destinations, read with strong consistency."""
        values = {":pk": text(k.verifications_pk(tenant))}
        pages = self._database.query(self._database.jobs, _OF_TENANT, values)
        found = (Fields(item) for page in pages for item in page)
        return {
            fields.text(k.SK): Verification(fields.number(k.REGISTERED_AT), fields.number(k.VERIFIED_AT))
            for fields in found
        }

    def save(self, tenant: str, destination_id: str, verification: Verification) -> None:
        """Record one, in place of an earlier one."""
        item = key_of(k.verifications_pk(tenant), destination_id) | {
            k.REGISTERED_AT: number(verification.registered_at),
            k.VERIFIED_AT: number(verification.at),
        }
        self._database.write(put(self._database.jobs, item, _ALWAYS))
