"""The order of dead letters, and a dead letter's position in it as a text that a list can go on from."""

from carillon.domain.identity import RunKey
from carillon.domain.run import Run

Place = tuple[int, str]
"""When a run died (epoch ms), and its id."""


def place_of(run: Run) -> Place:
    """The place of a dead letter in the order of its tenant's."""
    return run.created_at if run.ended_at is None else run.ended_at, run.key.run_id


def position_of(run: Run) -> str:
    """The place as a text: `<epoch ms>/<run id>`."""
    died_at, run_id = place_of(run)
    return f"{died_at}/{run_id}"


def place_at(position: str) -> tuple[int, RunKey]:
    """The place that a text names.

    Raises:
        ValueError: it names none.
    """
    died_at, _, run_id = position.partition("/")
    return int(died_at), RunKey.parse(run_id)
