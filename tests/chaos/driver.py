"""The clients: they create jobs and edit them while everything goes wrong, and note what was promised to them."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from carillon.client import ApiProblem, Client, ClientError
from tests.simulation.history import EditKind

from .history import CATCHING_UP, RESUMES
from .plan import Act, Script

LANES = 6
"""Jobs are shared among so many clients; what is done to one job is done in order."""

CREATE_TRIES = 4
TRY_AGAIN_SECONDS = 1.0


@dataclass(slots=True)
class Promises:
    """What the API has accepted, and how it answered.

    Attributes:
        jobs: ids of accepted jobs.
        runs: ids of accepted manual runs.
        answers: how often each kind of request was answered how.
    """

    jobs: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)

    def broken(self, jobs: set[str], runs: set[str]) -> Iterator[str]:
        """What was accepted and is not among those that are there."""
        yield from (f"{job_id}: accepted, and not there" for job_id in sorted(self.jobs - jobs))
        yield from (f"{run_id}: accepted, and not there" for run_id in sorted(self.runs - runs))


class Driver:
    """Does what scripts say, each at its time, with as many clients as there are lanes."""

    def __init__(self, client: Client, stop: threading.Event) -> None:
        self.promises = Promises()
        self._client = client
        self._stop = stop
        self._lock = threading.Lock()

    def run(self, scripts: Sequence[Script], begun: float, ends: float) -> None:
        """Play all scripts from one instant to another, by the monotonic clock. What comes too late is left out."""
        with ThreadPoolExecutor(LANES) as pool:
            lanes = [scripts[lane::LANES] for lane in range(LANES)]
            for done in [pool.submit(self._play, lane, begun, ends) for lane in lanes]:
                done.result()

    def _play(self, scripts: Sequence[Script], begun: float, ends: float) -> None:
        ids: dict[int, str] = {}
        steps = [(script.at_s, script, None) for script in scripts]
        steps += [(act.at_s, script, act) for script in scripts for act in script.acts]
        for at_s, script, act in sorted(steps, key=lambda step: step[0]):
            if self._stop.wait(max(begun + at_s - time.monotonic(), 0)) or time.monotonic() > ends:
                return
            if act is None:
                job_id = self._create(script)
                if job_id:
                    ids[script.number] = job_id
            elif script.number in ids:
                self._act(ids[script.number], script, act)

    def _create(self, script: Script) -> str | None:
        """Create a job; who gets no answer asks again, and may be told that the job is there already."""
        for _ in range(CREATE_TRIES):
            created = self._ask("create", lambda: self._client.create_job(script.definition))
            if isinstance(created, ApiProblem) and created.code == "name_taken":
                return self._promised(str(created.members["job_id"]))
            if isinstance(created, dict):
                return self._promised(created["id"])
            if self._stop.wait(TRY_AGAIN_SECONDS):
                break
        return None

    def _promised(self, job_id: str) -> str:
        with self._lock:
            self.promises.jobs.add(job_id)
        return job_id

    def _act(self, job_id: str, script: Script, act: Act) -> None:
        client = self._client
        requests: dict[EditKind, Callable[[], Any]] = {
            EditKind.PAUSE: lambda: client.pause_job(job_id),
            EditKind.RESUME: lambda: client.resume_job(job_id, catch_up=_catches_up(script)),
            EditKind.CANCEL: lambda: client.cancel_job(job_id),
            EditKind.CHANGE: lambda: client.update_job(job_id, act.patch or {}, if_match="*"),
            EditKind.TRIGGER: lambda: client.trigger_job(job_id),
        }
        answer = self._ask(act.kind, requests[act.kind])
        if act.kind is EditKind.TRIGGER and isinstance(answer, dict):
            with self._lock:
                self.promises.runs.add(answer["id"])

    def _ask(self, what: str, request: Callable[[], Any]) -> Any:
        """The answer, or the failure, counted."""
        try:
            answer = request()
        except ApiProblem as problem:
            self._count(f"{what} {problem.code}")
            return problem
        except ClientError:
            self._count(f"{what} unanswered")
            return None
        self._count(f"{what} done")
        return answer

    def _count(self, what: str) -> None:
        with self._lock:
            self.promises.answers[what] += 1


def _catches_up(script: Script) -> bool:
    return script.definition.get("labels", {}).get(RESUMES) == CATCHING_UP
