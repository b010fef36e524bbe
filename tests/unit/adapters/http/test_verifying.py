"""Destinations that are asked by real calls, of servers on loopback, and never of an address inside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from carillon.adapters.http.caller import HttpCaller
from carillon.domain.run import RunState
from support.verifying import Asking
from support.world import START_MS
from tests.unit.adapters.http.conftest import LOOPBACK_POLICY, FakeResolver

if TYPE_CHECKING:
    import ssl

    from tests.unit.adapters.http.conftest import Conversation, Script, Serve


def echo(conversation: Conversation) -> None:
    """Answer with the token alone."""
    body = conversation.read_request().partition(b"\r\n\r\n")[2]
    token = json.loads(body)["challenge"].encode()
    conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(token), token))


def repeat(conversation: Conversation) -> None:
    """Answer with what was sent."""
    body = conversation.read_request().partition(b"\r\n\r\n")[2]
    conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def lead_elsewhere(conversation: Conversation) -> None:
    """Answer with a redirect."""
    conversation.read_request()
    conversation.send(b"HTTP/1.1 307 Go\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")


def flood(conversation: Conversation) -> None:
    """Answer with the token, and with more and more behind it."""
    body = conversation.read_request().partition(b"\r\n\r\n")[2]
    token = json.loads(body)["challenge"].encode()
    conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + token)
    conversation.flood(b" " * 65_536, 100_000_000)


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        (echo, RunState.SUCCEEDED, None),
        (repeat, RunState.DEAD_LETTERED, "challenge_not_echoed"),
        (lead_elsewhere, RunState.DEAD_LETTERED, "redirect_not_followed"),
        (flood, RunState.DEAD_LETTERED, "challenge_not_echoed"),
    ],
    ids=["echo", "repeat", "redirect", "flood"],
)
def test_a_destination_is_asked_by_a_real_call(
    serve: Serve, trusting: ssl.SSLContext, script: Script, state: RunState, reason: str | None
) -> None:
    """Only the token alone verifies it."""
    server, world = serve(script), Asking()
    resolver = FakeResolver([["127.0.0.1"]])
    world.caller = HttpCaller(world.clock, LOOPBACK_POLICY, resolver=resolver, tls=lambda: trusting)  # type: ignore[assignment]  # a caller too
    destination = world.register(name="hooks.acme.com")
    run = world.ask(destination, f"http://hooks.acme.com:{server.port}/verify", "hooks.acme.com")
    world.run_until(START_MS + 3_000)
    assert (world.asked(run).state, world.asked(run).reason) == (state, reason)
    assert world.is_verified(destination) is (state is RunState.SUCCEEDED)
    assert (len(server.requests), resolver.asked) == (1, ["hooks.acme.com"])


def test_a_destination_that_points_inside_is_not_asked(serve: Serve, trusting: ssl.SSLContext) -> None:
    """The address is judged as for every call."""
    server, world = serve(echo), Asking()
    resolver = FakeResolver([["10.0.0.1"]])
    world.caller = HttpCaller(world.clock, LOOPBACK_POLICY, resolver=resolver, tls=lambda: trusting)  # type: ignore[assignment]  # a caller too
    destination = world.register(name="hooks.acme.com")
    run = world.ask(destination, f"http://hooks.acme.com:{server.port}/verify", "hooks.acme.com")
    world.run_until(START_MS + 3_000)
    assert world.asked(run).reason == "target_blocked"
    assert (server.requests, world.is_verified(destination)) == ([], False)
