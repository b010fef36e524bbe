"""The operator's way into AWS: where a stack is, what it consists of, and clients for it."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

import click

from carillon_cli.config import read_ready_file
from carillon_cli.output import NOT_REACHABLE

# ruff: noqa: PLC0415 - botocore takes longer to import than most commands take: only who talks to AWS loads it

DEFAULT_STAGE = "local"
LOCAL_REGION = "us-east-1"
_LOOPBACK = ("localhost", "127.0.0.1")
_LOCAL_CREDENTIALS = ("test", "test")


class AwsUnreachableError(click.ClickException):
    """AWS did not answer."""

    exit_code = NOT_REACHABLE


class AwsSetupError(click.ClickException):
    """AWS was not even called: the configuration of this machine does not suffice."""

    exit_code = click.UsageError.exit_code


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stack is. `region` and `endpoint_url` may be left to the operator's AWS configuration."""

    stack: str
    region: str | None = None
    endpoint_url: str | None = None

    def session(self) -> Any:
        """A botocore session for the place. A local AWS takes any credentials, so it gets some if there are none."""
        from botocore.session import get_session

        session = get_session()
        endpoint_url = self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL")
        is_local = endpoint_url is not None and urlsplit(endpoint_url).hostname in _LOOPBACK
        region = self.region or session.get_config_variable("region") or os.environ.get("AWS_REGION")
        session.set_config_variable("region", region or (LOCAL_REGION if is_local else None))
        if is_local and not os.environ.get("AWS_ACCESS_KEY_ID"):
            session.set_credentials(*_LOCAL_CREDENTIALS)
        return session

    def client(self, service: str, **settings: Any) -> Any:
        """A client of one of the place's services."""
        from botocore.config import Config

        return self.session().create_client(
            service, endpoint_url=self.endpoint_url, config=Config(connect_timeout=5, **settings)
        )


def outputs_of(place: Place) -> dict[str, str]:
    """What a stack tells of itself: names and addresses by their CloudFormation output keys.

    Raises:
        click.ClickException: There is no such stack, or it cannot be read.
    """
    with as_one_line():
        answer = place.client("cloudformation").describe_stacks(StackName=place.stack)
    outputs = answer["Stacks"][0].get("Outputs", [])
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def output(outputs: Mapping[str, str], key: str) -> str:
    """One output.

    Raises:
        click.ClickException: The stack has none of this name.
    """
    if key not in outputs:
        raise click.ClickException(f"the stack has no output {key}: is it Carillon's, and deployed to its end?")
    return outputs[key]


@contextmanager
def as_one_line() -> Iterator[None]:
    """Turn what AWS and its client say into a failure of one line with the right exit code."""
    from botocore import exceptions

    try:
        yield
    except exceptions.ClientError as error:
        answer = error.response.get("Error", {})
        raise click.ClickException(f"AWS refused: {answer.get('Message') or answer.get('Code')}") from error
    except (exceptions.HTTPClientError, exceptions.ConnectionError) as error:
        raise AwsUnreachableError(f"AWS does not answer: {error}") from error
    except exceptions.BotoCoreError as error:  # no credentials, no region, no such profile: to be mended here
        raise AwsSetupError(f"AWS cannot be called: {error}") from error


def uses_stack(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which stack a command means; the function gets a `Place` first."""

    @click.option("--stage", help=f"Stage of the stack: Carillon-STAGE.  [{DEFAULT_STAGE}]")
    @click.option("--stack", help="Name of the stack, if it is another.")
    @click.option("--region", help="AWS region.  [from the AWS configuration]")
    @click.option("--ready-file", metavar="FILE", help="Written by `carillon dev`: means the stack that it runs.")
    @wraps(function)
    def command(
        *args: Any, stage: str | None, stack: str | None, region: str | None, ready_file: str | None, **options: Any
    ) -> None:
        if stage and stack:
            raise click.UsageError("give --stage or --stack, not both")
        ready_file = ready_file or click.get_current_context().find_root().params.get("ready_file")
        endpoint_url = read_ready_file(ready_file).get("aws_endpoint") if ready_file else None
        if endpoint_url:
            region = region or LOCAL_REGION  # whatever the operator's usual region is
        function(Place(stack or f"Carillon-{stage or DEFAULT_STAGE}", region, endpoint_url), *args, **options)

    return command
