"""A new tenant with its first key and its signing secret."""

from dataclasses import dataclass

from carillon.application.limit_tenant import limits_changed
from carillon.application.naming import new_ulid
from carillon.domain.audit import CARILLON, Action, Actor, told
from carillon.domain.limits import NO_LIMITS, Limits
from carillon.domain.signing import new_secret
from carillon.domain.tenancy import TENANT_ID, Tenant, issued, new_key_text
from carillon.ports.edges import Ids
from carillon.ports.tenancy import ApiKeys, SigningSecrets, TenantLimits, Tenants

_KEY_BYTES = 32
_SIGNING_BYTES = 32


class BadTenantError(ValueError):
    """The text cannot be the id of a tenant."""


class TenantExistsError(Exception):
    """There is a tenant of this id, complete with its secret."""


@dataclass(frozen=True, slots=True)
class NewTenant:
    """A new tenant, with the two texts that are shown this once."""

    tenant: Tenant
    key_id: str
    key_text: str
    signing_secret: str


@dataclass(frozen=True, slots=True)
class CreateTenant:
    """Creates tenants. The signing secret comes last: a tenant without one was broken off, and may be created again."""

    tenants: Tenants
    keys: ApiKeys
    secrets: SigningSecrets
    limits: TenantLimits
    ids: Ids

    def __call__(
        self, tenant_id: str, mode: str, now_ms: int, limits: Limits = NO_LIMITS, by: Actor = CARILLON
    ) -> NewTenant:
        """Create a tenant, with the events that tell who did.

        Args:
            tenant_id: 3 to 40 small letters, digits and inner hyphens, a letter first.
            mode: `live` or `test`; it stands in the key's text and changes nothing else.
            now_ms: the present, epoch ms.
            limits: what it may.
            by: who creates it.

        Raises:
            BadTenantError: the id is not of that form.
            TenantExistsError: there is one of this id.
        """
        if not TENANT_ID.fullmatch(tenant_id):
            raise BadTenantError("a tenant id is 3 to 40 small letters, digits and inner hyphens, a letter first")
        tenant = Tenant(tenant_id, now_ms)
        self.tenants.create(tenant, told(Action.TENANT_CREATED, tenant_id, now_ms, tenant_id, by, of=1))
        if self.secrets.active(tenant_id, now_ms):
            raise TenantExistsError(tenant_id)
        if limits != NO_LIMITS:
            self.limits.set(tenant_id, limits, limits_changed(tenant_id, NO_LIMITS, limits, now_ms, by))
        key_id, key_text = self._add_key(tenant_id, mode, now_ms, by)
        return NewTenant(tenant, key_id, key_text, self._add_secret(tenant_id, now_ms))

    def _add_key(self, tenant_id: str, mode: str, now_ms: int, by: Actor) -> tuple[str, str]:
        key_id = new_ulid(self.ids, now_ms)
        text = new_key_text(mode, key_id, self.ids.secret_bytes(_KEY_BYTES))
        event = told(Action.KEY_CREATED, key_id, now_ms, tenant_id, by, of=1)
        self.keys.add(issued(text, tenant_id, frozenset({"admin"}), now_ms), event)
        return key_id, text

    def _add_secret(self, tenant_id: str, now_ms: int) -> str:
        text = new_secret(self.ids.secret_bytes(_SIGNING_BYTES))
        self.secrets.add(tenant_id, f"sec_{new_ulid(self.ids, now_ms)}", text, now_ms)
        return text
