"""The document that reports how an attempt went which its target completes later."""

from typing import Any, Literal

from carillon.domain.completions import MOST_RESULT_BYTES, Completed, Report
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import FieldError, Refusal, invalid
from carillon.entrypoint.wire.fields import Document
from carillon.entrypoint.wire.refusals import validated


class CompleteDocument(Document):
    """How it went. `retry`: of a failure, whether it is tried again by the job's rules, as it is unless said."""

    outcome: Literal["succeeded", "failed"]
    retry: bool | None = None
    result: Any = None


def read_completed(sent: JsonObject) -> Completed:
    """The report in a document; its result is kept as the text that was sent.

    Raises:
        Refusal: something in it is not valid, or the result is too large.
    """
    document = validated(CompleteDocument, sent.members)
    result = None if document.result is None else sent.texts["result"]
    if result is not None and len(result.encode("utf-8", "replace")) > MOST_RESULT_BYTES:
        detail = f"at most {MOST_RESULT_BYTES} bytes of UTF-8 are allowed"
        wrong = FieldError("pointer", "/result", "too_large", detail)
        raise Refusal("too_large", f"the result is too large: {detail}", (wrong,))
    if document.outcome == "succeeded":
        if document.retry:
            raise invalid([FieldError("pointer", "/retry", "conflicting_fields", "what succeeded is not tried again")])
        return Completed(Report.SUCCEEDED, result)
    return Completed(Report.FAILED_FOR_GOOD if document.retry is False else Report.FAILED, result)
