"""Circuit breakers as values: when they let a run through, and how they move on."""

import pytest

from carillon.domain.breaker import (
    LONGEST_PAUSE_MS,
    PROBE_MARGIN_MS,
    RAMP_MS,
    Abandon,
    Breaker,
    BreakerRules,
    Park,
    Pass,
    Probe,
    admit,
    first_opened,
    is_down,
    target_of,
)
from carillon.domain.outcomes import Failure, answered, failed

T = 1_790_000_000_000
RULES = BreakerRules()
DAY_MS = 24 * 3600 * 1000


def admitted(breaker: Breaker | None, now_ms: int, unit: float, due_ms: int = T) -> Pass | Probe | Park | Abandon:
    """What a run that was due then has to do."""
    return admit(breaker, due_ms=due_ms, now_ms=now_ms, unit=unit, rules=RULES)


OPEN = first_opened("acme", "hooks.example.com:443", T, RULES)


@pytest.mark.parametrize(("level", "pause_ms"), [(1, 10_000), (2, 20_000), (5, 160_000), (6, 300_000), (99, 300_000)])
def test_the_pause_doubles_up_to_five_minutes(level: int, pause_ms: int) -> None:
    """From the first pause on, each opening in a row doubles it."""
    assert RULES.pause_ms(level) == pause_ms <= LONGEST_PAUSE_MS


def test_a_target_without_a_breaker_is_called() -> None:
    """That is the ordinary case."""
    assert admitted(None, T, 0.5) == Pass()


@pytest.mark.parametrize(("unit", "spread_ms"), [(0.0, 0), (0.5, 5_000), (0.999, 9_990)])
def test_runs_wait_while_it_is_open(unit: float, spread_ms: int) -> None:
    """They are spread over as much time again as the pause, so that they do not all come at once."""
    assert admitted(OPEN, T + 9_999, unit) == Park(T + 10_000 + spread_ms)


def test_one_run_probes_after_the_pause() -> None:
    """While it does, the others wait for what it finds; a probe whose worker has died is given up."""
    assert admitted(OPEN, T + 10_000, 0.5) == Probe()
    probed = OPEN.probed(T + 10_000, 15_000, "p1")
    until_ms = T + 25_000 + PROBE_MARGIN_MS
    assert admitted(probed, T + 10_001, 0.0) == Park(until_ms)
    assert admitted(probed, until_ms, 0.0) == Probe()


def test_the_longer_a_run_has_waited_the_longer_it_goes_on() -> None:
    """A quarter as long again at the most, so that a long outage costs few looks."""
    now_ms = T + 3_600_000
    breaker = first_opened("acme", "hooks.example.com:443", now_ms, RULES)
    assert admitted(breaker, now_ms, 0.5) == Park(breaker.retry_at + 450_000)


def test_after_a_day_a_run_is_given_up() -> None:
    """Unless the target can be probed just then."""
    breaker = first_opened("acme", "hooks.example.com:443", T + DAY_MS, RULES)
    assert isinstance(admitted(breaker, T + DAY_MS, 0.5), Park)
    assert admitted(breaker, T + DAY_MS + 1, 0.5) == Abandon()
    assert admitted(breaker, breaker.retry_at, 0.5) == Probe()
    assert admitted(breaker.closed(T), T + DAY_MS + 1, 0.5) == Pass()


def test_a_probe_that_fails_opens_it_for_longer() -> None:
    """And so on, until one is answered."""
    again = OPEN.probed(T + 10_000, 15_000, "p1").opened(T + 12_000, RULES)
    assert (again.level, again.retry_at, again.probe_until, again.rev) == (2, T + 32_000, 0, 3)


@pytest.mark.parametrize(
    ("after_ms", "unit", "verdict"),
    [
        (0, 0.05, Pass()),
        (0, 0.1, Park(T)),
        (0, 0.55, Park(T + RAMP_MS // 2)),
        (RAMP_MS // 2, 0.49, Pass()),
        (RAMP_MS // 2, 0.75, Park(T + RAMP_MS * 3 // 4)),
        (RAMP_MS, 0.999, Pass()),
    ],
)
def test_runs_come_back_bit_by_bit(after_ms: int, unit: float, verdict: Pass | Park) -> None:
    """After the first answer a tenth of them passes, then more and more; the others are spread over the rest."""
    assert admitted(OPEN.closed(T), T + after_ms, unit) == verdict


@pytest.mark.parametrize(("well_for_ms", "level"), [(RAMP_MS - 1, 2), (RAMP_MS, 1)])
def test_a_relapse_within_the_ramp_counts_on(well_for_ms: int, level: int) -> None:
    """One that fails again at once has not recovered."""
    assert OPEN.closed(T).opened(T + well_for_ms, RULES).level == level


JUDGED = {
    Failure.DNS_ERROR: True,
    Failure.CONNECT_ERROR: True,
    Failure.CONNECT_TIMEOUT: True,
    Failure.TLS_ERROR: True,
    Failure.TIMEOUT: True,
    Failure.PROTOCOL_ERROR: True,
    Failure.RESPONSE_TOO_LARGE: False,
    Failure.TARGET_BLOCKED: None,
    Failure.PAYLOAD_MISSING: None,
    Failure.PAYLOAD_UNAVAILABLE: None,
    Failure.CANCELLED: None,
}
OF_QUEUES = {failure for failure in Failure if failure.startswith("queue_")}


@pytest.mark.parametrize("failure", JUDGED)
def test_which_failures_say_that_a_target_is_down(failure: Failure) -> None:
    """What we did ourselves says nothing of the target."""
    assert is_down(failed(failure, started_ms=0, duration_ms=1)) is JUDGED[failure]


def test_every_failure_is_judged_above() -> None:
    """A new one has to be thought of. Queues are called through no breaker: SQS has its own."""
    assert JUDGED.keys() | OF_QUEUES == set(Failure)


@pytest.mark.parametrize("status", [200, 404, 429, 500, 502, 503, 504])
def test_which_answers_say_that_a_target_is_down(status: int) -> None:
    """Errors of its own are the answers of one that lives."""
    assert is_down(answered(status=status, started_ms=0, duration_ms=1)) is (status in {502, 503, 504})


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://hooks.example.com/a?b=c", "hooks.example.com:443"),
        ("https://Hooks.Example.com:8443/", "hooks.example.com:8443"),
        ("http://127.0.0.1:9000/x", "127.0.0.1:9000"),
        ("http://localhost/", "localhost:80"),
        ("https://[2001:db8::1]/", "2001:db8::1:443"),
    ],
)
def test_a_target_is_a_host_and_a_port(url: str, target: str) -> None:
    """Paths of one server fail together."""
    assert target_of(url) == target


def test_a_stored_breaker_says_what_it_is() -> None:
    """The first opening."""
    assert Breaker("acme", "hooks.example.com:443", rev=1, level=1, retry_at=T + 10_000) == OPEN
