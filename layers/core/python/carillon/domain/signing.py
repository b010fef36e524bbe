"""The signature of a callback: Standard Webhooks 1.0, scheme v1 (github.com/standard-webhooks/standard-webhooks).

Signed are the bytes `<message id>.<timestamp>.<body>` by HMAC-SHA256. While a secret rotates there is one signature
for each live secret, newest first; a receiver accepts any that it can check.
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence

PREFIX = "whsec_"
FEWEST_KEY_BYTES = 24
MOST_KEY_BYTES = 64


class BadSecretError(ValueError):
    """The text is not a signing secret. The message never repeats it."""


def sign(secret_texts: Sequence[str], message_id: str, timestamp_seconds: int, body: bytes) -> str:
    """The value of the `webhook-signature` header.

    Args:
        secret_texts: the live secrets (`whsec_…`), newest first.
        message_id: the `webhook-id`; it holds no dot, because a dot separates what is signed.
        timestamp_seconds: the `webhook-timestamp`, Unix seconds of this attempt.
        body: exactly the bytes that are sent; empty when there is no body.

    Raises:
        BadSecretError: there is no secret, or one is not a secret.
        ValueError: the message id is empty or holds a dot.
    """
    if not message_id or "." in message_id:
        raise ValueError("a message id is not empty and holds no dot")
    if not secret_texts:
        raise BadSecretError("no signing secret given")
    signed = f"{message_id}.{timestamp_seconds}.".encode() + body
    return " ".join(f"v1,{_token(secret, signed)}" for secret in secret_texts)


def new_secret(random_bytes: bytes) -> str:
    """A signing secret as receivers know it.

    Args:
        random_bytes: 24 to 64 bytes from a cryptographic source.

    Raises:
        BadSecretError: too few or too many bytes.
    """
    _check_length(random_bytes)
    return PREFIX + b64encode(random_bytes).decode("ascii")


def key_of(secret_text: str) -> bytes:
    """The key bytes inside a signing secret.

    Raises:
        BadSecretError: the text has no `whsec_`, is not base64 with padding, or is too short or too long.
    """
    if not secret_text.startswith(PREFIX):
        raise BadSecretError(f"a signing secret starts with {PREFIX}")
    try:
        key = b64decode(secret_text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise BadSecretError("a signing secret is base64 with padding") from None
    _check_length(key)
    return key


def _check_length(key: bytes) -> None:
    if not FEWEST_KEY_BYTES <= len(key) <= MOST_KEY_BYTES:
        raise BadSecretError(f"a signing key has {FEWEST_KEY_BYTES} to {MOST_KEY_BYTES} bytes")


def _token(secret_text: str, signed: bytes) -> str:
    return b64encode(hmac.digest(key_of(secret_text), signed, "sha256")).decode("ascii")
