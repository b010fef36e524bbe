"""Payloads that are uploaded instead of standing in the job: what one may be, and how it is referred to."""

import re

MOST_UPLOAD_BYTES = 4 * 1024 * 1024
"""A worker handles ten calls side by side in 512 MB, and holds a payload twice while it signs and while it sends."""

UPLOAD_MS = 15 * 60_000
"""How long an upload may begin after it was asked for."""

LONGEST_READ_MS = 10_000
"""What reading one takes at the most: less than a worker's sign of life is apart."""

MOST_TYPE_CHARACTERS = 255

REFERENCE = "pay_[0-9A-HJKMNP-TV-Z]{26}"
"""A pattern, compiled when it is first used: who loads this needs it seldom."""

_TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a token of HTTP
CONTENT_TYPE = f'{_TOKEN}/{_TOKEN}(?: ?; ?{_TOKEN}=(?:{_TOKEN}|"[ !#-\\[\\]-~]*"))*'
"""A pattern: a media type with its parameters (RFC 9110, section 8.3.1)."""


def is_content_type(text: str) -> bool:
    """Whether a text may be the content type of an upload."""
    return len(text) <= MOST_TYPE_CHARACTERS and re.fullmatch(CONTENT_TYPE, text, re.ASCII) is not None


def new_reference(token: str) -> str:
    """The name of an upload, made of an unguessable token of 26 characters."""
    return f"pay_{token}"
