"""The call that a job's target gets, as a webhook of the document."""

from carillon.entrypoint.openapi.operation import Json

_RUN_ID = "job_01M8MX0REB67WD2ANKW6N989AG@20261130T001742107Z"
_HEADERS = {
    "webhook-id": ("the run's id: the same for each attempt", _RUN_ID),
    "webhook-timestamp": ("Unix seconds of this attempt", "1796000000"),
    "webhook-signature": (
        (
            "`v1,` and HMAC-SHA256 over `<id>.<timestamp>.<body>` in base64, as in Standard Webhooks 1.0; one for each "
            "secret that signs, apart by blanks"
        ),
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
    "Idempotency-Key": ("the run's id", _RUN_ID),
    "Carillon-Job-Id": ("the job's id", "job_01M8MX0REB67WD2ANKW6N989AG"),
    "Carillon-Attempt": ("1 for the first attempt; it only rises", "1"),
    "Carillon-Max-Attempts": ("as the job says", "5"),
    "Carillon-Scheduled-For": ("the nominal time", "2026-11-30T00:17:42.107Z"),
    "User-Agent": ("`carillon/<version>`", "carillon/0.1.0"),
}
_MEANS = {
    "Carillon-Completion-Url": (
        "where to report, of a target with `completion`",
        f"https://api.carillon.dev/v1/runs/{_RUN_ID}/complete",
    ),
    "Carillon-Completion-Token": ("allows to report of this attempt, and nothing else", "crt_AAECAwQFBgcICQoLDA0ODw"),
}
_ANSWERS = {
    "202": "the run has succeeded; of a target with `completion`, it is completed later",
    "2XX": "the run has succeeded",
    "408": "tried again",
    "409": "tried again",
    "410": "the run ends as a dead letter, and its job is paused",
    "425": "tried again",
    "429": "tried again, not before `Retry-After`",
    "501": "the run ends as a dead letter",
    "505": "the run ends as a dead letter",
    "5XX": "tried again, not before `Retry-After`",
    "default": (
        "the run ends as a dead letter. A job's `retry_on` replaces the statuses that are tried again; the header "
        "`webhook-delivery: abort-message` ends it at any status but 2xx"
    ),
}

CALLBACK: Json = {
    "post": {
        "operationId": "run",
        "summary": "A run of a job",
        "description": (
            "Sent to the job's target with the method and headers that the job names (`POST` by default), over https, "
            "following no redirect. Verify the signature before you believe it, and expect a run more than once."
        ),
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": name not in _MEANS,
                "description": description,
                "schema": {"type": "string", "examples": [example]},
            }
            for name, (description, example) in (_HEADERS | _MEANS).items()
        ],
        "requestBody": {
            "description": "the job's payload, byte for byte; none if the job has none",
            "required": False,
            "content": {"application/json": {"schema": {}, "examples": {"usual": {"value": {"depth": "full"}}}}},
        },
        "responses": {status: {"description": told} for status, told in _ANSWERS.items()},
        "security": [],
    }
}
