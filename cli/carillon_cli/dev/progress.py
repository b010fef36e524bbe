"""What the person at the terminal sees while a stack starts and when it is ready."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

_EXAMPLE = """\
  Local AWS  {aws_endpoint}
  Console    {console}
  Key        {api_key}
  Secret     {signing_secret}

  A first job:

  curl -s {url}/v1/jobs \\
    -H 'Authorization: Bearer {api_key}' -H 'Content-Type: application/json' \\
    -d '{{"schedule": {{"delay": "PT5S"}}, "target": {{"type": "http", "url": "http://127.0.0.1:9000/"}}}}'

  Ctrl-C stops everything."""


class Progress:
    """Says on stderr what took how long."""

    @contextmanager
    def step(self, done: str) -> Iterator[None]:
        """Time a step; says `done` and the seconds when it has succeeded."""
        began = time.monotonic()
        yield
        self.say(f"{done} {time.monotonic() - began:.1f} s")

    def say(self, text: str) -> None:
        """One line on stderr."""
        click.echo(text, err=True)


def welcome(ready: dict[str, str]) -> str:
    """The block that says where the API is and how to try it."""
    return f"\nCarillon is ready: {ready['url']}\n\n" + _EXAMPLE.format(**ready)
