"""CloudFormation, as those of its custom resources see it: the state of their stack, and where they answer."""

import json
from collections.abc import Callable
from typing import Any, Final

from botocore.awsrequest import AWSRequest
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session

from carillon.adapters.aws import ask
from carillon.ports.errors import UnavailableError

_MOST_TRIES: Final = 3
_ANSWER_SECONDS: Final = 5
_OK: Final = 200


class CloudFormationStacks:
    """The stacks of an account. `client` makes one of the service `cloudformation`: few deployments need it."""

    def __init__(self, client: Callable[[], Any]) -> None:
        self._client = client

    def is_rolling_back(self, stack_id: str) -> bool:
        """Whether a stack is on its way back from a failed deployment."""
        (stack,) = ask(self._client().describe_stacks, StackName=stack_id)["Stacks"]
        return "ROLLBACK" in stack["StackStatus"]


def answer_at(url: str, answer: dict[str, str]) -> None:
    """Put an answer where CloudFormation waits for it.

    Raises:
        UnavailableError: it was not taken: CloudFormation gives the resource up after its time-out.
    """
    session = URLLib3Session(timeout=_ANSWER_SECONDS)
    # The signature of the address covers the content type: it has to be empty.
    request = AWSRequest("PUT", url, {"Content-Type": ""}, json.dumps(answer).encode()).prepare()
    for _ in range(_MOST_TRIES):
        try:
            if session.send(request).status_code == _OK:
                return
        except HTTPClientError:
            continue
    raise UnavailableError("no answer where CloudFormation waits")
