"""The receiver: it answers most calls well, fails some, and lets some wait until their callers have gone."""

from random import Random

from carillon_cli.dev.receiver import Answer, Call
from tests.simulation.plan import draws

from .history import Heard

STUCK_SECONDS = 4.0
STUCK = Answer(200, delay_seconds=STUCK_SECONDS)
"""Too late for callers that wait for two seconds."""

USUAL = Answer(200)
SHARES = (
    (0.05, Answer(500)),
    (0.03, Answer(503, headers={"Retry-After": "2"})),
    (0.02, Answer(429)),
    (0.01, Answer(404)),
    (0.03, STUCK),
    (0.04, Answer(204, delay_seconds=0.8)),
)


def mood(seed: int, call: Call) -> Answer:
    """How a call is answered: by the run and the attempt alone."""
    chance = _draws(seed, call).random()
    for share, answer in SHARES:
        if chance < share:
            return answer
        chance -= share
    return USUAL


def _draws(seed: int, call: Call) -> Random:
    return draws(f"{seed} {call.run_id} {call.attempt}")


def heard(seed: int, call: Call) -> Heard:
    """A call as the history wants it, with what was answered, be it that nobody waited for it any more."""
    name = call.run_id.partition("@")[2]
    return Heard(call.job_id, name, call.attempt, call.received_ms, mood(seed, call).status)
