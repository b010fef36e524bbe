"""What a store or a queue may raise. A lost race is none of it: that is an ordinary result."""


class UnavailableError(Exception):
    """A store or queue did not answer within its retries. What was asked may or may not have happened."""


class NameTakenError(Exception):
    """Another job of the tenant holds the name."""

    def __init__(self, job_id: str) -> None:
        super().__init__("the name is taken")
        self.job_id = job_id


class LimitReachedError(Exception):
    """A limit of the tenant is reached: nothing was written.

    `limit`: its name; `most`: what it allows; `field`: of the request, if one is at fault.
    """

    def __init__(self, limit: str, most: int, field: str | None = None) -> None:
        super().__init__(f"the limit {limit} is reached")
        self.limit = limit
        self.most = most
        self.field = field


class TooFastError(Exception):
    """The tenant creates jobs faster than it may: nothing was written. It may go on after so many ms."""

    def __init__(self, wait_ms: int) -> None:
        super().__init__("jobs are created too fast")
        self.wait_ms = wait_ms


class UploadTooLargeError(Exception):
    """An upload is larger than what was asked for."""


class UnreadableItemError(Exception):
    """An item of the table is not what its key says."""


class PayloadMissingError(Exception):
    """A job's own payload is gone, or is not what was stored."""
