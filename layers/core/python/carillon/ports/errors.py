"""What a store or a queue may raise. A lost race is none of it: that is an ordinary result."""


class UnavailableError(Exception):
    """A store or queue did not answer within its retries. What was asked may or may not have happened."""


class NameTakenError(Exception):
    """Another job of the tenant holds the name."""

    def __init__(self, job_id: str) -> None:
        super().__init__("the name is taken")
        self.job_id = job_id


class UnreadableItemError(Exception):
    """An item of the table is not what its key says."""


class PayloadMissingError(Exception):
    """A job's own payload is gone, or is not what was stored."""
