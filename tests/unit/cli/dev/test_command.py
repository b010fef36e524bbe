"""Signals and options of the commands that start a stack."""

import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from carillon_cli.dev.command import dev, options_of, stop_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_to_stop_and_its_handling_is_put_back(number: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and a closed terminal set the event; afterwards they mean what they meant before."""
    inherited = signal.signal(number, signal.default_int_handler)  # whoever runs the tests may ignore it
    try:
        with stop_signals() as stop:
            os.kill(os.getpid(), number)
            assert stop.wait(10)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, inherited)


def test_an_ignored_signal_stays_ignored() -> None:
    """Under nohup the terminal's end is no reason to stop."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_options_reach_the_stack(tmp_path: Path) -> None:
    """What the command line says is what is run."""
    options = options_of(port=8123, state=tmp_path, auth=True, project=tmp_path, ready_file=tmp_path / "ready")
    assert (options.port, options.state, options.enforces) == (8123, tmp_path, True)
    assert (options.project.root, options.ready_file) == (tmp_path, tmp_path / "ready")


@pytest.mark.parametrize("port", ["0", "65536", "eighty"])
def test_a_bad_port_is_a_usage_error(port: str) -> None:
    """Ports are 1 to 65535."""
    assert CliRunner().invoke(dev, ["--port", port]).exit_code == 2


def test_a_folder_that_is_no_checkout_is_a_usage_error(tmp_path: Path) -> None:
    """Nothing is started from a folder that has nothing to deploy."""
    result = CliRunner().invoke(dev, ["--project", str(tmp_path)])
    assert (result.exit_code, "no cdk.json" in result.output) == (2, True)
