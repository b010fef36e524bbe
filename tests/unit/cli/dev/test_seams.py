"""The pinned ministack has what is used of its inside."""

import json
import subprocess
import sys
from typing import Any

import pytest

from carillon_cli.dev.local_aws.settings import Settings, environment

# ministack reads its environment while it is imported, and starts threads: it is not for the tests' own process.
USE = """
import json
from importlib import import_module
from carillon_cli.dev.local_aws.seams import Seams
seams = Seams()
seams.lock_queue_requests()
seams.authorize_batches()
seams.forget_stream_positions()
seams.wake_pollers()
seams.stop_polling()
actions = import_module("ministack.core.iam_actions")
functions = import_module("ministack.services.lambda_svc")
def action(target):
    service = "sqs" if "SQS" in target else "dynamodb"
    return actions.extract_iam_action(service, "POST", "/", {"x-amz-target": target}, b"{}", {})
print(json.dumps({
    "actions": [action("AmazonSQS.SendMessageBatch"), action("AmazonSQS.DeleteMessage"), action("DynamoDB.GetItem")],
    "polls": [functions._poll_sqs(), functions._poll_kinesis(), functions._poll_dynamodb_streams()],
    "running": seams.functions_running(),
    "visible": list(seams.visible_times()),
    "frozen": vars(seams.freeze()),
    "encoded": seams.encode({"B": b"x"}),
    "application": callable(seams.application),
}))
"""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of using every seam once."""
    folder = tmp_path_factory.mktemp("aws")
    (folder / "tmp").mkdir()
    env = environment(Settings(14500, folder, keeps=True, enforces=True))
    done = subprocess.run([sys.executable, "-c", USE], env=env, capture_output=True, text=True, check=True, timeout=60)
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_rights_to_batches_are_named_as_iam_names_them(used: dict[str, Any]) -> None:
    """A batch needs the right to one; other rights keep their names."""
    assert used["actions"] == ["sqs:SendMessage", "sqs:DeleteMessage", "dynamodb:GetItem"]


def test_stopped_pollers_find_nothing(used: dict[str, Any]) -> None:
    """Once polling is stopped no further function starts."""
    assert used["polls"] == [False, False, False]


def test_what_is_read_of_an_empty_one(used: dict[str, Any]) -> None:
    """Each thing that is read is there and has its shape; bytes have a form in JSON."""
    assert (used["running"], used["visible"]) == (0, [])
    assert used["frozen"] == {"tables": {}, "queues": {}}
    assert "__bytes__" in used["encoded"]
    assert used["application"] is True
