"""All planted bugs, and the first seed that is known to catch each."""

from . import planted_dispatch, planted_edits, planted_execution
from .planting import PLANTED

__all__ = ["KNOWN", "PLANTED"]

_BUGS = (planted_dispatch, planted_execution, planted_edits)

KNOWN: dict[str, int] = {}
"""A change of the plans that seeds stand for changes these: `--planted NAME` finds them anew."""
