"""Hooks of schemathesis: they let requests come as far as their bodies.

Headers that are generated with a few fixed values would have nearly every request refused before its body is looked at:
an `Idempotency-Key` that another request has used, a revision that the job does not have. Every fourth is left as it
is, so that these refusals are seen as well.
"""

from itertools import count
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation

_SENT = count()


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Make the headers those of a careful client."""
    number = next(_SENT)
    tries_headers = case.meta is not None and case.meta.phase.data.parameter_location == ParameterLocation.HEADER
    if number % 4 == 0 or tries_headers or case.headers is None:
        return
    if case.headers.get("Idempotency-Key"):
        case.headers["Idempotency-Key"] = f"request-{number}"
    if str(case.headers.get("If-Match", "")).startswith('"'):
        case.headers["If-Match"] = "*"
