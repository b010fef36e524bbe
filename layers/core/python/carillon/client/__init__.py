"""A client of the service for Python programs, on the standard library alone.

For example::

    from carillon.client import Client, NotFoundError

    with Client("https://api.example.com", key) as client:
        job = client.create_job({"schedule": {"delay": "PT10S"}, "target": {"type": "http", "url": "https://…"}})
        for run in client.runs(job["id"]):
            print(run["state"])

The shapes of what it gives back are the types in `carillon.answers`.
"""

from carillon.client.client import Client, Page, etag
from carillon.client.problems import (
    ApiProblem,
    BadAnswerError,
    BadIdError,
    ClientError,
    ConflictError,
    FieldError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    PagingError,
    RateLimitedError,
    RevisionMismatchError,
    ServiceError,
    UnauthenticatedError,
    UnreachableError,
)
from carillon.client.transport import Transport

__all__ = [
    "ApiProblem",
    "BadAnswerError",
    "BadIdError",
    "Client",
    "ClientError",
    "ConflictError",
    "FieldError",
    "ForbiddenError",
    "InvalidError",
    "NotFoundError",
    "Page",
    "PagingError",
    "RateLimitedError",
    "RevisionMismatchError",
    "ServiceError",
    "Transport",
    "UnauthenticatedError",
    "UnreachableError",
    "etag",
]
