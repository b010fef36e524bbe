"""Requests of CloudFormation's custom resource, by which a deployment asks whether it may go on.

The request is AWS's: `RequestType` (Create, Update, Delete), `StackId`, `ResponseURL`, `ResourceProperties` (all values
texts), and what the answer repeats. The answer is written to `ResponseURL`; what the function returns, nobody reads.
"""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from carillon.application.check_shards import CheckShards, FewerShardsError
from carillon.entrypoint.observability import Handler, LambdaContext

logger = logging.getLogger("carillon")

_REPEATED = ("StackId", "RequestId", "LogicalResourceId")
_RESOURCE_ID = "shards"


class Stacks(Protocol):
    """What is asked of CloudFormation."""

    def is_rolling_back(self, stack_id: str) -> bool:
        """Whether a stack is on its way back from a failed deployment."""
        ...


def deployment_handler(check: CheckShards, stacks: Stacks, answer_at: Callable[[str, dict[str, str]], None]) -> Handler:
    """A Lambda handler that lets a deployment go on or stops it, with the reason that CloudFormation shows."""

    def handler(event: dict[str, Any], _context: LambdaContext) -> None:
        reason = _refusal(check, stacks, event)
        outcome = {"Status": "SUCCESS"} if reason is None else {"Status": "FAILED", "Reason": reason}
        repeated = {name: event[name] for name in _REPEATED}
        answer_at(event["ResponseURL"], {**repeated, "PhysicalResourceId": _RESOURCE_ID, **outcome})

    return handler


def _refusal(check: CheckShards, stacks: Stacks, event: dict[str, Any]) -> str | None:
    """Why a deployment may not go on, or None. A deployment that nobody could check does not go on."""
    if event["RequestType"] == "Delete":
        return None
    try:
        check(int(event["ResourceProperties"]["shards"]))
    except FewerShardsError as refused:
        # The way back from a deployment that raised the count and failed leads through the old, lower one.
        return None if _is_rolling_back(stacks, event) else str(refused)
    except Exception:
        logger.exception("deployment not checked", extra={"action": "deployment_unchecked"})
        return "the shard count could not be checked: see the log of the deployments function"
    return None


def _is_rolling_back(stacks: Stacks, event: dict[str, Any]) -> bool:
    try:
        return stacks.is_rolling_back(event["StackId"])
    except Exception:
        logger.exception("stack not read", extra={"action": "deployment_unchecked"})
        return False
