"""Every operation of the interface has a call, which is answered as it says."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from carillon.client import Client, Transport
from support.api import description
from support.everything import Everything
from support.loopback import Service, ServiceHandler, serving

Call = Callable[[Client, Mapping[str, str]], Any]
JOB_OF_A_CLIENT = {
    "schedule": {"cron": "@daily"},
    "target": {"type": "http", "url": "https://svc.carillon.dev/hook"},
}

CALLS: Mapping[str, Call] = {
    "create_job": lambda client, _: client.create_job(JOB_OF_A_CLIENT)["id"],
    "act_on_jobs": lambda client, _: client.act_on_jobs("pause", {"labels": {"team": "infra"}})["state"],
    "get_operation": lambda client, ids: client.operation(ids["operation_id"])["action"],
    "cancel_operation": lambda client, ids: client.cancel_operation(ids["operation_id"])["state"],
    "list_jobs": lambda client, _: [*client.jobs({"label": "plan:acme-secret-plan"})],
    "get_job": lambda client, ids: client.job(ids["job_id"])["revision"],
    "patch_job": lambda client, ids: client.update_job(ids["job_id"], {"priority": "low"}, if_match="*")["priority"],
    "create_jobs": lambda client, _: client.create_jobs([JOB_OF_A_CLIENT, {"colour": 1}])["created"],
    "put_job": lambda client, _: client.put_job("nightly", JOB_OF_A_CLIENT)[1],
    "cancel_job": lambda client, ids: client.cancel_job(ids["job_id"]),
    "pause_job": lambda client, ids: client.pause_job(ids["job_id"])["state"],
    "resume_job": lambda client, ids: client.resume_job(ids["job_id"], catch_up=True)["state"],
    "trigger_job": lambda client, ids: client.trigger_job(ids["job_id"])["state"],
    "invite_upload": lambda client, _: client.invite_upload("image/png", 5)["payload_ref"],
    "preview_schedule": lambda client, _: client.preview_schedule(
        {"cron": "@daily"}, from_="2027-01-01T00:00:00Z", count=2
    )["occurrences"],
    "list_runs": lambda client, ids: [*client.runs(ids["job_id"])],
    "get_run": lambda client, ids: client.run(ids["run_id"])["state"],
    "cancel_run": lambda client, ids: client.cancel_run(ids["run_id"])["state"],
    "keep_run_alive": lambda client, ids: client.keep_run_alive(ids["awaited_run_id"])["state"],
    "complete_run": lambda client, ids: client.complete_run(ids["awaited_run_id"], "failed", retry=False)["state"],
    "retry_run": lambda client, ids: client.retry_run(ids["dead_run_id"])["state"],
    "list_dead_letters": lambda client, _: [*client.dead_letters()],
    "redrive_dead_letters": lambda client, _: client.redrive_dead_letters({}, dry_run=True)["redriven"],
    "list_keys": lambda client, _: client.api_keys().items,
    "create_key": lambda client, _: client.create_api_key(["jobs:read"], name="dashboard")["key"],
    "rotate_key": lambda client, ids: client.rotate_api_key(ids["key_id"], "PT1H")["previous"],
    "revoke_key": lambda client, ids: client.revoke_api_key(ids["key_id"]),
    "list_destinations": lambda client, _: client.destinations().items,
    "add_destination": lambda client, _: client.add_destination("host", "hooks.carillon.dev")["id"],
    "remove_destination": lambda client, ids: client.remove_destination(ids["destination_id"]),
    "verify_destination": lambda client, ids: client.verify_destination(
        ids["destination_id"], "https://svc.carillon.dev/verify"
    )["state"],
    "get_failure_target": lambda client, _: client.failure_target(),
    "name_failure_target": lambda client, _: client.name_failure_target(JOB_OF_A_CLIENT["target"])["target"],
    "remove_failure_target": lambda client, _: client.remove_failure_target(),
    "list_signing_secrets": lambda client, _: client.signing_secrets().items,
    "rotate_signing_secret": lambda client, _: client.rotate_signing_secret("PT1H")["secret"],
    "reveal_signing_secret": lambda client, ids: client.reveal_signing_secret(ids["secret_id"])["secret"],
    "list_audit_events": lambda client, _: [*client.audit_events()],
    "read_limits": lambda client, _: client.limits()["limits"],
    "get_statistics": lambda client, _: client.statistics()["runs"]["total"],
    "health": lambda client, _: client.health()["zone_data"],
    "describe": lambda client, _: client.description()["openapi"],
}
"""By operation."""

WITHOUT_A_CALL = {"explain_problem", "open_console"}
"""Pages for people."""


def operations() -> set[str]:
    """The names of all operations that are published."""
    paths = description().document["paths"].values()
    return {operation["operationId"] for operations in paths for operation in operations.values()}


def test_every_operation_has_a_call() -> None:
    """What the interface can do, the client can."""
    assert CALLS.keys() == operations() - WITHOUT_A_CALL


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_answered(name: str) -> None:
    """Each call is accepted by the real interface, and gives what its operation answers."""
    everything = Everything()
    ids = {**everything.ids, "dead_run_id": everything.dead_run_id, "awaited_run_id": everything.awaited_run_id}
    service = Service(api=everything.api)
    with (
        serving(ServiceHandler, service=service) as url,
        Client("", transport=Transport(url, everything.api.key)) as client,
    ):
        given = CALLS[name](client, ids)
    assert given or name in (
        "cancel_job",
        "revoke_key",
        "remove_destination",
        "remove_failure_target",
        "list_audit_events",
    )
    assert len(service.bodies) == 1


def test_a_client_loads_no_server() -> None:
    """Whoever imports it gets the standard library, and nothing of what the functions are made of."""
    code = "import sys, carillon.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = {*done.stdout.split()}
    ours = {name for name in loaded if name.startswith("carillon.") and not name.startswith("carillon.client")}
    assert ours <= {"carillon.domain", "carillon.domain.retry", "carillon.domain.retry_after"}
    assert loaded.isdisjoint({"pydantic", "botocore", "requests", "click"})
