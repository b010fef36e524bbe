"""The local AWS seen from outside: its process, and the few calls that setting it up takes."""

import http.client
import json
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from carillon_cli.dev.child import Child, Program
from carillon_cli.dev.errors import UNREACHABLE, DevError, Interrupted
from carillon_cli.dev.local_aws.server import CHECKPOINT_PATH, SAVED_PATH
from carillon_cli.dev.local_aws.settings import Settings, arguments, environment
from carillon_cli.dev.project import CREDENTIALS, REGION, TOOLKIT_NAME
from carillon_cli.dev.workspace import Workspace

_READY_SECONDS = 60.0
_POLL_SECONDS = 0.1
# A request is answered even if the state could not be saved in this time: then the last second may be lost.
_SETTLE_SECONDS = 2.0
_CHECKPOINT_SECONDS = 30.0
# Draining takes up to 5 s, closing connections 1 s, writing the state the rest.
_STOP_SECONDS = 15.0


class LocalAws:
    """A started local AWS. Start it, then `wait_ready`; `stop` saves its state and ends it."""

    def __init__(self, settings: Settings, workspace: Workspace) -> None:
        self.settings = settings
        log = workspace.logs / "aws.log"
        program = Program(
            "local AWS",
            [sys.executable, "-m", "carillon_cli.dev.local_aws", *arguments(settings)],
            environment(settings),
            workspace.root,
            log,
            inherits=(workspace.lock.fileno(),),
            leads=True,
        )
        self.child = Child(program)
        workspace.aws_pid.write_text(f"{self.child.pid}\n")

    @property
    def endpoint(self) -> str:
        """Its address for clients."""
        return self.settings.endpoint

    def stop(self) -> None:
        """End it in order; nothing of it is left afterwards."""
        self.child.stop(_STOP_SECONDS)

    def wait_ready(self, stop: threading.Event) -> None:
        """Wait until it answers.

        Raises:
            DevError: if it ended or did not answer in time.
            Interrupted: if `stop` was set meanwhile.
        """
        deadline = time.monotonic() + _READY_SECONDS
        while not self._is_ready():
            if stop.wait(_POLL_SECONDS):
                raise Interrupted
            if self.child.exited() or time.monotonic() > deadline:
                raise DevError("the local AWS did not start", UNREACHABLE, self.child.tail())

    def settle(self) -> None:
        """Return when all that has happened is saved, or after a bounded time."""
        if self.settings.keeps:
            with suppress(OSError, http.client.HTTPException):
                self._ask("POST", SAVED_PATH, _SETTLE_SECONDS)

    def checkpoint(self) -> None:
        """Save definitions too: tables, queues, functions, keys. Without it a killed stack would lose them.

        Raises:
            DevError: if they could not be saved.
        """
        try:
            status = self._ask("POST", CHECKPOINT_PATH, _CHECKPOINT_SECONDS)
        except (OSError, http.client.HTTPException) as error:
            raise DevError(f"the local AWS could not save its state: {error}", UNREACHABLE) from error
        if status != http.client.NO_CONTENT:
            raise DevError("the local AWS could not save its state", UNREACHABLE, self.child.tail())

    def has_stack(self, name: str) -> bool:
        """Whether a stack is there, whole."""
        try:
            stacks = self._client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        except (BotoCoreError, ClientError):
            return False
        return any(stack["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE") for stack in stacks)

    def admit_plain_http(self) -> None:
        """Remove the asset bucket's policy, which demands TLS: the local AWS speaks plain HTTP and enforces it."""
        [toolkit] = self._client("cloudformation").describe_stacks(StackName=TOOLKIT_NAME)["Stacks"]
        buckets = [entry["OutputValue"] for entry in toolkit["Outputs"] if entry["OutputKey"] == "BucketName"]
        for bucket in buckets:
            self._client("s3").delete_bucket_policy(Bucket=bucket)

    def invoke(self, function: str, event: dict[str, Any]) -> str | None:
        """Run a function with an event and wait for it; returns its error, if it had one."""
        answer = self._client("lambda").invoke(FunctionName=function, Payload=json.dumps(event).encode())
        text: str = answer["Payload"].read().decode(errors="replace")
        return text if "FunctionError" in answer else None

    def _client(self, service: str) -> Any:
        return get_session().create_client(
            service,
            region_name=REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            config=Config(proxies={}, retries={"total_max_attempts": 2}, read_timeout=60),
        )

    def _is_ready(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self._ask("GET", "/_ministack/ready", _SETTLE_SECONDS) == http.client.OK
        return False

    def _ask(self, method: str, path: str, timeout_seconds: float) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.settings.port, timeout=timeout_seconds)
        try:
            connection.request(method, path)
            return connection.getresponse().status
        finally:
            connection.close()
