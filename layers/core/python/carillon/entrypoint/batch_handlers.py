"""The handler of many creations in one request: each job is judged, created and answered by itself."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from carillon.application.create_job import CreateJob
from carillon.application.read_jobs import GetJob, JobNotFoundError
from carillon.domain.idempotency import SEED_BYTES, KeptAnswer, SeededIds
from carillon.domain.job import JobState
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.http_request import Answer, Request
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.problems import INTERNAL_ERROR, Refusal, refusal_of
from carillon.entrypoint.views import view_of_job
from carillon.entrypoint.wire.batches import read_batch
from carillon.entrypoint.wire.jobs import read_job
from carillon.ports.edges import Ids

logger = logging.getLogger("carillon")

_CREATED = 201
_SERVER_ERRORS = 500

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Creates many jobs."""

    create: CreateJob
    get: GetJob

    def __call__(self, request: Request, policy: TargetPolicy) -> Answer:
        """Answer with one item a job, in their order."""
        texts, ids = read_batch(request.body), request.ids or self.create.ids
        # Each has names of its own: what becomes of one says nothing of those behind it.
        seeds = [ids.secret_bytes(SEED_BYTES).hex() for _ in texts]
        items = [self._item(request, policy, text, SeededIds(seed)) for text, seed in zip(texts, seeds, strict=True)]
        return Answer(200, _text(items))

    def recheck(self, request: Request, kept: KeptAnswer) -> KeptAnswer:
        """The answer that was kept, where jobs that are cancelled or gone since are not told as created."""
        items = json.loads(kept.text or "{}").get("data", [])
        return replace(kept, text=_text([self._rechecked(request, item) for item in items]))

    def _item(self, request: Request, policy: TargetPolicy, text: str, ids: Ids) -> Item:
        try:
            new = read_job(read_object(text.encode(), opaque={"payload"}), policy, request.now_ms)
            definition = replace(self.create, ids=ids)(request.tenant, new, request.now_ms, request.actor)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None or refusal.status >= _SERVER_ERRORS:
                if request.ids is not None:  # under a key the whole is to be repeated, not kept as it failed
                    raise
                logger.exception("item failed", extra={"action": "batch_item_failed", "request_id": request.request_id})
            return _refused(refusal or INTERNAL_ERROR, request)
        item = {"status": _CREATED, "job": view_of_job(definition)}
        return self._rechecked(request, item) if request.is_again else item

    def _rechecked(self, request: Request, item: Item) -> Item:
        if item["status"] != _CREATED:
            return item
        try:
            state = self.get(request.tenant, item["job"]["id"]).job.state
        except JobNotFoundError:
            state = JobState.CANCELLED
        if state is not JobState.CANCELLED:
            return item
        detail = "the job that this Idempotency-Key created is cancelled or gone: take a new key"
        return _refused(Refusal("job_finished", detail), request)


def _refused(refusal: Refusal, request: Request) -> Item:
    return {"status": refusal.status, "problem": json.loads(refusal.as_text(request.request_id, request.base))}


def _text(items: list[Item]) -> str:
    created = sum(item["status"] == _CREATED for item in items)
    # Six bytes for a sign of two would be too much for a function's answer.
    return json.dumps({"data": items, "created": created, "refused": len(items) - created}, ensure_ascii=False)
