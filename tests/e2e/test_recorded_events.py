"""Each recorded event can be handed to its function in the running stack by `carillon invoke`."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from carillon_cli.invoke import OUTPUT_KEYS
from carillon_cli.main import main
from e2e.dev_stack import DevStack

EVENTS = Path(__file__).parents[2] / "events"
NAMES = sorted(file.stem for file in EVENTS.iterdir() if not file.stem.startswith("api_"))
NOT_DONE = {"worker_poison_message": [1], "worker_newer_message": [0]}
"""Events with messages that are to come again, and which; their jobs are nobody's, so the others are done."""


def invoked(stack: DevStack, name: str, **values: str) -> Any:
    """What the function that an event's name begins with answers to it."""
    function = next(function for function in OUTPUT_KEYS if name.startswith(function))
    gaps = [f"--set={key}={value}" for key, value in values.items()]
    arguments = ["invoke", function, str(EVENTS / f"{name}.json"), f"--ready-file={stack.ready_file}", "--json", *gaps]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["answer"]


@pytest.mark.parametrize("name", NAMES)
def test_events_of_functions_behind_queues_and_streams(stack: DevStack, name: str) -> None:
    """The function takes the event and says which messages are not done."""
    answer = invoked(stack, name)
    if name.startswith("ticker"):
        assert answer["sent"] >= 0
        return
    records = json.loads((EVENTS / f"{name}.json").read_text())["Records"]
    failed = [{"itemIdentifier": records[at]["messageId"]} for at in NOT_DONE.get(name, [])]
    assert answer == {"batchItemFailures": failed}


def test_events_of_the_api(stack: DevStack) -> None:
    """A job is created, read, listed and cancelled by events; bad ones are refused as their names say."""
    created = invoked(stack, "api_create", API_KEY=stack.api_key)
    assert created["statusCode"] == 201
    gaps = {"API_KEY": stack.api_key, "JOB_ID": json.loads(created["body"])["id"]}
    statuses = {"get": 200, "list": 200, "list_runs": 200, "cancel": 204, "bad_json": 400, "no_key": 401, "health": 200}
    answers = {name: invoked(stack, f"api_{name}", **gaps)["statusCode"] for name in statuses}
    assert answers == statuses
