"""From a merge patch to the wish for the whole job.

The patch is merged into the job as answers show it, and the result has to be a document that could have created the
job. `schedule`, `retry` and `on_failure` are replaced whole, because their members only make sense together; so is a
target by one of another type, and the payload, byte for byte as it stands in the patch. What the patch does not name
stays as it is.
"""

from collections.abc import Mapping
from typing import Any, Final

from carillon.application.create_job import NewJob
from carillon.domain.job import Definition
from carillon.domain.schedule import decode
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.merge_patch import merge_patch
from carillon.entrypoint.views import view_of_job
from carillon.entrypoint.wire.documents import HttpTargetDocument, JobDocument, QueueTargetDocument
from carillon.entrypoint.wire.jobs import read_payload, read_wish
from carillon.entrypoint.wire.refusals import validated

Members = dict[str, Any]

_REPLACED_WHOLE: Final = frozenset({"schedule", "retry", "on_failure"})


def read_patch(seen: Definition, sent: JsonObject, policy: TargetPolicy, now_ms: int) -> NewJob:
    """The wish for a job as it is to be.

    Args:
        seen: the job as it is.
        sent: the patch, with the text of its payload.
        policy: which targets the stage allows.
        now_ms: the instant of the edit, epoch ms: delays and new intervals count from it.

    Raises:
        Refusal: the job would not be valid, or the patch names what no job has; each error names its field.
    """
    payload = _payload(seen, sent)
    document = validated(JobDocument, _merged(seen, sent.members))
    kept = None if "schedule" in sent.members else decode(seen.job.schedule)
    return read_wish(document, payload, policy, now_ms, schedule=kept)


def _payload(seen: Definition, sent: JsonObject) -> bytes | None:
    """The payload that is wanted. A null removes it, as it removes any member: by a patch it is never a payload.

    An upload that the patch refers to takes its place.
    """
    if "payload" not in sent.members:
        return seen.spec.payload if sent.members.get("payload_ref") is None else None
    return None if sent.members["payload"] is None else read_payload(sent)


def _merged(seen: Definition, patch: Mapping[str, Any]) -> Members:
    """The document that is wanted; what the patch removes and no job has is in it, to be refused by its name."""
    document = _document_of(seen)
    target = patch.get("target")
    if isinstance(target, dict) and target.get("type", document["target"]["type"]) != document["target"]["type"]:
        del document["target"]
    if patch.get("payload") is not None:
        document.pop("payload_ref", None)
    for name in _REPLACED_WHOLE & patch.keys():
        document.pop(name, None)
    merged: Members = merge_patch(document, patch)
    merged |= _unknown(patch, JobDocument.model_fields)
    if isinstance(target, dict):
        kind = QueueTargetDocument if merged["target"].get("type") == "queue" else HttpTargetDocument
        merged["target"] |= _unknown(target, kind.model_fields)
    return merged


def _document_of(seen: Definition) -> Members:
    """What a client could have sent to create the job, but for its payload."""
    shown: Mapping[str, Any] = {**view_of_job(seen)}
    return {name: shown[name] for name in JobDocument.model_fields if shown.get(name) is not None}


def _unknown(patch: Mapping[str, Any], known: Mapping[str, object]) -> Members:
    return {name: value for name, value in patch.items() if name not in known}
