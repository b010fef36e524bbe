"""Signing secrets: encrypted by KMS, kept in the control table, and in clear for some minutes in memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from carillon.adapters.aws import ask
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, raw, text
from carillon.adapters.dynamodb.audit import event_item
from carillon.adapters.dynamodb.database import Database, Lost
from carillon.adapters.dynamodb.writes import ABSENT, Write, key_of, put, setting, update
from carillon.domain.audit import AuditEvent
from carillon.domain.instants import DAY_MS, SECOND_MS
from carillon.domain.secrets import Rotation, SigningSecret, signing

KEPT_FOR_MS: Final = 5 * 60 * SECOND_MS
MOST_CACHED_TENANTS: Final = 1024
_SECRETS_OF_TENANT: Final = f"#{k.PK} = :pk AND begins_with(#{k.SK}, :secret)"


@dataclass(frozen=True, slots=True)
class _Cached:
    texts: Mapping[SigningSecret, str]
    read_at: int


class KmsSigningSecrets:
    """The secrets that sign a tenant's callbacks. A ciphertext is bound to its tenant and its id."""

    def __init__(self, database: Database, kms: Any, kms_key_id: str, *, kept_for_ms: int = KEPT_FOR_MS) -> None:
        self._kept_for_ms = kept_for_ms
        self._database = database
        self._kms = kms
        self._kms_key_id = kms_key_id
        self._cache: dict[str, _Cached] = {}

    def active(self, tenant: str, now_ms: int) -> Sequence[str]:
        """The texts to sign with, newest first; empty when the tenant has none."""
        cached = self._cache.get(tenant)
        if cached is None or not 0 <= now_ms - cached.read_at < self._kept_for_ms:
            cached = _Cached(self._read(tenant), now_ms)
            self._keep(tenant, cached)
        return [cached.texts[secret] for secret in signing(cached.texts, now_ms)]

    def add(self, tenant: str, secret_id: str, text: str, now_ms: int) -> None:
        """Store a new secret, encrypted.

        Raises:
            ValueError: the tenant has another secret of this id.
        """
        item = self._encrypted(tenant, SigningSecret(secret_id, now_ms), text)
        written = self._database.write(put(self._database.control, item, ABSENT))
        self._cache.pop(tenant, None)
        if isinstance(written, Lost) and (written.old is None or self._decrypted(tenant, written.old) != text):
            raise ValueError(f"{tenant}: another secret has the id {secret_id}")

    def list_all(self, tenant: str) -> Sequence[SigningSecret]:
        """The tenant's secrets without their texts."""
        return [_secret_of(item) for item in self._items(tenant)]

    def rotate(self, tenant: str, rotation: Rotation, text: str, event: AuditEvent) -> bool:
        """Store the new secret, let the others retire, and add the event, in one transaction."""
        control = self._database.control
        writes = [
            put(control, self._encrypted(tenant, rotation.added, text), ABSENT),
            put(control, event_item(event), ABSENT),
            *(_retirement(control, tenant, seen, rotation.retires_at) for seen in rotation.seen),
        ]
        self._cache.pop(tenant, None)
        return self._database.transact(writes) is None

    def reveal(self, tenant: str, secret_id: str) -> str | None:
        """The text of a secret, or None."""
        item = self._database.get(self._database.control, key_of(*k.secret_key(tenant, secret_id)))
        return None if item is None else self._decrypted(tenant, item)

    def _read(self, tenant: str) -> Mapping[SigningSecret, str]:
        return {_secret_of(item): self._decrypted(tenant, item) for item in self._items(tenant)}

    def _items(self, tenant: str) -> Iterator[Item]:
        values = {":pk": text(k.tenant_pk(tenant)), ":secret": text(k.SECRET_PREFIX)}
        for page in self._database.query(self._database.control, _SECRETS_OF_TENANT, values):
            yield from page

    def _encrypted(self, tenant: str, secret: SigningSecret, plain: str) -> Item:
        context = _context(tenant, secret.id)
        answer = ask(self._kms.encrypt, KeyId=self._kms_key_id, Plaintext=plain.encode(), EncryptionContext=context)
        key = key_of(*k.secret_key(tenant, secret.id))
        return key | {k.CIPHERTEXT: raw(answer["CiphertextBlob"]), k.CREATED_AT: number(secret.created_at)}

    def _decrypted(self, tenant: str, item: Item) -> str:
        answer = ask(
            self._kms.decrypt,
            KeyId=self._kms_key_id,
            CiphertextBlob=Fields(item).raw(k.CIPHERTEXT),
            EncryptionContext=_context(tenant, _secret_of(item).id),
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


def _secret_of(item: Item) -> SigningSecret:
    fields = Fields(item)
    secret_id = fields.text(k.SK).removeprefix(k.SECRET_PREFIX)
    return SigningSecret(secret_id, fields.number(k.CREATED_AT), fields.number_or_none(k.RETIRES_AT))


def _retirement(table: str, tenant: str, seen: SigningSecret, retires_at: int) -> Write:
    """A secret retires if it is still as it was seen; its item is removed a day later."""
    change, values = setting(
        {k.RETIRES_AT: number(retires_at), k.EXPIRES_AT: number((retires_at + DAY_MS) // SECOND_MS)}
    )
    condition = f"#{k.CREATED_AT} = :created AND attribute_not_exists(#{k.RETIRES_AT})"
    values[":created"] = number(seen.created_at)
    if seen.retires_at is not None:
        condition = f"#{k.CREATED_AT} = :created AND #{k.RETIRES_AT} = :seen"
        values[":seen"] = number(seen.retires_at)
    return update(table, key_of(*k.secret_key(tenant, seen.id)), change, condition, values)
