"""An explanation as the document that programs get, from the command line and from the service alike."""

from typing import Any

from carillon.domain.explaining.explanation import Explanation
from carillon.domain.instants import format_instant


def document_of(explanation: Explanation) -> dict[str, Any]:
    """Of values that JSON has; instants in UTC with milliseconds."""
    return {
        "occurrences": [{"at": format_instant(each.at_ms), "local": each.local} for each in explanation.occurrences],
        "text": explanation.text,
        "clock_changes": [
            {
                "at": format_instant(change.at_ms),
                "before": change.before,
                "after": change.after,
                "effect": change.effect,
                "detail": change.detail,
            }
            for change in explanation.clock_changes
        ],
        "warnings": [{"code": warning.code, "detail": warning.detail} for warning in explanation.warnings],
    }
