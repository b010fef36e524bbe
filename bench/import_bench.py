"""How long each handler takes to import cold, beside botocore with the same clients in the same run.

`make bench-imports` takes the code as it is deployed: the two compiled layers and each handler. Every import happens
in a new interpreter that writes nothing and sees nothing else; handlers and their measures take turns, so that a busy
machine slows both. A figure is the least processor time of some rounds.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.parts.bundling import bundled_sources
from infra.parts.sources import Sources
from infra.stages import LOCAL
from tests.support.deployed import QUEUES, environment_of

ROUNDS = 9
URLS = {name: f"https://sqs.us-east-1.amazonaws.com/000000000000/{name}" for name in QUEUES}
AWS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
TIMED = """
import sys, time
sys.path[:0] = sys.argv[2:]
begin = time.process_time_ns()
{code}
print(time.process_time_ns() - begin)
"""
BOTOCORE = """
from botocore.config import Config
from botocore.session import get_session
session = get_session()
for service in {services!r}:
    session.create_client(service, config=Config(retries={{"mode": "standard", "total_max_attempts": 5}}))
"""


@dataclass(frozen=True)
class Handler:
    """A function: the clients that it makes, and the ratio that it is to stay below, if one is set."""

    name: str
    services: tuple[str, ...]
    target: float | None = None


HANDLERS = (
    Handler("api", ("dynamodb",), 2.0),
    Handler("dispatcher", ("dynamodb", "sqs"), 1.3),
    Handler("worker", ("dynamodb", "kms", "sqs"), 1.3),
    Handler("ticker", ("dynamodb", "sqs")),
    Handler("dead_letters", ("dynamodb", "sqs")),
    Handler("retention", ("dynamodb",)),
    Handler("operations", ("dynamodb", "sqs")),
    Handler("statistics", ("dynamodb",)),
    Handler("deployments", ("dynamodb",)),
)


@dataclass(frozen=True)
class Bundle:
    """Code as a function finds it: the built layers, and the handlers without bytecode."""

    functions: Path
    core: Path
    dependencies: Path

    @classmethod
    def laid_out(cls, folder: Path, sources: Sources) -> "Bundle":
        """Copy of what is deployed only what is not laid out already."""
        shutil.copytree(sources.functions, folder / "functions", ignore=shutil.ignore_patterns("__pycache__"))
        return cls(folder / "functions", sources.core / "python", sources.dependencies / "python")

    def handler_ms(self, handler: Handler) -> float:
        """The processor time of importing a handler, which composes its function."""
        paths = (str(self.functions / handler.name), str(self.core))
        environment = environment_of(handler.name, jobs="jobs", control="control", urls=URLS, key_id="key")
        return self._timed("import handler", environment, paths)

    def botocore_ms(self, handler: Handler) -> float:
        """The processor time of botocore with the handler's clients."""
        return self._timed(BOTOCORE.format(services=handler.services), {}, ())

    def _timed(self, code: str, environment: dict[str, str], paths: Sequence[str]) -> float:
        arguments = ["-S", "-B", "-c", TIMED.format(code=code), "", *paths, str(self.dependencies)]
        done = subprocess.run(
            [sys.executable, *arguments], env={**AWS, **environment}, capture_output=True, text=True, check=True
        )
        return int(done.stdout.split()[-1]) / 1_000_000


def measure(bundle: Bundle) -> dict[str, float]:
    """Each handler's ratio, printed as it is known."""
    ratios = {}
    for handler in HANDLERS:
        pairs = [(bundle.handler_ms(handler), bundle.botocore_ms(handler)) for _ in range(ROUNDS)]
        ours, theirs = (min(times) for times in zip(*pairs, strict=True))
        ratios[handler.name] = ours / theirs
        against = f"botocore with {', '.join(handler.services)} {theirs:.0f} ms"
        target = "" if handler.target is None else f"at most {handler.target}"
        print(f"{handler.name:13} {ours:4.0f} ms   {against:44} {ours / theirs:.2f}   {target}".rstrip())
    return ratios


def main() -> None:
    """Print the times, and last the ratios."""
    with TemporaryDirectory() as folder:
        ratios = measure(Bundle.laid_out(Path(folder), bundled_sources(LOCAL)))
    print(" ".join(f"{name}={ratio:.2f}" for name, ratio in ratios.items()))


if __name__ == "__main__":
    main()
