"""Cursors: where a list goes on, sealed so that nobody else, no other list and no later day can use them.

A cursor is base64url of version (1 byte), expiry (6 bytes, epoch ms), position (UTF-8) and the first 16 bytes of an
HMAC-SHA256 over all that, the tenant and the list with its filters. The position is an id that the holder has seen:
sealed, not secret.
"""

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass

VALID_FOR_MS = 24 * 3600 * 1000
LONGEST_CURSOR = 512
_VERSION = b"\x01"
_EXPIRY_BYTES = 6
_SEAL_BYTES = 16
_HEAD_BYTES = len(_VERSION) + _EXPIRY_BYTES


class BadCursorError(ValueError):
    """The text is no cursor of this list: forged, of another list, filter or tenant, or too old."""


@dataclass(frozen=True, slots=True)
class Cursors:
    """Makes and reads cursors. `key` gives the secret that seals them; the same for every instance of a stage."""

    key: Callable[[], bytes]

    def seal(self, tenant: str, listing: str, position: str, now_ms: int) -> str:
        """The cursor of a position in a tenant's list.

        Args:
            tenant: who may use it.
            listing: which list it belongs to, filters included.
            position: the id behind which the list goes on.
            now_ms: the present, epoch ms; the cursor holds for a day.
        """
        content = _VERSION + (now_ms + VALID_FOR_MS).to_bytes(_EXPIRY_BYTES, "big") + position.encode()
        return _encode(content + self._seal(tenant, listing, content))

    def open(self, text: str, tenant: str, listing: str, now_ms: int) -> str:
        """The position in a cursor.

        Raises:
            BadCursorError: it was not made for this tenant and list, or is older than a day.
        """
        raw = _decode(text)
        content, seal = raw[:-_SEAL_BYTES], raw[-_SEAL_BYTES:]
        if len(content) < _HEAD_BYTES or not hmac.compare_digest(seal, self._seal(tenant, listing, content)):
            raise BadCursorError("not a cursor of this list")
        if now_ms >= int.from_bytes(content[len(_VERSION) : _HEAD_BYTES], "big"):
            raise BadCursorError("the cursor has expired")
        return content[_HEAD_BYTES:].decode()

    def _seal(self, tenant: str, listing: str, content: bytes) -> bytes:
        bound = b"".join(len(part).to_bytes(4, "big") + part for part in (tenant.encode(), listing.encode(), content))
        return hmac.digest(self.key(), b"carillon cursor" + bound, "sha256")[:_SEAL_BYTES]


def _encode(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """The bytes of a text that `_encode` made, and of no other text: base64 has several for the same bytes."""
    if not text.isascii() or len(text) > LONGEST_CURSOR:
        raise BadCursorError("not a cursor")
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadCursorError("not a cursor") from error
    if _encode(raw) != text:
        raise BadCursorError("not a cursor")
    return raw
