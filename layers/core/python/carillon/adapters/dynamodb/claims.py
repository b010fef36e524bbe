"""Claims of due jobs, by two transports: an UpdateItem each, or conditional PartiQL statements in batches of 25.

A claim writes lease attributes only, which no index shows: one write unit, the index untouched. Which transport is
better is a matter of processor time and latency; what a claim is, and when it is refused, is the same.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from carillon.adapters.aws import ask
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import ZERO, Attribute, Item, number, text
from carillon.adapters.dynamodb.database import Database, Lost, Written
from carillon.adapters.dynamodb.job_items import job_key, lease_attributes
from carillon.adapters.dynamodb.writes import Write, setting, update
from carillon.domain.job import ClaimLease
from carillon.ports import Claim, UnavailableError

MOST_STATEMENTS: Final = 25

Answer = Written | Lost | None
"""What became of one claim; None: nobody answered for it."""


class ClaimTransport(Protocol):
    """How claims get to the table."""

    def __call__(self, database: Database, claims: Sequence[Claim]) -> list[Answer]:
        """Try each claim by itself; one answer a claim, in order. After a silence the rest is not tried any more."""
        ...


def _lease(claim: Claim) -> Item:
    return lease_attributes(ClaimLease(claim.epoch, claim.until, claim.claim_id, claim.decided_at))


# ------------------------------------------------------------------------------------------------------ one at a time

_SAME_VERSION: Final = f"#{k.VERSION} = :seen"
_NO_NEWER_OWNER: Final = f"#{k.LEASE_EPOCH} <= :mine"
_NO_LEASE: Final = f"#{k.LEASE_UNTIL} = :zero"
_THAT_LEASE: Final = f"#{k.CLAIM_ID} = :run_out"
_FIRST_CLAIM: Final = f"{_SAME_VERSION} AND {_NO_NEWER_OWNER} AND {_NO_LEASE}"
_TAKEOVER: Final = f"{_SAME_VERSION} AND {_NO_NEWER_OWNER} AND {_THAT_LEASE}"


def claim_write(table: str, claim: Claim) -> Write:
    """The update that is a claim."""
    change, values = setting(_lease(claim))
    key = job_key(claim.entry.job_id, claim.entry.segment)
    values |= {":seen": number(claim.entry.version), ":mine": number(claim.epoch)}
    if claim.takes_over is None:
        return update(table, key, change, _FIRST_CLAIM, values | {":zero": ZERO})
    return update(table, key, change, _TAKEOVER, values | {":run_out": text(claim.takes_over)})


@dataclass(frozen=True, slots=True)
class SingleClaims:
    """An UpdateItem each, over so many threads."""

    threads: int = 1

    def __call__(self, database: Database, claims: Sequence[Claim]) -> list[Answer]:
        """Try each claim by itself."""
        if self.threads == 1:
            return _until_silence(database, claims)
        slices = [claims[start :: self.threads] for start in range(min(self.threads, len(claims)))]
        answers: list[Answer] = [None] * len(claims)
        with ThreadPoolExecutor(self.threads) as pool:
            for start, part in enumerate(pool.map(lambda own: _until_silence(database, own), slices)):
                answers[start :: self.threads] = part
        return answers


def _until_silence(database: Database, claims: Sequence[Claim]) -> list[Answer]:
    answers: list[Answer] = [None] * len(claims)
    for position, claim in enumerate(claims):
        try:
            answers[position] = database.write(claim_write(database.jobs, claim))
        except UnavailableError:
            break
    return answers


# --------------------------------------------------------------------------------------------------------- in batches


def _quoted(*names: str) -> list[str]:
    return [f'"{name}"' for name in names]


_SETS: Final = " ".join(f"SET {name}=?" for name in _quoted(k.LEASE_EPOCH, k.LEASE_UNTIL, k.CLAIM_ID, k.DECIDED_AT))
_KEY_AND_FENCE: Final = f'WHERE "{k.PK}"=? AND "{k.SK}"=? AND "{k.VERSION}"=? AND "{k.LEASE_EPOCH}"<=?'
_CONDITION_FAILED: Final = "ConditionalCheckFailed"
_TO_TRY_AGAIN: Final = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingError",
        "TransactionConflict",
    }
)


def claim_statement(table: str, claim: Claim) -> dict[str, Any]:
    """The PartiQL statement that is a claim."""
    key = job_key(claim.entry.job_id, claim.entry.segment)
    lease = _lease(claim)
    parameters: list[Attribute] = [
        *(lease[name] for name in (k.LEASE_EPOCH, k.LEASE_UNTIL, k.CLAIM_ID, k.DECIDED_AT)),
        key[k.PK],
        key[k.SK],
        number(claim.entry.version),
        number(claim.epoch),
        ZERO if claim.takes_over is None else text(claim.takes_over),
    ]
    fence = k.LEASE_UNTIL if claim.takes_over is None else k.CLAIM_ID
    return {
        "Statement": f'UPDATE "{table}" {_SETS} {_KEY_AND_FENCE} AND "{fence}"=?',
        "Parameters": parameters,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


@dataclass(frozen=True, slots=True)
class BatchedClaims:
    """Batches of statements. A request that succeeds may hold failures, each of its own kind."""

    def __call__(self, database: Database, claims: Sequence[Claim]) -> list[Answer]:
        """Try each claim by itself."""
        answers: list[Answer] = [None] * len(claims)
        with suppress(UnavailableError):  # what has no answer by then stays without one
            for batch in _batches(claims):
                for position, answer in _ask_batch(database, claims, batch):
                    answers[position] = answer
        return answers


def _batches(claims: Sequence[Claim]) -> Iterator[list[int]]:
    """Positions in batches in which no job comes twice: DynamoDB refuses a batch in which one does."""
    batch: dict[tuple[str, int | None], int] = {}
    for position, claim in enumerate(claims):
        plan = claim.entry.job_id, claim.entry.segment
        if plan in batch or len(batch) == MOST_STATEMENTS:
            yield list(batch.values())
            batch = {}
        batch[plan] = position
    if batch:
        yield list(batch.values())


def _ask_batch(database: Database, claims: Sequence[Claim], batch: list[int]) -> Iterator[tuple[int, Answer]]:
    """The answers of a batch by position; those that are put off are asked for again."""
    for _ in database.tries():
        statements = [claim_statement(database.jobs, claims[position]) for position in batch]
        responses = ask(database.client.batch_execute_statement, Statements=statements)["Responses"]
        put_off = []
        for position, response in zip(batch, responses, strict=True):
            if response.get("Error", {}).get("Code") in _TO_TRY_AGAIN:
                put_off.append(position)
            else:
                yield position, _answer(response)
        batch = put_off
        if not batch:
            return


def _answer(response: dict[str, Any]) -> Written | Lost:
    error = response.get("Error")
    if not error:
        return Written({})
    if error["Code"] != _CONDITION_FAILED:
        raise RuntimeError(f"a claim was refused for what it is: {error['Code']}: {error.get('Message')}")
    return Lost(error.get("Item") or None)
