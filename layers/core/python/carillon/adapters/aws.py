"""AWS clients, and what it means when they do not answer."""

from collections.abc import Callable
from typing import Any, Final, Literal

from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotocoreConnectionError
from botocore.parsers import ResponseParserError
from botocore.session import Session, get_session

from carillon import __version__
from carillon.adapters.plain_json import use_plain_json
from carillon.ports.errors import UnavailableError

Retries = Literal["standard", "adaptive"]

_SERVER_FAULT: Final = 500
_UNAVAILABLE: Final = frozenset(
    {
        "LimitExceededException",
        "OverLimit",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_NETWORK: Final = (HTTPClientError, BotocoreConnectionError, ResponseParserError)


def new_session() -> Session:
    """A session: its clients share what botocore loads, so one process wants one session."""
    session = get_session()
    use_plain_json(session)
    return session


def new_client(  # noqa: PLR0913 - what differs between clients
    session: Session,
    service: str,
    *,
    retries: Retries = "standard",
    most_attempts: int = 5,
    answer_seconds: float = 5.0,
    most_connections: int = 10,
    endpoint_url: str | None = None,
    region: str | None = None,
    more: Config | None = None,
) -> Any:
    """A low-level client of a service.

    Args:
        session: of this process.
        service: `dynamodb`, `sqs`, `kms` or `s3`.
        retries: `adaptive` also slows this client down while it is being throttled.
        most_attempts: of one call, the first included.
        answer_seconds: how long one attempt waits for its answer. A transaction in recovery needs a second and more.
        most_connections: kept open; the number of threads that share the client.
        endpoint_url: where the service is, if not in AWS.
        region: in which region, if not in the process's own.
        more: settings that only this client has.
    """
    config = Config(
        retries={"mode": retries, "total_max_attempts": most_attempts},
        connect_timeout=1.0,
        read_timeout=answer_seconds,
        max_pool_connections=most_connections,
        tcp_keepalive=True,
        user_agent=f"carillon/{__version__}",  # botocore's own is put together anew for each request
        parameter_validation=False,  # our requests are built by code under test, and checking them costs a tenth
    )
    config = config if more is None else config.merge(more)
    return session.create_client(service, config=config, endpoint_url=endpoint_url, region_name=region)


def ask(operation: Callable[..., Any], /, **request: Any) -> dict[str, Any]:
    """Call an operation of a client.

    Raises:
        UnavailableError: there was no answer after all attempts, or it was to come again later.
        ClientError: the request was refused for what it is.
    """
    try:
        answer: dict[str, Any] = operation(**request)
    except _NETWORK as error:
        raise UnavailableError(f"no answer: {type(error).__name__}") from error
    except ClientError as error:
        if is_unavailable(error):
            raise UnavailableError(error_code(error)) from error
        raise
    return answer


def error_code(error: ClientError) -> str:
    """The code in an error's answer."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_unavailable(error: ClientError) -> bool:
    """Whether the same request may succeed later."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error_code(error) in _UNAVAILABLE or status >= _SERVER_FAULT
