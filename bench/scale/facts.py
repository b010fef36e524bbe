"""What AWS documents, as far as the model uses it. Collected in November 2026 for us-east-1.

Each fact names where it stands. `assumed` marks what no source says: it is on the list of things to measure.
"""

from typing import Final

# ------------------------------------------------------------------------------------------------------------ DynamoDB

PARTITION_WRITES_PER_SECOND: Final = 1_000
"""Write units a second of one partition, of a table and of each index by itself, and so of one partition key.

Developer guide, "Key range throughput exceeded"; "Warm throughput". A key whose sort key only ever rises is not split
for heat (AWS database blog, "Scaling DynamoDB", part 2), and the due index is such a key for each shard.
"""

PARTITION_READS_PER_SECOND: Final = 3_000
"""Read units a second of one partition. Same source."""

PARTITION_BYTES: Final = 10 * 1024**3
"""A partition is split when it holds more. AWS database blog, "Scaling DynamoDB", part 1."""

NEW_ON_DEMAND_WRITES_PER_SECOND: Final = 4_000
"""What a new on-demand table or index takes at once. Developer guide, "On-demand capacity: initial throughput"."""

TABLE_WRITES_PER_SECOND: Final = 40_000
"""Default quota of write units a second, of an on-demand table and of each of its indexes by itself; can be raised.

Developer guide, "Quotas": "for on-demand capacity mode tables and GSIs, the table-level quota is the maximum [...]
available for any table, or any individual GSI within that table".
"""

INDEX_MOVE_WRITES: Final = 2
"""Of an update that changes an index key: the old entry is deleted and a new one is put. Developer guide, "GSI"."""

INDEX_REMOVAL_WRITES: Final = 1
"""Of an update that takes an item out of a sparse index. Same source."""

TRANSACTION_FACTOR: Final = 2
"""A transaction's writes count twice, on the table's side only; those in the index do not. Pricing page."""

READ_UNIT_BYTES: Final = 4 * 1024
PAGE_BYTES: Final = 1024**2
"""A query's page ends at 1 MB. API reference, Query."""

EVENTUAL_READ: Final = 0.5
"""Read units for 4 KB, eventually consistent: an index knows no other. An empty query costs as much."""

INDEX_ENTRY_OVERHEAD_BYTES: Final = 100
"""Added to each item and each index entry in what is stored. Developer guide, "Item sizes and formats"."""

BATCH_STATEMENTS_SECONDS: Final = 0.015
"""Answer time of 25 statements. Assumed: single writes take 3 to 6 ms."""

PAGE_SECONDS: Final = 0.06
"""Answer time of a page of 1 MB. Assumed."""

ITEM_SECONDS: Final = 0.006
"""Answer time of one read or write by a worker. Assumed."""

# ----------------------------------------------------------------------------------------------------------------- SQS

MESSAGES_IN_FLIGHT: Final = 120_000
"""Received and not yet deleted, of one standard queue; then `OverLimit`. Developer guide, "Quotas"."""

QUEUE_CHUNK_BYTES: Final = 64 * 1024
"""A request is billed by chunks of that. Pricing page."""

BATCH_SEND_SECONDS: Final = 0.015
"""Answer time of a request with ten messages. Assumed."""

# -------------------------------------------------------------------------------------------------------------- Lambda

VCPU_MB: Final = 1_769
"""Memory at which a function has one whole processor; below, its share is in proportion. Developer guide."""

STANDARD_FIRST_BATCHES: Final = 5
STANDARD_BATCHES_PER_SECOND: Final = 300 / 60
STANDARD_MOST_BATCHES: Final = 1_250
"""A queue's mapping in standard mode: batches at once when messages appear, added each second, and at most.

Developer guide, "Configuring scaling behavior for SQS event source mappings".
"""

POLLER_BATCHES: Final = 10
"""Batches at once of a provisioned poller. Same page."""

PROVISIONED_BATCHES_PER_SECOND: Final = 1_000 / 60
"""Added each second in provisioned mode. Same page."""

MOST_MINIMUM_POLLERS: Final = 200
MOST_POLLERS: Final = 10_000
"""What may be asked for: the pollers that are always there, and those at most. Lambda API, ProvisionedPollerConfig."""

ENVIRONMENTS_AT_ONCE: Final = 1_000
ENVIRONMENTS_PER_SECOND: Final = 100
"""New execution environments of one function: a thousand every ten seconds, refilled continuously, never saved up.

Developer guide, "Lambda scaling behavior".
"""

ACCOUNT_CONCURRENCY: Final = 1_000
"""Executions at once in an account and region, by default; a new account has less. Can be raised. Same page."""

COLD_START_SECONDS: Final = 0.8
"""From a new environment to the handler's first line, imports and first connections included. Assumed."""
