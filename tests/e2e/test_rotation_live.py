"""A rotation as receivers see it: none of them is left with a callback that it cannot verify."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from carillon.client import Client
from carillon_cli.dev.receiver import Call, Receiver
from tests.e2e.dev_stack import READY_SECONDS, DevStack
from tests.e2e.live import eventually, job

ROOT = Path(__file__).parents[2]
NODE_RECEIVER = Path(__file__).parent / "receivers" / "receiver.mjs"
OVERLAP_SECONDS = 12
BOUND_SECONDS = 90

Right = tuple[bool, ...]


class NodeReceiver:
    """The receiver in Node, with what it has printed so far."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", str(NODE_RECEIVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "NODE_PATH": str(ROOT / "node_modules")},
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self.seen: list[Right] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def tell(self, *secrets: str) -> None:
        """Let it check by these secrets from now on."""
        request = Request(f"{self.url}/secrets", json.dumps(secrets).encode(), method="PUT")  # noqa: S310 - loopback
        with urlopen(request, timeout=10):  # noqa: S310 - loopback
            self.seen.clear()

    def close(self) -> None:
        """End it."""
        with self._process:
            self._process.kill()
            self._reader.join(10)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.seen.append(tuple(json.loads(line)["right"]))


@pytest.fixture
def node() -> Iterator[NodeReceiver]:
    """A receiver in Node."""
    receiver = NodeReceiver()
    yield receiver
    receiver.close()


@pytest.fixture
def tenant(stack: DevStack) -> dict[str, Any]:
    """A tenant of its own, because a rotation concerns all receivers of a tenant."""
    made = stack.carillon("tenants", "create", "rotating", "--json")
    assert made.returncode == 0, made.stderr
    document: dict[str, Any] = json.loads(made.stdout)
    return document


def right_by(call: Call, secrets: tuple[str, ...]) -> Right:
    """For each secret whether a callback is right by it alone."""
    return tuple(_is_right(call, secret) for secret in secrets)


def _is_right(call: Call, secret: str) -> bool:
    try:
        Webhook(secret).verify(call.body, dict(call.headers), json_parse=False)
    except WebhookVerificationError:
        return False
    return True


@pytest.mark.timeout(READY_SECONDS + 360)
def test_receivers_verify_before_during_and_after_a_rotation(
    stack: DevStack, tenant: dict[str, Any], node: NodeReceiver
) -> None:
    """B230: old alone, then both, then new alone; and each callback is right by at least one, in Python and in Node."""
    old = tenant["signing_secret"]
    with Client(stack.url, tenant["api_key"]) as client, Receiver(old) as python:
        for url in (python.url("/rotating"), f"{node.url}/rotating"):
            client.create_job(job(url, {"every": "PT1S"}, payload={"greeting": "Grüß dich", "n": 1.0}))
        node.tell(old)
        seen = _both(python, node, (old,))
        assert eventually(lambda: all((True,) in each for each in seen()), BOUND_SECONDS)
        new = client.rotate_signing_secret(f"PT{OVERLAP_SECONDS}S")["secret"]
        node.tell(old, new)
        seen = _both(python, node, (old, new))
        assert eventually(lambda: all((True, True) in each for each in seen()), BOUND_SECONDS)
        assert eventually(lambda: all((False, True) in each for each in seen()), BOUND_SECONDS)
        assert all((False, False) not in each for each in seen())


def _both(python: Receiver, node: NodeReceiver, secrets: tuple[str, ...]) -> Callable[[], tuple[list[Right], ...]]:
    """What both receivers have seen from now on."""
    known = len(python.calls())
    return lambda: ([right_by(call, secrets) for call in python.calls()[known:]], list(node.seen))
