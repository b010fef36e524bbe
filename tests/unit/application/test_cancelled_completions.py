"""What is done to a job or a run meanwhile: cancels, pauses, and the notice that a target gets of its cancel."""

from collections.abc import Callable
from typing import Any

import pytest

from carillon.application.complete_run import (
    RunEndedError,
)
from carillon.application.edit_job import EditJob
from carillon.domain.editing import cancel as cancel_job
from carillon.domain.editing import pause as pause_job
from carillon.domain.job import Completion, HttpTarget, JobState
from carillon.domain.outcomes import CallRequest, Failure, Outcome, answered
from carillon.domain.run import RunState
from carillon.domain.schedule import Every
from support.completing import (
    HOUR_MS,
    MINUTE_MS,
    RETENTION_MS,
    SECOND_MS,
    Story,
)
from support.world import DAY_MS, START_MS, TENANT, dies, failure, status


def edit(story: Story, change: Any) -> None:
    """Change the job."""
    EditJob(story.world.jobs, story.world.runs, RETENTION_MS)(TENANT, story.job_id, story.now_ms, change)


def test_a_run_that_is_awaited_ends_as_it_ends_though_its_job_is_cancelled() -> None:
    """It is under way. But it is not tried again."""
    story = Story().until(MINUTE_MS)
    edit(story, cancel_job)
    assert story.complete().state is RunState.SUCCEEDED
    late = Story().until(MINUTE_MS)
    edit(late, cancel_job)
    late.until(10 * MINUTE_MS)
    assert (late.run.state, late.run.reason) == (RunState.CANCELLED, "job_cancelled")


def test_a_pause_holds_the_next_attempt_and_not_the_completion() -> None:
    """Of a paused job nothing starts; what is under way may be completed, and its deadline holds."""
    story = Story(schedule=Every(DAY_MS, START_MS)).until(MINUTE_MS)
    edit(story, pause_job)
    story.until(8 * MINUTE_MS)
    assert story.world.state.jobs[story.job_id].state is JobState.PAUSED
    assert (story.run.state, story.run.attempts[0].error) == (RunState.RETRYING, "heartbeat_timeout")
    assert len(story.world.caller.calls) == 1


CANCELLABLE = HttpTarget(
    "https://hooks.example.net/cb",
    headers=(("X-Team", "infra"), ("Content-Type", "text/plain")),
    completion=Completion(HOUR_MS, 5 * MINUTE_MS),
    cancel_url="https://hooks.example.net/stop",
)


def notices(story: Story) -> list[CallRequest]:
    """The calls of the cancel URL."""
    return [request for request, _ in story.world.caller.calls if request.url == CANCELLABLE.cancel_url]


def test_a_cancel_ends_a_run_that_is_awaited() -> None:
    """At once, and for whoever completes it."""
    story = Story().until(MINUTE_MS)
    run = story.cancel()
    assert (run.state, run.reason, run.attempts[0].error) == (RunState.CANCELLED, "run_cancelled", "cancelled")
    assert run.next_fire_time is None
    with pytest.raises(RunEndedError):
        story.complete()
    with pytest.raises(RunEndedError):
        story.beat()
    story.until(10 * MINUTE_MS)
    assert len(story.world.caller.calls) == 1


def test_the_target_of_a_cancelled_run_is_told_once() -> None:
    """Signed, under a name of its own, with the run's; whatever it answers."""
    story = Story(status(202), status(503), target=CANCELLABLE).until(MINUTE_MS)
    story.cancel()
    assert story.cancel().state is RunState.CANCELLED
    story.until(10 * MINUTE_MS)
    (request,) = notices(story)
    headers = dict(request.headers)
    assert request.method == "POST"
    assert headers["webhook-id"] == f"cancel_{story.key.run_id}"
    assert headers["webhook-signature"].startswith("v1,")
    assert (headers["Carillon-Run-Id"], headers["Carillon-Attempt"]) == (story.key.run_id, "1")
    assert (headers["X-Team"], headers["Content-Type"]) == ("infra", "application/json")
    assert b'"type": "run.cancelled"' in (request.body or b"")
    assert (story.run.state, story.run.next_fire_time) == (RunState.CANCELLED, None)


def test_a_call_that_is_broken_off_is_followed_by_the_notice() -> None:
    """The cancel reaches the worker by its beat, and then the target."""
    story: list[Story] = []

    def hangs(_request: CallRequest, beat: Callable[[], bool]) -> Outcome:
        story[0].cancel()
        assert not beat()
        return Outcome(started_ms=0, duration_ms=1, failure=Failure.CANCELLED)

    story.append(Story(hangs, target=CANCELLABLE))
    one = story[0].until(MINUTE_MS)
    assert (one.run.state, len(notices(one))) == (RunState.CANCELLED, 1)


@pytest.mark.parametrize("code", [202, 503])
def test_an_answer_behind_a_cancel_ends_the_run_and_is_followed_by_the_notice(code: int) -> None:
    """A 202 is no success yet."""
    story: list[Story] = []

    def slow(_request: CallRequest, _beat: object) -> Outcome:
        story[0].cancel()
        return answered(status=code, started_ms=0, duration_ms=1)

    story.append(Story(slow, target=CANCELLABLE))
    one = story[0].until(MINUTE_MS)
    assert (one.run.state, one.run.reason, len(notices(one))) == (RunState.CANCELLED, "run_cancelled", 1)


def test_a_run_whose_worker_died_is_cancelled_with_a_notice() -> None:
    """The target may have been called, so it is told."""
    story = Story(dies, target=CANCELLABLE).until(SECOND_MS)
    story.cancel()
    story.until(5 * MINUTE_MS)
    assert (story.run.state, len(notices(story))) == (RunState.CANCELLED, 1)


@pytest.mark.parametrize("script", [(status(503),), (failure(Failure.DNS_ERROR),)], ids=["503", "dns"])
def test_a_run_that_only_waits_is_cancelled_without_a_word(script: tuple[Any, ...]) -> None:
    """Nothing of it is under way."""
    story = Story(*script, target=CANCELLABLE).until(SECOND_MS)
    story.cancel()
    story.until(MINUTE_MS)
    assert not notices(story)


def test_a_worker_that_dies_while_it_tells_leaves_it_at_that() -> None:
    """Once at most: the message comes again, and finds the telling begun."""
    story = Story(status(202), dies, target=CANCELLABLE).until(MINUTE_MS)
    story.cancel()
    story.until(20 * MINUTE_MS)
    assert len(notices(story)) == 1


def test_a_notice_that_nobody_could_deliver_is_dropped() -> None:
    """The run has ended, and stays as it is."""
    story = Story(target=CANCELLABLE).until(MINUTE_MS)
    story.cancel()
    story.world.dispatch()
    before = story.run
    for delivery in story.world.receive():
        assert story.world.burier()(delivery)
    assert story.run == before
