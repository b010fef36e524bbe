"""Signing secrets: encrypted by KMS, kept in the control table, and in clear for five minutes in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from carillon.adapters.aws import ask
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, raw, text
from carillon.adapters.dynamodb.database import Database, Lost
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put

CACHED_FOR_MS: Final = 5 * 60 * 1000
MOST_CACHED_TENANTS: Final = 1024
_SECRETS_OF_TENANT: Final = f"#{k.PK} = :pk AND begins_with(#{k.SK}, :secret)"


@dataclass(frozen=True, slots=True)
class _Cached:
    texts: tuple[str, ...]
    read_at: int

    def is_fresh(self, now_ms: int) -> bool:
        return 0 <= now_ms - self.read_at < CACHED_FOR_MS


class KmsSigningSecrets:
    """The secrets that sign a tenant's callbacks. A ciphertext is bound to its tenant and its id."""

    def __init__(self, database: Database, kms: Any, kms_key_id: str) -> None:
        self._database = database
        self._kms = kms
        self._kms_key_id = kms_key_id
        self._cache: dict[str, _Cached] = {}

    def active(self, tenant: str, now_ms: int) -> Sequence[str]:
        """The texts to sign with, newest first; empty when the tenant has none."""
        cached = self._cache.get(tenant)
        if cached is None or not cached.is_fresh(now_ms):
            cached = _Cached(self._read(tenant), now_ms)
            self._keep(tenant, cached)
        return cached.texts

    def add(self, tenant: str, secret_id: str, text: str, now_ms: int) -> None:
        """Store a new secret, encrypted.

        Raises:
            ValueError: the tenant has another secret of this id.
        """
        context = _context(tenant, secret_id)
        answer = ask(self._kms.encrypt, KeyId=self._kms_key_id, Plaintext=text.encode(), EncryptionContext=context)
        item = _item(tenant, secret_id, answer["CiphertextBlob"], now_ms)
        written = self._database.write(put(self._database.control, item, ABSENT))
        self._cache.pop(tenant, None)
        if isinstance(written, Lost) and (written.old is None or self._decrypted(tenant, written.old) != text):
            raise ValueError(f"{tenant}: another secret has the id {secret_id}")

    def _read(self, tenant: str) -> tuple[str, ...]:
        values = {":pk": text(k.tenant_pk(tenant)), ":secret": text(k.SECRET_PREFIX)}
        pages = self._database.query(self._database.control, _SECRETS_OF_TENANT, values)
        newest_first = sorted((item for page in pages for item in page), key=_age, reverse=True)
        return tuple(self._decrypted(tenant, item) for item in newest_first)

    def _decrypted(self, tenant: str, item: Item) -> str:
        fields = Fields(item)
        secret_id = fields.text(k.SK).removeprefix(k.SECRET_PREFIX)
        answer = ask(
            self._kms.decrypt,
            KeyId=self._kms_key_id,
            CiphertextBlob=fields.raw(k.CIPHERTEXT),
            EncryptionContext=_context(tenant, secret_id),
        )
        plaintext: bytes = answer["Plaintext"]
        return plaintext.decode()

    def _keep(self, tenant: str, cached: _Cached) -> None:
        if not cached.texts:
            return  # the first secret of a tenant counts at once
        if len(self._cache) >= MOST_CACHED_TENANTS:
            self._cache.clear()
        self._cache[tenant] = cached


def _context(tenant: str, secret_id: str) -> dict[str, str]:
    return {"tenant": tenant, "secret": secret_id}


def _item(tenant: str, secret_id: str, ciphertext: bytes, now_ms: int) -> Item:
    key = key_of(*k.secret_key(tenant, secret_id))
    return key | {k.CIPHERTEXT: raw(ciphertext), k.CREATED_AT: number(now_ms)}


def _age(item: Item) -> tuple[int, str]:
    fields = Fields(item)
    return fields.number(k.CREATED_AT), fields.text(k.SK)
