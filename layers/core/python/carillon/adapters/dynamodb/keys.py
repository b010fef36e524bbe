"""All names of the two tables: keys, attributes, indexes. Nothing else spells them.

Several are reserved words in DynamoDB (`shard` is one), so expressions alias every name, always.
"""

from typing import Any, Final

from carillon.domain.identity import is_aside_name

# ---------------------------------------------------------------------------------------------------------- attributes

PK: Final = "pk"
SK: Final = "sk"
KIND: Final = "kind"

# of jobs and runs
TENANT: Final = "tenant"
STATE: Final = "state"
SHARD: Final = "shard"  # only while the item is in the due index
HOME_SHARD: Final = "home_shard"  # always
NEXT_FIRE_TIME: Final = "next_fire_time"
SCHEDULED_FOR: Final = "scheduled_for"
SCHEDULE: Final = "schedule"
RULES: Final = "rules"
PLANNED: Final = "planned"
PLANNED_UNTIL: Final = "planned_until"
GRANTED: Final = "granted"
VERSION: Final = "version"
GENERATION: Final = "generation"
LANE: Final = "lane"
PRIORITY: Final = "priority"
LEASE_EPOCH: Final = "lease_epoch"
LEASE_UNTIL: Final = "lease_until"
CLAIM_ID: Final = "claim_id"
DECIDED_AT: Final = "decided_at"
CREATED_AT: Final = "created_at"
UPDATED_AT: Final = "updated_at"
ERROR: Final = "error"
HAS_OBJECTS: Final = "has_objects"
COUNTED: Final = "counted"  # only while the job counts: the stream tells when it goes
EXPIRES_AT: Final = "expires_at"  # epoch seconds: the TTL attribute of both tables

# of the other half of a job
LISTED: Final = "listed"
LISTED_STATE: Final = "listed_state"
STATE_REASON: Final = "state_reason"
NAME: Final = "name"
LABELS: Final = "labels"
TARGET: Final = "target"
RETRY: Final = "retry"
REVISIONS: Final = "revisions"
REVISION: Final = "revision"
PAYLOAD: Final = "payload"
STORED_PAYLOAD: Final = "stored_payload"
DEADLINE_MS: Final = "deadline_ms"
ON_FAILURE: Final = "on_failure"

# of runs
REV: Final = "rev"
WAIT: Final = "wait"
ATTEMPT: Final = "attempt"
ATTEMPTS: Final = "attempts"
LOST: Final = "lost"
SPENT: Final = "spent"
IS_CANCELLED: Final = "is_cancelled"
COMPLETION_UNTIL: Final = "completion_until"
HEARTBEAT_MS: Final = "heartbeat_ms"
START_ID: Final = "start_id"
REASON: Final = "reason"
LATENESS_MS: Final = "lateness_ms"
BLOCK: Final = "block"
NOTICE: Final = "notice"
NOTICE_BODY: Final = "notice_body"
FAILED_ROW: Final = "failed_row"
ENDED_AT: Final = "ended_at"
DEAD_TENANT: Final = "dead_tenant"
DEAD_AT: Final = "dead_at"

# of breakers
LEVEL: Final = "level"
RETRY_AT: Final = "retry_at"
PROBE_UNTIL: Final = "probe_until"
PROBE_ID: Final = "probe_id"
CLOSED_AT: Final = "closed_at"

# of verified destinations
REGISTERED_AT: Final = "registered_at"
VERIFIED_AT: Final = "verified_at"

# of the control table
OWNER: Final = "owner"
COVERED_UNTIL: Final = "covered_until"
HIGHEST: Final = "highest"
JOB_ID: Final = "job_id"
KEY_ID: Final = "key_id"
DIGEST: Final = "digest"
SCOPES: Final = "scopes"
HINT: Final = "hint"
LAST_USED_AT: Final = "last_used_at"
KEY_EXPIRES_AT_MS: Final = "key_expires_at_ms"
REVOKED_AT: Final = "revoked_at"
CIPHERTEXT: Final = "ciphertext"
RETIRES_AT: Final = "retires_at"
FINGERPRINT: Final = "fingerprint"
BEGUN_AT: Final = "begun_at"
SEED: Final = "seed"
STATUS: Final = "status"
ANSWER: Final = "answer"
ANSWER_HEADERS: Final = "answer_headers"
OCCURRED_AT: Final = "occurred_at"
ACTOR: Final = "actor"
ACTION: Final = "action"
TARGET_ID: Final = "target_id"
CHANGES: Final = "changes"
BODY: Final = "body"
KEPT_AT: Final = "kept_at"
SEALED: Final = "sealed"
DESTINATIONS: Final = "destinations"
RATE_MILLI: Final = "rate_milli"
BURST: Final = "burst"
CREATE_RATE_MILLI: Final = "create_rate_milli"
CREATE_BURST: Final = "create_burst"
MOST_JOBS: Final = "most_jobs"
PAYLOAD_BYTES: Final = "payload_bytes"
USED: Final = "used"
SHARE: Final = "share"
WINDOW: Final = "window"
MADE: Final = "made"
EVENTS: Final = "events"
CALENDAR: Final = "calendar"
OPERATION: Final = "operation"

# --------------------------------------------------------------------------------------------------------------- kinds

JOB_KIND: Final = "job"
SPEC_KIND: Final = "spec"
RUN_KIND: Final = "run"
SEGMENT_KIND: Final = "segment"

# ---------------------------------------------------------------------------------------------------------- jobs table

JOB_SK: Final = "JOB"
SPEC_SK: Final = "JOB#SPEC"
JOB_PREFIX: Final = "JOB#"
RUN_PREFIX: Final = "RUN#"
NOTICE_PREFIX: Final = "NOTICE#"
SEGMENT_PREFIX: Final = "SEG#"


def job_pk(job_id: str) -> str:
    """The partition of a job and of all its runs."""
    return JOB_PREFIX + job_id


def job_id_in(pk: str) -> str | None:
    """The job whose partition this is, or None when it is no job's."""
    return pk[len(JOB_PREFIX) :] if pk.startswith(JOB_PREFIX) else None


def plan_sk(segment: int | None) -> str:
    """The sort key of what is planned: the job itself, or what an edit left of a generation."""
    return JOB_SK if segment is None else f"{SEGMENT_PREFIX}{segment}"


def segment_in(sk: str) -> int | None:
    """The generation whose segment's sort key this is, or None when it is no segment's."""
    generation = sk.removeprefix(SEGMENT_PREFIX)
    return int(generation) if sk.startswith(SEGMENT_PREFIX) and generation.isdecimal() else None


def run_sk(name: str) -> str:
    """The sort key of a run: sorts by nominal time. Notices stand apart, so that nobody lists them among the runs."""
    return (NOTICE_PREFIX if is_aside_name(name) else RUN_PREFIX) + name


def run_name_in(sk: str) -> str | None:
    """The name of the run whose sort key this is, or None when it is no run's."""
    prefix = NOTICE_PREFIX if sk.startswith(NOTICE_PREFIX) else RUN_PREFIX
    return sk[len(prefix) :] if sk.startswith(prefix) else None


BREAKERS_PREFIX: Final = "BREAKERS#"


def breakers_pk(tenant: str) -> str:
    """The partition of the breakers of a tenant's targets, whose sort keys are the targets."""
    return BREAKERS_PREFIX + tenant


VERIFICATIONS_PREFIX: Final = "VERIFICATIONS#"


def verifications_pk(tenant: str) -> str:
    """The partition of a tenant's verified destinations, whose sort keys are their ids."""
    return VERIFICATIONS_PREFIX + tenant


# ------------------------------------------------------------------------------------------------------- control table

TENANT_SK: Final = "TENANT"
DESTINATIONS_SK: Final = "DESTINATIONS"
FAILURE_TARGET_SK: Final = "ON_FAILURE"
KEY_SK: Final = "KEY"
LEASE_SK: Final = "LEASE"
KEY_PREFIX: Final = "KEY#"
SECRET_PREFIX: Final = "SECRET#"  # noqa: S105 - the beginning of a key, no secret
_TENANT_PREFIX: Final = "TENANT#"
TICKS_KEY: Final = ("TICKS", "COVERED")
SHARDS_KEY: Final = ("SHARDS", "HIGHEST")
CURSOR_KEY_KEY: Final = ("STAGE", "CURSOR_KEY")


def tenant_pk(tenant: str) -> str:
    """The partition of a tenant: the tenant and its secrets."""
    return _TENANT_PREFIX + tenant


def secret_key(tenant: str, secret_id: str) -> tuple[str, str]:
    """The key of a signing secret."""
    return tenant_pk(tenant), SECRET_PREFIX + secret_id


def tenants_key_key(tenant: str, key_id: str) -> tuple[str, str]:
    """The key of the item that says that an API key is a tenant's."""
    return tenant_pk(tenant), KEY_PREFIX + key_id


def request_key(tenant: str, key: str) -> tuple[str, str]:
    """The key of a request that a tenant may repeat under a key of its own."""
    return f"REQUEST#{tenant}", key


AUDIT_PREFIX: Final = "AUDIT#"


def audit_pk(tenant: str) -> str:
    """The partition of a tenant's audit events, whose sort keys are their ids."""
    return AUDIT_PREFIX + tenant


def failure_target_key(tenant: str) -> tuple[str, str]:
    """The key of the item that names whom a tenant has told of failed runs of all jobs."""
    return tenant_pk(tenant), FAILURE_TARGET_SK


def destinations_key(tenant: str) -> tuple[str, str]:
    """The key of the item that holds a tenant's destinations."""
    return tenant_pk(tenant), DESTINATIONS_SK


def api_key_key(key_id: str) -> tuple[str, str]:
    """The key of an API key."""
    return KEY_PREFIX + key_id, KEY_SK


def name_key(tenant: str, name: str) -> tuple[str, str]:
    """The key of the item that says which job of a tenant holds a name."""
    return f"NAME#{tenant}", f"NAME#{name}"


def operation_key(tenant: str, operation_id: str) -> tuple[str, str]:
    """The key of a tenant's operation."""
    return f"OPERATION#{tenant}", operation_id


def hour_key(tenant: str, hour: int, number: int) -> tuple[str, str]:
    """The key of a slice of the counts of a tenant's runs that ended in an hour (counted from the epoch)."""
    return f"STATISTICS#{tenant}", f"{hour:07}#{number}"


def hour_in(sk: str) -> int:
    """The hour of whose counts this is the sort key."""
    return int(sk.partition("#")[0])


def told_key(event: str) -> tuple[str, str]:
    """The key of what remembers which events were counted from one on."""
    return f"TOLD#{event}", TOLD_SK


LIMITS_PK: Final = "LIMITS"
TOLD_SK: Final = "TOLD"
CALENDAR_SK: Final = "CALENDAR"
COUNT_SK: Final = "COUNT"


def limit_key(tenant: str) -> tuple[str, str]:
    """The key of a tenant's limits: those of all tenants are one partition, to be read together."""
    return LIMITS_PK, tenant_pk(tenant)


def slice_key(tenant: str, number: int) -> tuple[str, str]:
    """The key of a slice of the count of a tenant's jobs: each is a partition of its own."""
    return f"COUNT#{tenant}#{number}", COUNT_SK


def freed_key(tenant: str, second: int) -> tuple[str, str]:
    """The key of what was freed of a tenant's count by what the stream told of a second (epoch)."""
    return f"FREED#{tenant}", f"{second:012}"


def calendar_key(name: str) -> tuple[str, str]:
    """The key of a calendar of slots."""
    return f"SLOTS#{name}", CALENDAR_SK


def group_key(group: int) -> tuple[str, str]:
    """The key of the lease of a shard group."""
    return f"GROUP#{group}", LEASE_SK


def quarantine_key(day: str, message_id: str) -> tuple[str, str]:
    """The key of an unreadable message set aside on a day (`yyyy-mm-dd`)."""
    return f"QUARANTINE#{day}", message_id


# ------------------------------------------------------------------------------------------------------------- indexes

DUE_INDEX: Final = "due"
BY_TENANT_INDEX: Final = "by_tenant"
DEAD_INDEX: Final = "dead"

DUE_PROJECTION: Final = (
    KIND,
    TENANT,
    LANE,
    PRIORITY,
    STATE,
    VERSION,
    GENERATION,
    SCHEDULED_FOR,
    WAIT,
    ATTEMPT,
    SCHEDULE,
    RULES,
    PLANNED,
    GRANTED,
)
"""What deciding and routing need, and nothing that a claim writes: so a claim costs the index nothing."""

BY_TENANT_PROJECTION: Final = (NAME, LABELS, LISTED_STATE)
"""What lists filter by, and nothing that a confirm writes."""


def _attribute(name: str, kind: str) -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": kind}


def _keys(hash_name: str, range_name: str) -> list[dict[str, str]]:
    return [{"AttributeName": hash_name, "KeyType": "HASH"}, {"AttributeName": range_name, "KeyType": "RANGE"}]


def _index(name: str, hash_name: str, range_name: str, projection: dict[str, Any]) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": _keys(hash_name, range_name), "Projection": projection}


def _include(names: tuple[str, ...]) -> dict[str, Any]:
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(names)}


def jobs_table(name: str) -> dict[str, Any]:
    """The jobs table as a CreateTable request: what the deployed one has to agree with."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _keys(PK, SK),
        "AttributeDefinitions": [
            *(_attribute(text, "S") for text in (PK, SK, TENANT, LISTED, DEAD_TENANT)),
            *(_attribute(number, "N") for number in (SHARD, NEXT_FIRE_TIME, DEAD_AT)),
        ],
        "GlobalSecondaryIndexes": [
            _index(DUE_INDEX, SHARD, NEXT_FIRE_TIME, _include(DUE_PROJECTION)),
            _index(BY_TENANT_INDEX, TENANT, LISTED, _include(BY_TENANT_PROJECTION)),
            _index(DEAD_INDEX, DEAD_TENANT, DEAD_AT, {"ProjectionType": "KEYS_ONLY"}),
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def control_table(name: str) -> dict[str, Any]:
    """The control table as a CreateTable request."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _keys(PK, SK),
        "AttributeDefinitions": [_attribute(PK, "S"), _attribute(SK, "S")],
    }
