"""microburst between the functions and the local AWS: it faults calls in AWS's own wire format."""

import http.client
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from carillon_cli.dev.child import Child, Program
from carillon_cli.dev.ports import aws_port

from .plan import Rule

READY_SECONDS = 60
ANSWER_SECONDS = 60
"""It reads the models of the services when it meets them first, and answers nobody meanwhile."""
GRACE_SECONDS = 2


class Proxy:
    """A running microburst, without faults at first."""

    def __init__(self, upstream: str, folder: Path) -> None:
        self._port = aws_port()
        argv = [sys.executable, "-m", "microburst", "--upstream", upstream, "--port", str(self._port)]
        self._child = Child(Program("microburst", argv, os.environ, folder, folder / "microburst.log"))
        self._rules: dict[int, Rule] = {}

    @property
    def endpoint(self) -> str:
        """Its address for clients."""
        return f"http://127.0.0.1:{self._port}"

    def wait_ready(self) -> None:
        """Wait until it answers.

        Raises:
            RuntimeError: it did not in time, or ended.
        """
        deadline = time.monotonic() + READY_SECONDS
        while not self._answers():
            if self._child.exited() or time.monotonic() > deadline:
                raise RuntimeError(f"microburst did not start:\n{self._child.tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it."""
        self._child.stop(GRACE_SECONDS)

    def begin(self, rules: Sequence[Rule]) -> None:
        """Fault calls by these rules from now on; the first that strikes a call is the one that counts."""
        made = self._ask("POST", "rules", [rule_document(rule, time.time()) for rule in rules])
        self._rules = {entry["id"]: rule for entry, rule in zip(made, rules, strict=True)}

    def end(self) -> None:
        """Fault nothing any more."""
        self._ask("POST", "rules", [])

    def requests(self) -> int:
        """How many calls went through."""
        total: int = self._ask("GET", "stats")["requests"]["total"]
        return total

    def faults(self) -> Counter[str]:
        """How many calls were faulted by the newest rules, by kind."""
        counts: Counter[str] = Counter()
        for entry in self._ask("GET", "stats")["by_rule"]:
            if entry["id"] in self._rules:
                counts[self._rules[entry["id"]].kind] += entry["fired"]
        return counts

    def _answers(self) -> bool:
        try:
            self._ask("GET", "health")
        except OSError:
            return False
        return True

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, f"/_microburst/{path}", None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise RuntimeError(f"microburst answers {path} with {answer.status}: {text.decode(errors='replace')}")
        return json.loads(text)


def rule_document(rule: Rule, begun: float) -> dict[str, Any]:
    """A rule as microburst wants it; `begun` is the begin of the run, in epoch seconds."""
    matching = {"service": rule.service, "operation": rule.operation, "probability": rule.share}
    times = (
        {} if rule.between_s is None else {"active_at": begun + rule.between_s[0], "until": begun + rule.between_s[1]}
    )
    return {name: value for name, value in {**matching, **times, **rule.fault}.items() if value is not None}
