"""Clocks and names: the real ones and those of the simulation are held to the same."""

import pytest

from carillon.adapters.memory.edges import MemoryClock, RecordingMeter, SequentialIds
from carillon.adapters.system import SystemClock, SystemIds
from carillon.domain.identity import CROCKFORD, is_job_id
from carillon.ports.edges import Clock, Ids
from contract.samples import NOW_MS


@pytest.mark.parametrize("clock", [SystemClock(), MemoryClock()], ids=["system", "memory"])
def test_sleeping_lets_time_pass(clock: Clock) -> None:
    """After a sleep it is at least that much later; a sleep of nothing is allowed."""
    before_ms = clock.now_ms()
    clock.sleep_ms(0)
    clock.sleep_ms(3)
    assert clock.now_ms() >= before_ms + 3


IDS = pytest.mark.parametrize("ids", [SystemIds(), SequentialIds(5)], ids=["system", "sequential"])


@IDS
def test_job_ids_are_new_and_sort_by_time(ids: Ids) -> None:
    """No id comes twice, and a later millisecond gives a later id."""
    made = [ids.job_id(NOW_MS + number // 10) for number in range(100)]
    assert len(set(made)) == 100
    assert all(map(is_job_id, made))
    assert made[::10] == sorted(made[::10])


@IDS
def test_tokens_are_new(ids: Ids) -> None:
    """A token has 26 characters of one alphabet, and none comes twice."""
    tokens = {ids.token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 26 and set(token) <= set(CROCKFORD) for token in tokens)


@IDS
def test_draws_are_in_the_unit_interval(ids: Ids) -> None:
    """From 0 up to and without 1, and not always the same."""
    draws = {ids.unit() for _ in range(100)}
    assert all(0 <= draw < 1 for draw in draws)
    assert len(draws) > 90


@IDS
@pytest.mark.parametrize("count", [0, 1, 32, 33, 100])
def test_secret_bytes_are_as_many_as_asked_for(ids: Ids, count: int) -> None:
    """Their number is exact, and the next ones are others."""
    first, second = ids.secret_bytes(count), ids.secret_bytes(count)
    assert len(first) == len(second) == count
    assert first != second or count < 2


def test_a_seed_makes_the_same_names_again() -> None:
    """What a simulation did once it does again."""
    first, second, other = SequentialIds(1), SequentialIds(1), SequentialIds(2)
    names = [(ids.job_id(NOW_MS), ids.token(), ids.unit(), ids.secret_bytes(40)) for ids in (first, second, other)]
    assert names[0] == names[1]
    assert names[0] != names[2]


def test_a_recording_meter_can_be_read() -> None:
    """Counts add up, durations are kept."""
    meter = RecordingMeter()
    meter.count("runs")
    meter.count("runs", 2)
    meter.observe_ms("lag", 7)
    meter.observe_ms("lag", 5)
    assert meter.counts["runs"] == 3
    assert meter.durations_ms["lag"] == [7, 5]
