"""What the functions' meter writes: CloudWatch's embedded format, a line for each set of dimensions."""

import json
from typing import Any

import pytest

from carillon.entrypoint.observability import EmbeddedMeter


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> EmbeddedMeter:
    """The dispatcher's meter."""
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Carillon/test")
    return EmbeddedMeter("dispatcher")


def written(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines written since the last time."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def dimensions(line: dict[str, Any]) -> list[list[str]]:
    """The names of a line's dimensions."""
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Carillon/test"
    return [sorted(names) for names in directive["Dimensions"]]


def test_counts_are_added_up_until_they_are_written(meter: EmbeddedMeter, capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand runs are one figure; durations keep each of theirs."""
    for number in range(1_000):
        meter.count("runs_succeeded")
        meter.count("runs_dead_lettered", number % 2)
    meter.observe_ms("lateness_ms", 3)
    meter.observe_ms("lateness_ms", 5)
    meter.flush()
    (line,) = written(capsys)
    assert (line["runs_succeeded"], line["runs_dead_lettered"]) == ([1_000], [500])
    assert line["lateness_ms"] == [3, 5]
    assert (line["service"], dimensions(line)) == ("dispatcher", [["service"]])


def test_what_was_written_is_not_written_again(meter: EmbeddedMeter, capsys: pytest.CaptureFixture[str]) -> None:
    """Each invocation writes its own figures."""
    meter.count("occurrences_sent", 2)
    meter.flush()
    meter.count("occurrences_sent", 3)
    meter.flush()
    assert [line["occurrences_sent"] for line in written(capsys)] == [[2], [3]]


def test_nothing_counted_is_nothing_written(meter: EmbeddedMeter, capsys: pytest.CaptureFixture[str]) -> None:
    """An idle tick writes no line at all."""
    meter.count("occurrences_sent", 0)
    meter.flush()
    assert written(capsys) == []


def test_a_group_is_a_dimension_of_its_own_figure_only(
    meter: EmbeddedMeter, capsys: pytest.CaptureFixture[str]
) -> None:
    """What else is recorded keeps its one dimension."""
    meter.count("occurrences_sent", 2)
    meter.observe_group_ms("group_lag_ms", 3, 4_000)
    meter.flush()
    group, rest = written(capsys)
    assert (group["group_lag_ms"], group["group"], group["service"]) == ([4_000], "3", "dispatcher")
    assert dimensions(group) == [["group", "service"]]
    assert (rest["occurrences_sent"], dimensions(rest)) == ([2], [["service"]])
    assert "group" not in rest
