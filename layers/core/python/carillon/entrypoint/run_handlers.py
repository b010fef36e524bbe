"""The handlers of runs: each parses, calls one use case, and maps the outcome."""

import json
from dataclasses import dataclass

from carillon.application.read_runs import GetRun, ListRuns
from carillon.domain.run import RunState
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import Answer, Request
from carillon.entrypoint.pages import answer_page, choice, read_page
from carillon.entrypoint.views import view_of_run

_RUN_STATES = {str(state): state for state in RunState}


@dataclass(frozen=True, slots=True)
class RunHandlers:
    """One method a route."""

    get: GetRun
    list: ListRuns
    cursors: Cursors

    def list_runs(self, request: Request) -> Answer:
        """GET /v1/jobs/{job_id}/runs."""
        asked = read_page(request, self.cursors)
        state = choice(request, "state", _RUN_STATES)
        walked = self.list(request.tenant, request.path_values["job_id"], state, asked.limit, asked.position)
        return answer_page(request, asked, walked, self.cursors, view=view_of_run, position_of=lambda run: run.key.name)

    def get_run(self, request: Request) -> Answer:
        """GET /v1/runs/{run_id}."""
        return Answer(200, json.dumps(view_of_run(self.get(request.tenant, request.path_values["run_id"]))))
