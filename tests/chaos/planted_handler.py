"""What functions run in place of their handler when a bug is planted: the bug first, then the handler.

`CHAOS_PLANTED` names it; the functions of a stack have it only by the hand of `tests.chaos.stage`.
"""

import os
from importlib import import_module

from tests.chaos.planted import PLANTED

_planted = PLANTED[os.environ["CHAOS_PLANTED"]]()
_planted.__enter__()

handler = import_module("handler").handler
