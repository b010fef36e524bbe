"""Parameters of paths, queries and headers, and the headers of answers: each name once."""

from collections.abc import Mapping

from carillon.domain.audit import Action
from carillon.entrypoint.cursors import LONGEST_CURSOR
from carillon.entrypoint.openapi.operation import Json
from carillon.entrypoint.pages import DEFAULT_LIMIT, HIGHEST_LIMIT
from carillon.entrypoint.problems import KINDS
from carillon.entrypoint.wire.fields import MOST_NAME_CHARACTERS

PATH: Mapping[str, Json] = {
    "job_id": {"type": "string", "examples": ["job_01M8MX0REB67WD2ANKW6N989AG"]},
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": MOST_NAME_CHARACTERS,
        "description": "the job's name; slashes in it are sent as %2F",
        "examples": ["nightly-backup"],
    },
    "run_id": {"type": "string", "examples": ["job_01M8MX0REB67WD2ANKW6N989AG@20261130T001742107Z"]},
    "operation_id": {"type": "string", "examples": ["op_01M8MX0REB67WD2ANKW6N989AG"]},
    "key_id": {"type": "string", "examples": ["01M8MX0REB67WD2ANKW6N989AG"]},
    "secret_id": {"type": "string", "examples": ["sec_01K8Z3T6Q2W9Y5N7M4B1V0XCDE"]},
    "destination_id": {"type": "string", "examples": ["dst_8f0a6a2c1f3e4b5d6c7e8f9a0b"]},
    "code": {"type": "string", "enum": [*KINDS]},
}

QUERY: Mapping[str, Json] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": HIGHEST_LIMIT, "default": DEFAULT_LIMIT},
    "cursor": {
        "type": "string",
        "maxLength": LONGEST_CURSOR,
        "description": "`next_cursor` of the page before; belongs to this list with these filters, and holds for a day",
    },
    "label": {
        "type": "array",
        "items": {"type": "string", "pattern": "^[^:]+:", "examples": ["team:infra"]},
        "description": "`key:value`; may stand several times, all must hold",
    },
    "name_prefix": {"type": "string", "description": "only jobs whose names begin so"},
    "job": {"type": "string", "description": "only runs of this job"},
    "since": {
        "type": "string",
        "format": "date-time",
        "description": "only what ended, or was done, at this instant or later",
    },
    "until": {"type": "string", "format": "date-time", "description": "only what was done before this instant"},
    "actor": {"type": "string", "description": "only what this key, or whoever has this id, did"},
    "target": {"type": "string", "description": "only what was done to this; a job stands for its runs too"},
    "action": {"type": "string", "enum": [str(action) for action in Action]},
}

HEADERS: Mapping[str, Json] = {
    "Idempotency-Key": {
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        "description": "the same when you repeat a request: it is carried out once",
    },
    "If-Match": {
        "schema": {"type": "string", "examples": ['"3"', "*"]},
        "description": "the ETag of the revision that you have seen, or * for any",
    },
    "If-None-Match": {
        "schema": {"type": "string", "examples": ["*"]},
        "description": "* to create only, never to change what is there",
    },
    "X-Request-Id": {
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._=+/-]{1,128}$"},
        "description": "a name of your own for the request; the answer and our logs carry it",
    },
}

ANSWER_HEADERS: Mapping[str, Json] = {
    "X-Request-Id": {"schema": {"type": "string"}, "description": "the request's name in our logs"},
    "Cache-Control": {"schema": {"type": "string", "const": "no-store"}},
    "Location": {"schema": {"type": "string", "format": "uri-reference"}, "description": "where it can be read"},
    "ETag": {"schema": {"type": "string", "pattern": '^"[0-9]+"$'}, "description": "the job's revision"},
    "Link": {"schema": {"type": "string"}, "description": '`rel="next"`: the next page, while there is one'},
    "Idempotent-Replayed": {
        "schema": {"type": "string", "const": "true"},
        "description": "the answer is that of the first request with this Idempotency-Key",
    },
    "Retry-After": {"schema": {"type": "string", "pattern": "^[0-9]+$"}, "description": "seconds to wait"},
    "WWW-Authenticate": {"schema": {"type": "string"}},
    "Accept-Patch": {"schema": {"type": "string"}},
    "Content-Security-Policy": {"schema": {"type": "string"}},
    "X-Content-Type-Options": {"schema": {"type": "string"}},
}
