"""Tenants and their API keys.

A key reads `crl_<live|test>_<key id>_<secret><checksum>`: the id is a ULID, the secret 43 base-62 characters (256
bits), the checksum the CRC-32 of all before it in six, so that a typing error is refused without a read.
Only its SHA-256 is stored.
"""

import hmac
import re
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_KEY = re.compile(r"crl_(live|test)_([0-7][0-9A-HJKMNP-TV-Z]{25})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})", re.ASCII)
TENANT_ID = re.compile(r"[a-z][a-z0-9-]{1,38}[a-z0-9]", re.ASCII)

HINT_CHARACTERS = 4

SCOPES = (
    "jobs:read",
    "jobs:write",
    "runs:read",
    "runs:write",
    "keys:manage",
    "secrets:manage",
    "audit:read",
    "admin",
)


@dataclass(frozen=True, slots=True)
class Tenant:
    """Who owns jobs. `created_at` in epoch ms."""

    id: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as stored: never its text, of which only the last characters are kept. Instants in epoch ms."""

    id: str
    tenant: str
    digest: str
    scopes: frozenset[str]
    created_at: int
    expires_at_ms: int | None = None
    revoked_at: int | None = None
    name: str | None = None
    hint: str = ""
    last_used_at: int | None = None

    def is_in_force(self, now_ms: int) -> bool:
        """Whether it opens anything at an instant."""
        return self.revoked_at is None and (self.expires_at_ms is None or now_ms < self.expires_at_ms)

    def may(self, scope: str) -> bool:
        """Whether it grants a scope."""
        return scope in self.scopes or "admin" in self.scopes

    def admits(self, text: str, now_ms: int) -> bool:
        """Whether this key is the one in the text, and still in force."""
        same = hmac.compare_digest(self.digest, digest_of(text))
        return same and self.is_in_force(now_ms)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: the tenant always comes from here, never from a path or a body. `mode`: `live` or `test`."""

    tenant: str
    key_id: str
    scopes: frozenset[str]
    mode: str = "live"

    def may(self, scope: str) -> bool:
        """Whether the key grants a scope."""
        return scope in self.scopes or "admin" in self.scopes


def base62(number: int, width: int) -> str:
    """A number in base 62, left-padded with zeros to a width."""
    digits = ""
    while number:
        number, rest = divmod(number, 62)
        digits = BASE62[rest] + digits
    return digits.rjust(width, "0")


def new_key_text(mode: str, key_id: str, secret: bytes) -> str:
    """The text of a new key from 32 random bytes. It is shown once and never stored."""
    body = f"crl_{mode}_{key_id}_{base62(int.from_bytes(secret, 'big'), 43)}"
    return body + checksum(body)


def checksum(text: str) -> str:
    """CRC-32 of a text in six base-62 characters."""
    return base62(crc32(text.encode()), 6)


def key_id_in(text: str) -> str | None:
    """The key id in a key's text, or None when it is no key of ours or was mistyped."""
    match = _KEY.fullmatch(text)
    if not match or not hmac.compare_digest(checksum(text[:-6]), match[4]):
        return None
    return match[2]


def mode_in(text: str) -> str:
    """The mode in a key's text, `live` or `test`."""
    return text.split("_", 2)[1]


def digest_of(text: str) -> str:
    """What is stored of a key: SHA-256 in hex. A fast hash is right for 256 random bits."""
    return sha256(text.encode()).hexdigest()


def issued(text: str, tenant: str, scopes: frozenset[str], now_ms: int) -> ApiKey:
    """What is stored of a new key, by its text.

    Raises:
        ValueError: the text is no key.
    """
    key_id = key_id_in(text)
    if key_id is None:
        raise ValueError("not the text of a key")
    return ApiKey(key_id, tenant, digest_of(text), scopes, now_ms, hint=text[-HINT_CHARACTERS:])
