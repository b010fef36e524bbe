"""Functions as they are deployed, composed in this process: their settings, as the stack would write them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from carillon.entrypoint import settings
from carillon.entrypoint.environment import to_environ

WORK_QUEUES = ("high", "normal", "low", "long")
QUEUES = ("tick", "operations", *(name + end for name in WORK_QUEUES for end in ("", "-dead")))
SETTINGS: Mapping[str, type[settings.StageSettings]] = {
    "api": settings.ApiSettings,
    "ticker": settings.TickerSettings,
    "dispatcher": settings.DispatcherSettings,
    "worker": settings.WorkerSettings,
    "dead_letters": settings.DeadLettersSettings,
    "retention": settings.RetentionSettings,
    "operations": settings.OperationsSettings,
    "deployments": settings.DeploymentsSettings,
    "statistics": settings.StatisticsSettings,
}


class Context:
    """What a handler is given beside its event."""

    aws_request_id = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"

    def get_remaining_time_in_millis(self) -> int:
        """As at the begin of a worker's invocation."""
        return 90_000


NO_ENTRIES = ("target_networks", "target_names", "own_hosts", "target_queues")


def environment_of(
    function: str, *, jobs: str, control: str, urls: Mapping[str, str], key_id: str, **changes: Any
) -> dict[str, str]:
    """The environment of a function in a stage of two shards and one group.

    Args:
        function: its name, as in `SETTINGS`.
        jobs: the jobs table.
        control: the control table.
        urls: of each of `QUEUES`.
        key_id: of the key for signing secrets.
        changes: other values of settings.
    """
    queues = {f"{name}_queue_url": urls[name] for name in (*WORK_QUEUES, "tick", "operations")}
    dead = {f"{name}_dead_letter_url": urls[f"{name}-dead"] for name in WORK_QUEUES}
    tables = {"jobs_table": jobs, "control_table": control, "secrets_key_id": key_id, "secrets_kept_seconds": 300}
    tables["payloads_bucket"] = "payloads"
    stage = {"stage": "test", "groups": 1, "shards": 2, "retention_days": 7}
    dispatching = {"look_ahead_seconds": 60, "batched_updates": False, "catch_up_rate": 100}
    calling = {"lane": "short", "call_seconds_limit": 60, "side_by_side": 2, "api_url": "http://api.test"}
    targets = {"allow_loopback_targets": True, "target_ports": ("443",)} | dict.fromkeys(NO_ENTRIES, ())
    targets |= {"verify_destinations": False}
    calling |= {"breaker_failures": 5, "breaker_pause_seconds": 10}
    calling |= {"pause_after_failures": 20, "pause_after_hours": 24}
    values = {**queues, **dead, **tables, **stage, **dispatching, **calling, **targets, **changes}
    settings_type = SETTINGS[function]
    own = settings_type(**{each.name: values[each.name] for each in fields(settings_type)})
    return {"POWERTOOLS_METRICS_NAMESPACE": "Carillon", **to_environ(own)}
