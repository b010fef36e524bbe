"""Many jobs due in one second."""

import pytest

from bench.spike_bench import MIXED, Deployed, spike
from e2e.dev_stack import DevStack

JOBS = 100


@pytest.mark.timeout(900)
def test_a_spike_loses_nothing_and_doubles_nothing(stack: DevStack) -> None:
    """Jobs of all priorities that are due in the same second are each called once, and each recorded once."""
    deployed = Deployed(stack.signing_secret, stack.aws_endpoint, stack.outputs)
    found = spike(deployed, JOBS, MIXED, lead_seconds=20)
    assert (len(found.priorities), found.lost, found.doubled) == (JOBS, 0, 0)
    assert [call.problem for call in found.calls] == [None] * JOBS
