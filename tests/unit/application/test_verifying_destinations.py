"""A stage may ask destinations whether they want to be called: who has not answered lets nobody call."""

import json
from collections.abc import Callable

import pytest

from carillon.application.destinations import EditDestinations
from carillon.application.verified_destinations import VerifiedDestinations
from carillon.application.verify_destinations import WrongHostError
from carillon.domain.destinations import DestinationKind, Verification
from carillon.domain.outcomes import CallRequest, Failure, Outcome, answered
from carillon.domain.run import RunState
from carillon.receiver import verify
from support.one_offs import DUE_MS, one_off
from support.verifying import URL, Asking
from support.world import NEIGHBOUR, SECRET, START_MS, TENANT, Fault, failure, status

HOST, SUFFIX = DestinationKind.HOST, DestinationKind.SUFFIX
Answer = Callable[[CallRequest, Callable[[], bool]], Outcome]


def says(text: Callable[[str], str], code: int = 200, *, truncated: bool = False) -> Answer:
    """Answer a challenge with a text made of its token."""

    def answer(request: CallRequest, _beat: Callable[[], bool]) -> Outcome:
        token = json.loads(request.body or b"")["challenge"]
        body = text(token).encode()
        return answered(status=code, body=body, truncated=truncated, started_ms=0, duration_ms=1)

    return answer


ECHO = says(lambda token: token)


def repeats(request: CallRequest, _beat: Callable[[], bool]) -> Outcome:
    """Answer with what was sent, as pages for tests do."""
    return answered(status=200, body=request.body or b"", started_ms=0, duration_ms=1)


def test_a_destination_that_answers_is_verified_by_a_signed_call() -> None:
    """The challenge is signed, names the destination, and is no run of a job; its end is a record like any other."""
    world = Asking()
    destination = world.register()
    assert not world.is_verified(destination)
    world.caller.script = [ECHO]
    run = world.ask(destination)
    world.run_until(START_MS + 5_000)
    ((request, _),) = world.caller.calls
    headers = dict(request.headers)
    verify(SECRET, headers, request.body or b"", now_seconds=int(headers["webhook-timestamp"]))
    told = json.loads(request.body or b"")
    assert (told["type"], told["destination_id"]) == ("destination.verification", destination.id)
    assert (request.method, request.url, headers["webhook-id"]) == ("POST", URL, run.key.run_id)
    assert (world.asked(run).state, world.is_verified(destination)) == (RunState.SUCCEEDED, True)
    assert world.runs.list_newest(run.key.job_id, 10, None).runs == ()
    assert world.meter.counts["challenges_succeeded"] == 1
    assert "lateness_ms" not in world.meter.durations_ms


BAD: dict[str, tuple[Answer, str]] = {
    "nothing": (says(lambda _: ""), "challenge_not_echoed"),
    "another": (says(lambda token: token[:-1]), "challenge_not_echoed"),
    "among-others": (says(lambda token: f"<p>{token}</p>"), "challenge_not_echoed"),
    "all-of-it": (repeats, "challenge_not_echoed"),
    "cut": (says(lambda token: token, truncated=True), "challenge_not_echoed"),
    "refused": (says(lambda token: token, 404), "http_status"),
    "elsewhere": (says(lambda token: token, 302), "redirect_not_followed"),
    "blocked": (failure(Failure.TARGET_BLOCKED), "target_blocked"),
}


@pytest.mark.parametrize(("answer", "reason"), BAD.values(), ids=BAD)
def test_what_is_no_answer_verifies_nothing(answer: Answer, reason: str) -> None:
    """The run says why, once and for all; somebody has to ask again. Nobody is told of it as of a failed run."""
    world = Asking()
    destination = world.register()
    world.caller.script = [answer]
    run = world.ask(destination)
    world.run_until(START_MS + 60_000)
    dead = world.asked(run)
    assert (dead.state, dead.reason, dead.notice, dead.attempt) == (RunState.DEAD_LETTERED, reason, None, 1)
    assert dead.attempts[-1].error == reason
    assert not world.is_verified(destination)


def test_who_does_not_answer_is_asked_again_a_little_later() -> None:
    """Three times in all."""
    world = Asking()
    destination = world.register()
    world.caller.script = [failure(Failure.TIMEOUT), status(503), ECHO]
    run = world.ask(destination)
    world.run_until(START_MS + 60_000)
    assert (world.asked(run).attempt, world.is_verified(destination)) == (3, True)


def test_blanks_around_the_token_do_no_harm() -> None:
    """Many frameworks end what they send with a line feed."""
    world = Asking()
    destination = world.register()
    world.caller.script = [says(lambda token: f" {token}\r\n")]
    world.ask(destination)
    world.run_until(START_MS + 5_000)
    assert world.is_verified(destination)


def test_a_pending_destination_lets_nobody_call() -> None:
    """Nor does it open anything else; once verified, jobs call it."""
    world = Asking()
    destination = world.register()
    world.caller.script = []
    assert admitted(world) == (False, False)
    world.verifications.save(TENANT, destination.id, Verification(destination.created_at, START_MS))
    assert admitted(world) == (True, False)


def admitted(world: Asking) -> tuple[bool, bool]:
    """Whether the host, and another one, may be called."""
    found = VerifiedDestinations(world.destinations, world.verifications).of(TENANT)
    return found.admits("hooks.example.net"), found.admits("other.example.net")


def test_workers_are_handed_what_is_pending() -> None:
    """A call carries the destinations as they are: the caller refuses by them."""
    world = Asking()
    destination = world.register()
    one_off(world)
    world.run_until(DUE_MS + 5_000)
    ((request, _),) = world.caller.calls
    assert [each.is_pending for each in request.destinations.entries] == [True]
    assert not request.destinations.admits(destination.name)


@pytest.mark.parametrize(
    ("kind", "host", "may"),
    [
        (HOST, "example.net", True),
        (HOST, "hooks.example.net", False),
        (SUFFIX, "example.net", True),
        (SUFFIX, "hooks.example.net", False),
        (SUFFIX, "badexample.net", False),
    ],
)
def test_who_may_answer(kind: DestinationKind, host: str, *, may: bool) -> None:
    """For a suffix only the suffix itself: who holds one name below it need not hold the others."""
    world = Asking()
    destination = world.register(kind, "example.net")
    if may:
        assert world.ask(destination, f"https://{host}/").next_fire_time == START_MS
    else:
        with pytest.raises(WrongHostError):
            world.ask(destination, f"https://{host}/")


def test_a_verified_suffix_opens_all_below_it() -> None:
    """That is what it was registered for."""
    world = Asking()
    destination = world.register(SUFFIX, "example.net")
    world.caller.script = [ECHO]
    world.ask(destination, "https://example.net/verify")
    world.run_until(START_MS + 5_000)
    assert admitted(world) == (True, True)


def test_what_was_removed_and_registered_anew_is_pending() -> None:
    """Its answer was to an earlier question. A late answer to that one verifies nothing either."""
    world = Asking()
    first = world.register()
    world.caller.script = [ECHO]
    world.ask(first)
    world.clock.advance(1)
    edit = EditDestinations(world.destinations)
    edit.remove(TENANT, first.id, world.clock.now_ms())
    again = world.register()
    world.run_until(START_MS + 5_000)
    assert (again.id, world.is_verified(again)) == (first.id, False)


def test_another_tenant_has_to_ask_itself() -> None:
    """A receiver agrees to the calls of one tenant."""
    world = Asking()
    destination = world.register()
    world.caller.script = [ECHO]
    world.ask(destination)
    world.run_until(START_MS + 5_000)
    edit = EditDestinations(world.destinations)
    edit.register(NEIGHBOUR, HOST, "hooks.example.net", START_MS)
    found = VerifiedDestinations(world.destinations, world.verifications).of(NEIGHBOUR)
    assert not found.admits("hooks.example.net")


@pytest.mark.parametrize("method", ["verifications.save", "runs.save", "runs.get", "queues.send", "runs.leave_index"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_whoever_dies_on_its_way_the_destination_is_asked(method: str, nth: int, *, after: bool) -> None:
    """Asked again if need be; in the end the run and the destination say the same."""
    world = Asking()
    destination = world.register()
    world.caller.script = [ECHO] * 3
    run = world.ask(destination)
    world.fault = Fault(method, nth, after=after)
    world.run_until(START_MS + 300_000, 5_000)
    assert (world.asked(run).state, world.is_verified(destination)) == (RunState.SUCCEEDED, True)
