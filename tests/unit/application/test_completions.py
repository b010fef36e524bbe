"""Targets that answer 202 and complete later: one end for each attempt, whoever comes first, and none forgotten."""

from collections.abc import Callable
from typing import Any

import pytest

from carillon.application.complete_run import (
    CompleteRun,
    NotAwaitedError,
    OtherReportError,
    Reporter,
    RunEndedError,
    StaleAttemptError,
    WrongTokenError,
)
from carillon.application.read_runs import RunNotFoundError
from carillon.domain.completions import Completed, Report, token_digest
from carillon.domain.identity import RunKey
from carillon.domain.job import Completion, HttpTarget
from carillon.domain.outcomes import CallRequest, Outcome, answered
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run, RunState, kept_alive
from carillon.domain.schedule import OneOff
from support.completing import (
    ASYNC,
    FAILED,
    FOR_GOOD,
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    SUCCEEDED,
    Story,
    headers_of,
)
from support.world import API_URL, DAY_MS, NEIGHBOUR, START_MS, TENANT, dies, status


def test_a_202_puts_the_run_into_waiting_for_its_completion() -> None:
    """Its deadline waits in the due index; the attempt is open, and holds what was answered."""
    story = Story().until(SECOND_MS)
    run = story.run
    assert (run.state, run.attempt, run.completion_until) == (RunState.AWAITING_COMPLETION, 1, START_MS + HOUR_MS)
    assert run.next_fire_time == START_MS + 5 * MINUTE_MS
    assert (run.attempts[0].status, run.attempts[0].ended_at, run.lease_until) == (202, None, 0)


def test_the_request_says_where_and_with_what_to_complete() -> None:
    """The address is of this stage; the token is not stored, only its digest."""
    story = Story().until(SECOND_MS)
    headers = headers_of(story.world, 0)
    assert headers["Carillon-Completion-Url"] == f"{API_URL}/v1/runs/{story.key.run_id}/complete"
    token = headers["Carillon-Completion-Token"]
    assert token.startswith("crt_")
    assert story.run.attempts[0].token_digest == token_digest(token)
    assert token not in repr(story.run)


def test_a_target_that_is_not_asynchronous_is_told_nothing_and_done_by_202() -> None:
    """Its 202 is a success like any 2xx."""
    story = Story(target=HttpTarget("https://hooks.example.net/cb")).until(SECOND_MS)
    assert story.run.state is RunState.SUCCEEDED
    assert not {name for name in headers_of(story.world, 0) if "Completion" in name}


@pytest.mark.parametrize("code", [200, 201, 204])
def test_another_2xx_of_an_asynchronous_target_is_the_end(code: int) -> None:
    """It did the work at once."""
    assert Story(status(code)).until(SECOND_MS).run.state is RunState.SUCCEEDED


@pytest.mark.parametrize(
    ("completed", "state", "reason"),
    [
        (SUCCEEDED, RunState.SUCCEEDED, None),
        (FAILED, RunState.RETRYING, None),
        (FOR_GOOD, RunState.DEAD_LETTERED, "failed_by_target"),
    ],
    ids=["succeeded", "failed", "failed-for-good"],
)
def test_what_is_reported_is_what_becomes_of_it(completed: Completed, state: RunState, reason: str | None) -> None:
    """A failure goes by the job's rules, unless it says that nothing would help."""
    story = Story().until(MINUTE_MS)
    run = story.complete(Completed(completed.report, '{"rows": 30.40}'))
    assert (run.state, run.reason) == (state, reason)
    assert run == story.run
    (attempt,) = run.attempts
    assert (attempt.report, attempt.result, attempt.ended_at) == (completed.report, '{"rows": 30.40}', story.now_ms)
    assert attempt.error == (None if completed is SUCCEEDED else "failed_by_target")


def test_a_reported_failure_is_tried_again() -> None:
    """The next attempt has a token of its own, and its success is the run's."""
    story = Story().until(MINUTE_MS)
    story.complete(FAILED)
    story.until(2 * MINUTE_MS)
    assert (story.run.state, story.run.attempt) == (RunState.AWAITING_COMPLETION, 2)
    assert story.token(1) != story.token(2)
    assert story.complete(attempt=2).state is RunState.SUCCEEDED
    story.until(2 * HOUR_MS)
    assert story.run.state is RunState.SUCCEEDED
    assert len(story.world.caller.calls) == 2


def test_once_at_most_is_once_at_most() -> None:
    """A job of one attempt has one, however it fails."""
    for fails in (lambda story: story.complete(FAILED), lambda story: story.until(10 * MINUTE_MS)):
        story = Story(retry=RetryPolicy(max_attempts=1)).until(MINUTE_MS)
        fails(story)
        story.until(2 * HOUR_MS)
        assert (story.run.state, story.run.reason) == (RunState.DEAD_LETTERED, "attempts_exhausted")
        assert len(story.world.caller.calls) == 1


# ------------------------------------------------------------------------------------------------------- deadlines


def test_a_missed_heartbeat_fails_the_attempt() -> None:
    """It is a failure like any other: the next attempt comes by the job's rules, and the older token is stale."""
    story = Story().until(5 * MINUTE_MS + 5 * SECOND_MS)
    assert (story.run.state, story.run.attempts[0].error) == (RunState.RETRYING, "heartbeat_timeout")
    story.until(6 * MINUTE_MS)
    assert (story.run.state, story.run.attempt) == (RunState.AWAITING_COMPLETION, 2)
    with pytest.raises(StaleAttemptError):
        story.complete()
    with pytest.raises(StaleAttemptError):
        story.beat()
    assert story.complete(attempt=2).state is RunState.SUCCEEDED


def test_heartbeats_put_the_deadline_off_up_to_the_whole_time() -> None:
    """Signs of life reset their own clock only: an hour is an hour."""
    story = Story()
    for minute in range(1, 60, 4):
        story.until(minute * MINUTE_MS)
        assert story.beat().state is RunState.AWAITING_COMPLETION
    assert len(story.world.caller.calls) == 1
    story.until(HOUR_MS + 5 * SECOND_MS)
    assert (story.run.state, story.run.attempts[0].error) == (RunState.RETRYING, "completion_timeout")


def test_a_sign_of_life_heard_by_a_clock_that_is_behind_brings_no_deadline_forward() -> None:
    """Servers of the API disagree by seconds. Two signs within such a span must not end the wait of either."""
    story = Story().until(4 * MINUTE_MS)
    story.beat()
    put_off = story.run.next_fire_time
    assert put_off is not None
    assert put_off == story.now_ms + 5 * MINUTE_MS
    heard_early = kept_alive(story.run, now_ms=story.now_ms - 30 * SECOND_MS)
    assert heard_early.next_fire_time == put_off
    assert heard_early.wait == story.run.wait + 1


def test_without_heartbeats_there_is_only_the_whole_time() -> None:
    """A sign of life is taken, and changes nothing."""
    story = Story(target=HttpTarget("https://hooks.example.net/cb", completion=Completion(HOUR_MS))).until(MINUTE_MS)
    assert story.beat() == story.run
    assert story.run.next_fire_time == START_MS + HOUR_MS
    story.until(HOUR_MS + 5 * SECOND_MS)
    assert story.run.attempts[0].error == "completion_timeout"


def test_a_deadline_is_not_taken_ahead_of_its_time() -> None:
    """The dispatcher looks a minute ahead, and finds nothing to do: no lease, no message, no write."""
    story = Story().until(4 * MINUTE_MS + 30 * SECOND_MS)
    story.world.calls_made.clear()
    story.world.dispatch()
    assert not {name for name in story.world.calls_made if name.startswith(("leases", "queues", "runs"))}


def test_a_deadline_takes_no_slot() -> None:
    """A tenant at its rate has its failures noticed all the same."""
    story = Story().until(SECOND_MS)
    story.world.calls_made.clear()
    story.until(5 * MINUTE_MS + SECOND_MS)
    assert story.world.calls_made["slots.reserve"] == 0


def test_a_deadline_that_was_sent_is_void_behind_a_heartbeat() -> None:
    """The message lies in the queue when the sign of life comes: who wrote first counts."""
    story = Story().until(5 * MINUTE_MS)
    story.world.dispatch()
    assert story.beat().next_fire_time == story.now_ms + 5 * MINUTE_MS
    story.world.work()
    assert story.run.state is RunState.AWAITING_COMPLETION
    story.until(11 * MINUTE_MS)
    assert story.run.attempts[0].error == "heartbeat_timeout"


def test_a_heartbeat_between_the_send_and_the_leaving_of_the_index_is_not_lost() -> None:
    """The run stays in the index at its new deadline: else nobody would ever find it again."""
    story = Story().until(5 * MINUTE_MS)
    queues = story.world.queues

    class Between:
        """A queue behind which somebody gives a sign of life."""

        def send(self, messages: Any, clock: Any) -> list[bool]:
            """Send, and let the target be heard."""
            sent = queues.send(messages, clock)
            story.beat()
            return sent

    story.world.queues = Between()  # type: ignore[assignment]
    story.world.dispatch()
    story.world.queues = queues
    story.world.work()
    assert story.run.state is RunState.AWAITING_COMPLETION
    story.until(11 * MINUTE_MS)
    assert story.run.attempts[0].error == "heartbeat_timeout"


@pytest.mark.parametrize("completed", [SUCCEEDED, FAILED, FOR_GOOD], ids=["succeeded", "failed", "failed-for-good"])
def test_a_deadline_that_was_sent_is_void_behind_a_completion(completed: Completed) -> None:
    """An attempt ends once."""
    story = Story().until(5 * MINUTE_MS)
    story.world.dispatch()
    written = story.complete(completed)
    story.world.work()
    assert story.run == written


def test_a_completion_behind_a_deadline_comes_too_late() -> None:
    """The attempt has failed, and so has the report."""
    story = Story(retry=RetryPolicy(max_attempts=1)).until(5 * MINUTE_MS + 5 * SECOND_MS)
    with pytest.raises(RunEndedError):
        story.complete()


def test_a_deadline_repeated_by_the_queue_fails_one_attempt_only() -> None:
    """The second message finds another wait number."""
    story = Story().until(5 * MINUTE_MS)
    story.world.dispatch()
    deliveries = story.world.receive()
    for delivery in [*deliveries, *deliveries]:
        story.world.handle(delivery)
    assert (story.run.state, len(story.run.attempts)) == (RunState.RETRYING, 1)


def test_a_deadline_that_nobody_could_deliver_holds_all_the_same() -> None:
    """In the dead-letter queue it is still what it was: a failed attempt, not a dead run."""
    story = Story().until(5 * MINUTE_MS)
    story.world.dispatch()
    for delivery in story.world.receive():
        assert story.world.burier()(delivery)
    assert (story.run.state, story.run.attempts[0].error) == (RunState.RETRYING, "heartbeat_timeout")


def test_no_wait_ends_later_than_a_fortnight_after_the_nominal_time() -> None:
    """What is accepted on the last day has until its end; a deadline there is the end of the run."""
    assert Completion(2 * DAY_MS).until(START_MS + 13 * DAY_MS, START_MS) == START_MS + 14 * DAY_MS
    assert Completion(2 * DAY_MS).until(START_MS + 20 * DAY_MS, START_MS) == START_MS + 22 * DAY_MS


# ------------------------------------------------------------------------------------- reports that come twice or late


@pytest.mark.parametrize("completed", [SUCCEEDED, FAILED, FOR_GOOD], ids=["succeeded", "failed", "failed-for-good"])
def test_a_report_that_is_repeated_changes_nothing(completed: Completed) -> None:
    """The first answer may have been lost, so the second one is the same."""
    story = Story().until(MINUTE_MS)
    first = story.complete(completed)
    assert story.complete(completed) == first
    assert story.run == first


def test_a_repeated_report_is_no_error_though_the_run_has_gone_on() -> None:
    """Attempt 2 is under way; of attempt 1 all is said."""
    story = Story().until(MINUTE_MS)
    story.complete(FAILED)
    story.until(2 * MINUTE_MS)
    before = story.run
    assert story.complete(FAILED, attempt=1) == before
    assert story.run == before


@pytest.mark.parametrize(
    ("first", "second"), [(SUCCEEDED, FAILED), (FAILED, SUCCEEDED), (FAILED, FOR_GOOD)], ids=lambda one: one.report
)
def test_another_outcome_of_the_same_attempt_is_refused(first: Completed, second: Completed) -> None:
    """What was said first stands."""
    story = Story().until(MINUTE_MS)
    written = story.complete(first)
    with pytest.raises(OtherReportError):
        story.complete(second)
    assert story.run == written


@pytest.mark.parametrize("token", ["", "crt_", "crt_" + "A" * 43, "crl_test_key", "☾" * 50, "crt_\ud800"])
def test_a_wrong_token_opens_nothing(token: str) -> None:
    """Whatever it looks like, and whether or not there is such a run."""
    story = Story().until(MINUTE_MS)
    before = story.run
    complete = CompleteRun(story.world.records(), story.world.ids)
    for run_id in (story.key.run_id, RunKey.of(story.job_id, START_MS + 1).run_id, "nonsense", ""):
        with pytest.raises(WrongTokenError):
            complete(Reporter(token=token), run_id, SUCCEEDED)
    assert story.run == before


def test_the_token_of_another_run_opens_nothing() -> None:
    """A token is of one attempt of one run."""
    story = Story()
    other = RunKey.of(story.world.create(OneOff(START_MS), target=ASYNC), START_MS)
    story.until(MINUTE_MS)
    assert story.world.runs.get(other) is not None
    with pytest.raises(WrongTokenError):
        CompleteRun(story.world.records(), story.world.ids)(Reporter(token=story.token(1)), other.run_id, SUCCEEDED)


def test_a_key_of_the_tenant_may_complete_what_is_awaited() -> None:
    """For people: by the run as it is. A repeat is answered, another tenant's run is not there."""
    story = Story().until(MINUTE_MS)
    with pytest.raises(RunNotFoundError):
        story.complete(key_of=NEIGHBOUR)
    first = story.complete(key_of=TENANT)
    assert (first.state, story.complete(key_of=TENANT)) == (RunState.SUCCEEDED, first)
    with pytest.raises(OtherReportError):
        story.complete(FAILED, key_of=TENANT)


def test_a_key_completes_nothing_that_nobody_awaits() -> None:
    """A retrying run waits for a start, and one of an ordinary target for its answer."""
    story = Story(status(503)).until(SECOND_MS)
    with pytest.raises(NotAwaitedError):
        story.complete(key_of=TENANT)


# ------------------------------------------------------------------------------------------- faster than the record


def reporting(story: list[Story], completed: Completed, answer: int = 202) -> Callable[..., Outcome]:
    """A script's step: the target completes the attempt before it answers."""

    def call(_request: CallRequest, _beat: object) -> Outcome:
        one = story[0]
        one.beat()
        one.complete(completed)
        return answered(status=answer, started_ms=0, duration_ms=1)

    return call


@pytest.mark.parametrize("answer", [202, 200, 500])
@pytest.mark.parametrize("completed", [SUCCEEDED, FAILED, FOR_GOOD], ids=["succeeded", "failed", "failed-for-good"])
def test_a_target_may_complete_before_it_has_answered(completed: Completed, answer: int) -> None:
    """Its report stands; the worker whose finish comes later is done, and its message is not needed."""
    story: list[Story] = []
    story.append(Story(reporting(story, completed, answer)))
    one = story[0].until(SECOND_MS)
    expected = {
        Report.SUCCEEDED: RunState.SUCCEEDED,
        Report.FAILED: RunState.RETRYING,
        Report.FAILED_FOR_GOOD: RunState.DEAD_LETTERED,
    }
    assert one.run.state is expected[completed.report]
    assert one.run.attempts[0].report == completed.report
    assert not one.world.receive()
    assert one.world.meter.counts["finishes_refused"] == 0


def test_a_sign_of_life_before_the_202_is_recorded_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker freezes for six minutes behind the answer; the target has given signs of life all the while."""
    story = Story()
    save = story.world.runs.save

    def frozen_save(run: Run, **options: Any) -> Any:
        if run.state is RunState.AWAITING_COMPLETION and story.now_ms < START_MS + 5 * MINUTE_MS:
            for _ in range(2):
                story.world.clock.advance(3 * MINUTE_MS)
                assert story.beat().state is RunState.RUNNING
        return save(run, **options)

    monkeypatch.setattr(type(story.world.runs), "save", lambda _, run, **options: frozen_save(run, **options))
    story.world.run_until(START_MS + 6 * MINUTE_MS)
    assert story.run.state is RunState.AWAITING_COMPLETION
    assert story.run.next_fire_time == START_MS + 11 * MINUTE_MS


def test_a_worker_that_dies_after_the_202_loses_the_attempt() -> None:
    """Nobody knows that it was accepted; the next attempt answers for the run, and the first token is stale."""
    story = Story(dies, status(202), retry=RetryPolicy(max_attempts=3, base_ms=1_000, jitter=Jitter.NONE))
    story.until(5 * MINUTE_MS)
    assert (story.run.state, story.run.attempt) == (RunState.AWAITING_COMPLETION, 2)
    with pytest.raises(StaleAttemptError):
        story.complete()


def test_a_report_saves_an_attempt_whose_worker_has_died() -> None:
    """Until the loss is written, the attempt is the current one."""
    story = Story(dies).until(30 * SECOND_MS)
    assert story.complete().state is RunState.SUCCEEDED
    story.until(10 * MINUTE_MS)
    assert (story.run.state, len(story.world.caller.calls)) == (RunState.SUCCEEDED, 1)
