"""`carillon tenants`: the first key of a tenant is made here, with the operator's AWS credentials."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import click

from carillon.application.create_tenant import BadTenantError, CreateTenant, TenantExistsError
from carillon.domain.instants import format_instant
from carillon.domain.tenancy import Tenant
from carillon.ports import SigningSecrets, Tenants, UnavailableError
from carillon_cli.aws import AwsUnreachableError, Place, as_one_line, output, outputs_of, uses_stack
from carillon_cli.config import json_option
from carillon_cli.output import note, print_fields, print_json, print_table


@dataclass(frozen=True, slots=True)
class CreatedTenant:
    """A new tenant with the two texts that are shown this once."""

    tenant: str
    api_key: str = field(repr=False)
    signing_secret: str = field(repr=False)


def create_tenant(
    name: str, *, outputs: Mapping[str, str], endpoint_url: str | None, region: str | None, mode: str = "live"
) -> CreatedTenant:
    """Create a tenant with a key and a signing secret in a deployed stack.

    Args:
        name: Id of the tenant: 3 to 40 small letters, digits and inner hyphens, a letter first.
        outputs: Of the stack: `JobsTable`, `ControlTable` and `SecretsKeyId` are used.
        endpoint_url: Where AWS is, or None for the usual place.
        region: Of the stack, or None for the configured one.
        mode: `live` or `test`, as it stands in the key.

    Raises:
        click.ClickException: There is such a tenant, or AWS refused or did not answer.
    """
    tenants, secrets = _stores(Place("", region, endpoint_url), outputs)
    with _as_one_line():
        from carillon.adapters.system import SystemClock, SystemIds  # noqa: PLC0415 - with the other adapters

        new = CreateTenant(tenants, secrets, SystemIds())(name, mode, SystemClock().now_ms())
    return CreatedTenant(new.tenant.id, new.key_text, new.signing_secret)


@click.group()
def tenants() -> None:
    """Create and list tenants, with the operator's AWS credentials."""


@tenants.command()
@click.argument("name")
@click.option(
    "--mode", type=click.Choice(["live", "test"]), default="live", help="What the key says it is for.  [live]"
)
@uses_stack
@json_option
def create(place: Place, name: str, mode: str, *, as_json: bool) -> None:
    """Create the tenant NAME, and show its API key and signing secret: this once, they are stored nowhere in clear."""
    outputs = outputs_of(place)
    created = create_tenant(name, outputs=outputs, endpoint_url=place.endpoint_url, region=place.region, mode=mode)
    url = outputs.get("ApiUrl")
    if as_json:
        print_json({**asdict(created), "url": url})
        return
    print_fields([*asdict(created).items(), ("url", url)])
    note("Keep the key and the secret now: they cannot be shown again.")


@tenants.command("list")
@uses_stack
@json_option
def list_tenants(place: Place, *, as_json: bool) -> None:
    """List the tenants of a stack, oldest first."""
    stored, _ = _stores(place, outputs_of(place))
    with _as_one_line():
        found = sorted(stored.list_all(), key=_age)
    rows = [(tenant.id, format_instant(tenant.created_at)) for tenant in found]
    if as_json:
        print_json({"data": [{"tenant": name, "created_at": created_at} for name, created_at in rows]})
    else:
        print_table(("TENANT", "CREATED"), rows)


def _stores(place: Place, outputs: Mapping[str, str]) -> tuple[Tenants, SigningSecrets]:
    """Where a stack keeps its tenants and their secrets."""
    from carillon.adapters.aws import new_client  # noqa: PLC0415 - botocore is slow to import
    from carillon.adapters.dynamodb.database import Database  # noqa: PLC0415 - same
    from carillon.adapters.dynamodb.tenants import DynamoTenants  # noqa: PLC0415 - same
    from carillon.adapters.kms import KmsSigningSecrets  # noqa: PLC0415 - same

    jobs, control, key_id = (output(outputs, key) for key in ("JobsTable", "ControlTable", "SecretsKeyId"))
    with as_one_line():
        session = place.session()
        dynamodb, kms = (
            new_client(session, service, endpoint_url=place.endpoint_url) for service in ("dynamodb", "kms")
        )
    database = Database(dynamodb, jobs, control)
    return DynamoTenants(database), KmsSigningSecrets(database, kms, key_id)


@contextmanager
def _as_one_line() -> Iterator[None]:
    try:
        with as_one_line():
            yield
    except BadTenantError as error:
        raise click.UsageError(str(error)) from error
    except TenantExistsError as error:
        raise click.ClickException(f"there is a tenant {error} already") from error
    except UnavailableError as error:
        raise AwsUnreachableError(f"AWS does not answer: {error}") from error


def _age(tenant: Tenant) -> tuple[int, str]:
    return tenant.created_at, tenant.id
