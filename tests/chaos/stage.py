"""The deployed local stack with its functions' AWS calls led through a proxy, and their processes within reach."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.session import get_session

from carillon.adapters.dynamodb.attributes import Item
from carillon_cli.dev.child import tail
from carillon_cli.dev.progress import Progress
from carillon_cli.dev.project import CREDENTIALS, REGION
from carillon_cli.dev.stack import Options, Running, running_stack

from .proxy import Proxy

ROOT = Path(__file__).parents[2]
FUNCTIONS = ("ApiFunction", "TickerFunction", "DispatcherFunction", "WorkerFunction", "LongWorkerFunction")
WORK_QUEUES = ("HighQueueUrl", "NormalQueueUrl", "LowQueueUrl", "LongQueueUrl")
VISIBILITY_SECONDS = 30
"""Instead of minutes: a killed worker's messages come again sooner, and those of a slow one while it is at work."""

LONGEST_INVOCATION_SECONDS = 90
LOOK_SECONDS = 0.5
LED_SECONDS = 120
IN_HAND = "ApproximateNumberOfMessagesNotVisible"
PLANTED_HANDLER = "tests.chaos.planted_handler.handler"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stack that is up, behind a proxy."""

    running: Running
    proxy: Proxy

    def kill(self, function: str, choice: float) -> bool:
        """Kill one of a function's processes that has begun to work, chosen by a number in [0, 1), if there is any.

        One that has only been started is spared: on a slow machine no other would ever get to work.
        """
        pids = [pid for pid in self._processes(function) if _has_called(pid)]
        if pids:
            with suppress(ProcessLookupError):
                os.kill(pids[int(choice * len(pids))], signal.SIGKILL)
        return bool(pids)

    def _processes(self, function: str) -> list[int]:
        """The processes of a function of this very stack: their programs lie in its folder."""
        listed = subprocess.run(["ps", "-wweo", "pid=,args="], capture_output=True, text=True, check=True).stdout
        name = self.running.deployment.outputs[function]
        wanted = f"{self.running.aws.settings.scratch}/ministack-lambda-{name}-"
        return [int(line.split()[0]) for line in listed.splitlines() if wanted in line]

    def client(self, service: str) -> Any:
        """A client that goes to the local AWS directly."""
        return get_session().create_client(
            service,
            region_name=REGION,
            endpoint_url=self.running.deployment.endpoint,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            config=Config(proxies={}, read_timeout=60),
        )

    def items(self, table: str) -> list[Item]:
        """All items of a table, by the key of its name among the outputs."""
        name = self.running.deployment.outputs[table]
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=name, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def messages(self) -> int:
        """How many messages are in the work queues, in flight and delayed ones too, and in their dead letters."""
        sqs, counted = self.client("sqs"), 0
        for url in [*self._queues(), *self._dead_letters(sqs)]:
            answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
            counted += sum(int(value) for name, value in answer.items() if name.startswith("ApproximateNumberOf"))
        return counted

    def log_tail(self) -> str:
        """The end of what the local AWS and the functions wrote."""
        return tail(self.running.aws.child.program.log)

    def _queues(self) -> list[str]:
        return [self.running.deployment.outputs[name] for name in WORK_QUEUES]

    def _dead_letters(self, sqs: Any) -> list[str]:
        listed: list[str] = sqs.list_queues().get("QueueUrls", [])
        return [url for url in listed if "dead" in url.rpartition("/")[2].lower()]

    # ---------------------------------------------------------------------------------------------------------- set-up

    def lead_through_proxy(self, planted: str | None) -> None:
        """Let all functions find AWS behind the proxy, and plant a bug in them if one is named.

        A change ends a function's processes, so they rest meanwhile: nothing is to go wrong before it is meant to.
        """
        functions = self.client("lambda")
        with self._at_rest(functions):
            for function in FUNCTIONS:
                name = self.running.deployment.outputs[function]
                found = functions.get_function_configuration(FunctionName=name)
                variables = found["Environment"]["Variables"] | {"AWS_ENDPOINT_URL": self.proxy.endpoint}
                changes: dict[str, Any] = {}
                if planted:
                    variables |= {"PYTHONPATH": str(ROOT), "CHAOS_PLANTED": planted}
                    changes["Handler"] = PLANTED_HANDLER
                functions.update_function_configuration(
                    FunctionName=name, Environment={"Variables": variables}, **changes
                )

    @contextmanager
    def _at_rest(self, functions: Any) -> Iterator[None]:
        """Let no function take messages as long as the block runs."""
        mappings = [
            mapping["UUID"]
            for mapping in functions.list_event_source_mappings()["EventSourceMappings"]
            if ":sqs:" in mapping["EventSourceArn"]
        ]
        self._enable(functions, mappings, enabled=False)
        try:
            self._wait_for_rest()
            yield
        finally:
            self._enable(functions, mappings, enabled=True)

    def _enable(self, functions: Any, mappings: Sequence[str], *, enabled: bool) -> None:
        for mapping in mappings:
            functions.update_event_source_mapping(UUID=mapping, Enabled=enabled)

    def _wait_for_rest(self) -> None:
        """Wait until no message is in a function's hands, or so long that any invocation has ended."""
        sqs, deadline = self.client("sqs"), time.monotonic() + LONGEST_INVOCATION_SECONDS
        urls, name = [*self._queues(), self.running.deployment.outputs["TickQueueUrl"]], IN_HAND
        while time.monotonic() < deadline:
            answers = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"] for url in urls]
            if all(answer[name] == "0" for answer in answers):
                return
            time.sleep(LOOK_SECONDS)

    def shorten_visibility(self) -> None:
        """Let messages come again sooner."""
        sqs = self.client("sqs")
        for url in self._queues():
            sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS)})

    def wait_led(self, bound_seconds: float) -> None:
        """Wait until calls go through the proxy.

        Raises:
            RuntimeError: none did in time.
        """
        deadline, before = time.monotonic() + bound_seconds, self.proxy.requests()
        while self.proxy.requests() < before + 3:
            if time.monotonic() > deadline:
                raise RuntimeError(f"no call goes through the proxy:\n{self.log_tail()}")
            time.sleep(0.2)


def _has_called(pid: int) -> bool:
    """Whether a process has opened a connection; taken for granted where the system does not tell."""
    files = Path(f"/proc/{pid}/fd")
    if not Path("/proc/self/fd").exists():
        return True
    with suppress(OSError):
        return any(str(file.readlink()).startswith("socket:") for file in files.iterdir())
    return False


@contextmanager
def staged(stop: threading.Event, planted: str | None) -> Iterator[Stage]:
    """Start a stack behind a proxy; all of it ends with the block."""
    with running_stack(Options(), Progress(), stop) as running:
        folder = running.aws.child.program.log.parent
        proxy = Proxy(running.deployment.endpoint, folder)
        try:
            proxy.wait_ready()
            stage = Stage(running, proxy)
            stage.lead_through_proxy(planted)
            stage.shorten_visibility()
            stage.wait_led(LED_SECONDS)
            yield stage
        finally:
            proxy.stop()
