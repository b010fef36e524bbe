"""The real API on a loopback port, the part of AWS that commands ask, and a way to run commands against them."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl

import pytest
from click.testing import CliRunner, Result

from carillon_cli.main import main
from support.loopback import Script, Service, running_service, serving

VARIABLES = (
    "CARILLON_URL",
    "CARILLON_API_KEY",
    "CARILLON_PROFILE",
    "CARILLON_DEBUG",
    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",
)


@dataclass
class Aws:
    """CloudFormation with some stacks, and a Lambda whose functions answer with their event, or fail if it says so."""

    url: str = ""
    stacks: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = "START\ncrl_live_SECRET was seen\nEND\n"

    def describe(self, name: str) -> tuple[int, str]:
        """What CloudFormation says of a stack."""
        if name not in self.stacks:
            error = f"<Error><Code>ValidationError</Code><Message>no {name}</Message></Error>"
            return 400, f"<ErrorResponse>{error}</ErrorResponse>"
        outputs = "".join(
            f"<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>"
            for key, value in self.stacks[name].items()
        )
        stack = f"<member><StackName>{name}</StackName><Outputs>{outputs}</Outputs></member>"
        result = f"<DescribeStacksResult><Stacks>{stack}</Stacks></DescribeStacksResult>"
        return 200, f"<DescribeStacksResponse>{result}</DescribeStacksResponse>"


class _AwsHandler(BaseHTTPRequestHandler):
    wbufsize = -1
    aws: Aws

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path.startswith("/2015-03-31/functions/"):
            failure = {"X-Amz-Function-Error": "Unhandled"} if "fail" in body else {}
            log = b64encode(self.aws.log.encode()).decode()
            self._answer(200, f'{{"got": {body}}}', {"X-Amz-Log-Result": log, **failure})
        else:
            self._answer(*self.aws.describe(dict(parse_qsl(body))["StackName"]), {})

    def _answer(self, status: int, text: str, headers: dict[str, str]) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """The service, on a loopback port of its own."""
    with running_service() as known:
        yield known


@pytest.fixture
def aws(no_settings: pytest.MonkeyPatch) -> Iterator[Aws]:
    """The part of AWS that the command line asks, on a loopback port of its own; the operator's region is another."""
    no_settings.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    known = Aws()
    with serving(_AwsHandler, aws=known) as known.url:
        yield known


@pytest.fixture
def key(service: Service) -> str:
    """A key that the service takes."""
    return service.api.key


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> pytest.MonkeyPatch:
    """An environment without any setting of the command line, and an empty place for profiles."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return monkeypatch


@pytest.fixture
def carillon(no_settings: pytest.MonkeyPatch, service: Service, key: str) -> Callable[..., Result]:
    """Runs the command line with the service and its key in the environment, without real pauses."""
    no_settings.setenv("CARILLON_URL", service.url)
    no_settings.setenv("CARILLON_API_KEY", key)
    no_settings.setattr("carillon.client.transport.time.sleep", lambda _seconds: None)

    def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, arguments, input=stdin)
        assert key not in result.output, "the key is never shown"
        return result

    return run


@pytest.fixture
def script() -> type[Script]:
    """How to write a service's script."""
    return Script
