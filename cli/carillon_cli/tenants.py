"""`carillon tenants`: the first key of a tenant is made here, with the operator's AWS credentials."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import click

from carillon.application.create_tenant import BadTenantError, CreateTenant, TenantExistsError
from carillon.application.limit_tenant import LimitTenant, TenantNotFoundError
from carillon.application.recount import Recount, TenantBusyError
from carillon.domain.audit import Actor, ActorType
from carillon.domain.instants import format_instant
from carillon.domain.limits import NO_LIMITS, Limits
from carillon.domain.tenancy import Tenant
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import JobStore
from carillon.ports.tenancy import ApiKeys, JobCounts, SigningSecrets, TenantLimits, Tenants
from carillon_cli.aws import AwsUnreachableError, Place, as_one_line, output, outputs_of, uses_stack
from carillon_cli.config import json_option
from carillon_cli.output import note, print_fields, print_json, print_table
from carillon_cli.tenant_limits import changes_from, limit_fields, limit_options, no_limit_options

# ruff: noqa: PLC0415 - botocore takes longer to import than most commands take: only who talks to AWS loads it

SETTLING_SECONDS = 10
"""After so long what has ended before is freed."""


@dataclass(frozen=True, slots=True)
class CreatedTenant:
    """A new tenant with the two texts that are shown this once."""

    tenant: str
    api_key: str = field(repr=False)
    signing_secret: str = field(repr=False)


def create_tenant(
    name: str,
    *,
    outputs: Mapping[str, str],
    endpoint_url: str | None,
    region: str | None,
    mode: str = "live",
    limits: Limits = NO_LIMITS,
) -> CreatedTenant:
    """Create a tenant with a key and a signing secret in a deployed stack.

    Args:
        name: Id of the tenant: 3 to 40 small letters, digits and inner hyphens, a letter first.
        outputs: Of the stack: `JobsTable`, `ControlTable` and `SecretsKeyId` are used.
        endpoint_url: Where AWS is, or None for the usual place.
        region: Of the stack, or None for the configured one.
        mode: `live` or `test`, as it stands in the key.
        limits: What it may.

    Raises:
        click.ClickException: There is such a tenant, or AWS refused or did not answer.
    """
    stores = _stores(Place("", region, endpoint_url), outputs)
    with _as_one_line():
        from carillon.adapters.system import SystemClock, SystemIds

        create = CreateTenant(stores.tenants, stores.keys, stores.secrets, stores.limits, SystemIds())
        new = create(name, mode, SystemClock().now_ms(), limits, stores.operator)
    return CreatedTenant(new.tenant.id, new.key_text, new.signing_secret)


@click.group()
def tenants() -> None:
    """Create, list, limit and recount tenants, with the operator's AWS credentials."""


@tenants.command()
@click.argument("name")
@click.option(
    "--mode", type=click.Choice(["live", "test"]), default="live", help="What the key says it is for.  [live]"
)
@limit_options
@uses_stack
@json_option
def create(place: Place, name: str, mode: str, *, as_json: bool, **options: Any) -> None:
    """Create the tenant NAME, and show its API key and signing secret: this once, they are stored nowhere in clear."""
    wanted, outputs = Limits(**changes_from(options)), outputs_of(place)
    created = create_tenant(
        name, outputs=outputs, endpoint_url=place.endpoint_url, region=place.region, mode=mode, limits=wanted
    )
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
    stores = _stores(place, outputs_of(place))
    with _as_one_line():
        found, limits = sorted(stores.tenants.list_all(), key=_age), stores.limits.all()
    rows = [
        {"tenant": one.id, "created_at": format_instant(one.created_at), **limit_fields(limits.get(one.id, NO_LIMITS))}
        for one in found
    ]
    if as_json:
        print_json({"data": rows})
    else:
        titles = ("TENANT", "CREATED", *(name.upper().replace("_", "-") for name in limit_fields(NO_LIMITS)))
        print_table(titles, [[_shown(cell) for cell in row.values()] for row in rows])


@tenants.command()
@click.argument("name")
@limit_options
@no_limit_options
@uses_stack
@json_option
def limits(place: Place, name: str, *, as_json: bool, **options: Any) -> None:
    """Show the limits of the tenant NAME, or change them; the functions know within a minute."""
    changes = changes_from(options)
    stores = _stores(place, outputs_of(place))
    limiting = LimitTenant(stores.tenants, stores.limits)
    with _as_one_line():
        from carillon.adapters.system import SystemClock

        changed = limiting(name, changes, SystemClock().now_ms(), stores.operator)
        shown = {"tenant": name, **limit_fields(changed)}
    if as_json:
        print_json(shown)
    else:
        print_fields([(field_name, _shown(value)) for field_name, value in shown.items()])


@tenants.command()
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Only tell what would be changed.")
@uses_stack
@json_option
def recount(place: Place, name: str, *, dry_run: bool, as_json: bool) -> None:
    """Count the jobs of the tenant NAME anew, as after a table was restored; it takes some seconds."""
    stores = _stores(place, outputs_of(place))
    counting = Recount(stores.tenants, stores.jobs, stores.counts, stores.limits, lambda: time.sleep(SETTLING_SECONDS))
    with _as_one_line():
        found = counting(name, dry_run=dry_run)
    shown = {"tenant": name, **asdict(found), "changed": found.before != found.jobs and not dry_run}
    if as_json:
        print_json(shown)
    else:
        print_fields([*shown.items()])


@dataclass(frozen=True, slots=True)
class _Stores:
    operator: Actor
    tenants: Tenants
    keys: ApiKeys
    secrets: SigningSecrets
    limits: TenantLimits
    jobs: JobStore
    counts: JobCounts


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _stores(place: Place, outputs: Mapping[str, str]) -> _Stores:
    """Where a stack keeps its tenants, their keys, secrets and limits."""
    from carillon.adapters.aws import new_client
    from carillon.adapters.dynamodb.api_keys import DynamoApiKeys
    from carillon.adapters.dynamodb.database import Database
    from carillon.adapters.dynamodb.job_counts import DynamoJobCounts
    from carillon.adapters.dynamodb.jobs import DynamoJobStore
    from carillon.adapters.dynamodb.limits import DynamoTenantLimits
    from carillon.adapters.dynamodb.tenants import DynamoTenants
    from carillon.adapters.kms import KmsSigningSecrets

    jobs, control, key_id = (output(outputs, key) for key in ("JobsTable", "ControlTable", "SecretsKeyId"))
    with as_one_line():
        session = place.session()
        dynamodb, kms = (
            new_client(session, service, endpoint_url=place.endpoint_url) for service in ("dynamodb", "kms")
        )
    database = Database(dynamodb, jobs, control)
    return _Stores(
        Actor(ActorType.OPERATOR, session.get_credentials().access_key),  # no secret; CloudTrail names it too
        DynamoTenants(database),
        DynamoApiKeys(database),
        KmsSigningSecrets(database, kms, key_id),
        DynamoTenantLimits(database),
        DynamoJobStore(database),
        DynamoJobCounts(database),
    )


@contextmanager
def _as_one_line() -> Iterator[None]:
    try:
        with as_one_line():
            yield
    except BadTenantError as error:
        raise click.UsageError(str(error)) from error
    except TenantExistsError as error:
        raise click.ClickException(f"there is a tenant {error} already") from error
    except TenantBusyError as error:
        raise click.ClickException(f"jobs of {error} are created or end: try again at a quieter time") from error
    except TenantNotFoundError as error:
        raise click.ClickException(f"there is no tenant {error}") from error
    except UnavailableError as error:
        raise AwsUnreachableError(f"AWS does not answer: {error}") from error


def _age(tenant: Tenant) -> tuple[int, str]:
    return tenant.created_at, tenant.id
