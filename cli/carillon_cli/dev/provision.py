"""The first tenant, its key and its signing secret: made once, kept with the state."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from carillon_cli.dev.operator import local_operator
from carillon_cli.dev.project import REGION

TENANT = "dev"


@dataclass(frozen=True)
class Credentials:
    """What a client and a receiver need.

    Attributes:
        tenant: the tenant's id.
        api_key: `crl_test_…`, for the Authorization header.
        signing_secret: `whsec_…`, to verify callbacks.
    """

    tenant: str
    api_key: str
    signing_secret: str

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """Those that were kept, or None."""
        try:
            kept = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        return cls(**kept)


@dataclass(frozen=True)
class Deployment:
    """A deployed stack.

    Attributes:
        endpoint: the local AWS.
        outputs: the stack's outputs by their keys.
    """

    endpoint: str
    outputs: Mapping[str, str]


Provision = Callable[[Deployment], Credentials]


def provision(deployment: Deployment) -> Credentials:
    """Create the tenant `dev` with a key of all scopes and a signing secret, in the deployed control table."""
    from carillon_cli.tenants import create_tenant  # noqa: PLC0415 - loads the AWS adapters

    with local_operator(deployment.endpoint):
        created = create_tenant(
            TENANT, outputs=deployment.outputs, endpoint_url=deployment.endpoint, region=REGION, mode="test"
        )
    return Credentials(created.tenant, created.api_key, created.signing_secret)
