"""Before a deployment changes anything: does it keep every shard that jobs live on?"""

from dataclasses import dataclass

from carillon.ports.dispatch import ShardLedger


class FewerShardsError(ValueError):
    """A deployment wants fewer shards than have ever been used."""

    def __init__(self, wanted: int, used: int) -> None:
        super().__init__(
            f"shards is {wanted}, and jobs of this stage live on {used}: allowed is {used} or more, "
            "since the count may be raised, never lowered"
        )


@dataclass(frozen=True, slots=True)
class CheckShards:
    """Refuses a lower shard count. It raises none: a deployment that is rolled back must find its old one in order."""

    ledger: ShardLedger

    def __call__(self, wanted: int) -> None:
        """Let a count pass.

        Raises:
            FewerShardsError: more have been used.
            UnavailableError: the table did not answer.
        """
        if (used := self.ledger.highest()) > wanted:
            raise FewerShardsError(wanted, used)
