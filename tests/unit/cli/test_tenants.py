"""`carillon tenants`: a tenant with its key and secret, in the tables that a stack names."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import click
import pytest
from click.testing import CliRunner, Result
from moto import mock_aws

from carillon.adapters.dynamodb.keys import control_table
from carillon.domain.limits import NO_LIMITS
from carillon.domain.tenancy import key_id_in
from carillon_cli.main import main
from carillon_cli.tenant_limits import limit_fields
from carillon_cli.tenants import create_tenant

REGION = "eu-west-1"


@pytest.fixture
def outputs(aws: Any, no_settings: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """What a deployed stack `Carillon-dev` tells of itself."""
    no_settings.setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", aws.url)
    no_settings.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        boto3.client("dynamodb", REGION).create_table(**control_table("control"))
        key_id = boto3.client("kms", REGION).create_key()["KeyMetadata"]["KeyId"]
        told = {"JobsTable": "jobs", "ControlTable": "control", "SecretsKeyId": key_id, "ApiUrl": "https://api.test"}
        aws.stacks |= {"Carillon-dev": told, "other": {"Something": "else"}}
        yield told


def stored() -> list[dict[str, Any]]:
    """All items of the control table."""
    items: list[dict[str, Any]] = boto3.client("dynamodb", REGION).scan(TableName="control")["Items"]
    return items


def carillon(*arguments: str) -> Result:
    """Run the command line."""
    return CliRunner().invoke(main, arguments)


def test_a_tenant_is_created_with_a_key_and_a_secret(outputs: dict[str, str]) -> None:
    """The key and the secret are shown once, together with the service's address, and stored nowhere in clear."""
    result = carillon("tenants", "create", "acme", "--stage", "dev", "--mode", "test", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    shown = json.loads(result.stdout)
    assert shown["tenant"] == "acme"
    assert shown["url"] == outputs["ApiUrl"]
    assert shown["api_key"].startswith("crl_test_")
    assert shown["signing_secret"].startswith("whsec_")
    told = [item for item in stored() if item["pk"]["S"] == "AUDIT#acme"]
    assert {item["action"]["S"] for item in told} == {"tenant.created", "key.created"}
    assert all(item["actor"]["S"].startswith('["operator","') for item in told)
    others = {item["pk"]["S"] for item in stored()} - {"AUDIT#acme"}
    assert others == {"TENANT#acme", f"KEY#{key_id_in(shown['api_key'])}"}
    assert shown["api_key"] not in str(stored())
    assert shown["signing_secret"] not in str(stored())


def test_people_are_told_to_keep_them(outputs: dict[str, str]) -> None:
    """The table for people says that the texts cannot be shown again."""
    del outputs
    result = carillon("tenants", "create", "acme", "--stack", "Carillon-dev")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["tenant", "api_key", "signing_secret", "url"]
    assert "cannot be shown again" in result.stderr


def test_tenants_are_listed(outputs: dict[str, str]) -> None:
    """The list has every tenant, oldest first, and none of its secrets."""
    for name in ("acme", "globex"):
        create_tenant(name, outputs=outputs, endpoint_url=None, region=REGION)
    listed = json.loads(carillon("tenants", "list", "--stage", "dev", "--json").stdout)
    assert [tenant["tenant"] for tenant in listed["data"]] == ["acme", "globex"]
    assert carillon("tenants", "list", "--stage", "dev").stdout.splitlines()[1].startswith("acme")


NONE = dict.fromkeys(limit_fields(NO_LIMITS))


def limits_shown(*arguments: str) -> dict[str, Any]:
    """What the command says of a tenant's limit."""
    result = carillon("tenants", "limits", *arguments, "--stage", "dev", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    shown: dict[str, Any] = json.loads(result.stdout)
    return shown


def test_a_tenant_may_be_created_with_a_limit(outputs: dict[str, str]) -> None:
    """The rate is kept with its tenant; a second's worth may start at once unless it is said."""
    del outputs
    assert carillon("tenants", "create", "acme", "--dispatch-rate", "2.5", "--stage", "dev").exit_code == 0
    assert limits_shown("acme") == {"tenant": "acme", **NONE, "dispatch_rate": 2.5, "dispatch_burst": 3}


def test_a_limit_is_set_changed_and_taken_away(outputs: dict[str, str]) -> None:
    """Each change shows what holds then; others' limits stay; the list has them all."""
    for name in ("acme", "globex"):
        create_tenant(name, outputs=outputs, endpoint_url=None, region=REGION)
    assert limits_shown("acme") == {"tenant": "acme", **NONE}
    assert limits_shown("globex", "--dispatch-rate", "0.001")["dispatch_rate"] == 0.001
    changed = {"tenant": "acme", **NONE, "dispatch_rate": 100, "dispatch_burst": 500}
    assert limits_shown("acme", "--dispatch-rate", "100", "--dispatch-burst", "500") == changed
    assert limits_shown("acme") == changed
    table = carillon("tenants", "list", "--stage", "dev").stdout.splitlines()
    assert [line.split()[-2:] for line in table] == [
        ["DISPATCH-RATE", "DISPATCH-BURST"],
        ["100", "500"],
        ["0.001", "1"],
    ]
    assert limits_shown("acme", "--no-dispatch-rate") == {"tenant": "acme", **NONE}
    assert carillon("tenants", "limits", "globex", "--stage", "dev").stdout.split() == [
        *("tenant", "globex"),
        *(word for name in NONE if not name.startswith("dispatch") for word in (name, "none")),
        *("dispatch_rate", "0.001"),
        *("dispatch_burst", "1"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(("limits", "new", "--stage", "dev"), 1, "there is no tenant new", id="no such tenant"),
        pytest.param(
            ("limits", "new", "--dispatch-rate", "1", "--stage", "dev"), 1, "there is no tenant new", id="limit nobody"
        ),
        *(
            pytest.param(("limits", "acme", "--stage", "dev", *options), 2, says, id=" ".join(options))
            for options, says in (
                (("--dispatch-rate", "0"), "from 0.001 to 10000"),
                (("--dispatch-rate", "-1"), "from 0.001 to 10000"),
                (("--dispatch-rate", "10000.001"), "from 0.001 to 10000"),
                (("--dispatch-rate", "1E+999999"), "from 0.001 to 10000"),
                (("--dispatch-rate", "1.0001"), "at most three decimals"),
                (("--dispatch-rate", "1.00000000000000000000000000001"), "at most three decimals"),
                (("--dispatch-rate", "NaN"), "at most three decimals"),
                (("--dispatch-rate", "Infinity"), "at most three decimals"),
                (("--dispatch-rate", "fast"), "'fast' is not a number"),
                (("--dispatch-rate", "1", "--dispatch-burst", "0"), "from 1 to 100000"),
                (("--dispatch-rate", "1", "--dispatch-burst", "x"), "not a valid integer"),
                (("--dispatch-burst", "5"), "--dispatch-burst needs --dispatch-rate"),
                (("--dispatch-rate", "1", "--no-dispatch-rate"), "not both"),
            )
        ),
        pytest.param(
            ("create", "new", "--dispatch-rate", "0", "--stage", "dev"), 2, "from 0.001 to 10000", id="create with 0"
        ),
        pytest.param(
            ("create", "acme", "--dispatch-rate", "1", "--stage", "dev"), 1, "already", id="limit by creating twice"
        ),
        pytest.param(("create", "acme", "--stage", "dev"), 1, "there is a tenant acme already", id="twice"),
        pytest.param(("create", "Acme Inc", "--stage", "dev"), 2, "a tenant id is", id="bad name"),
        pytest.param(("create", "new", "--stage", "prod"), 1, "AWS refused: no Carillon-prod", id="no such stack"),
        pytest.param(("create", "new", "--stack", "other"), 1, "no output JobsTable", id="another stack"),
        pytest.param(("create", "new", "--stage", "dev", "--stack", "x"), 2, "not both", id="two stacks"),
    ],
)
def test_a_refusal_is_one_line(outputs: dict[str, str], arguments: tuple[str, ...], code: int, says: str) -> None:
    """What cannot be done leaves nothing behind and says why in a line."""
    create_tenant("acme", outputs=outputs, endpoint_url=None, region=REGION)
    before = stored()
    result = carillon("tenants", *arguments)
    assert (result.exit_code, result.stdout, stored()) == (code, "", before)
    (line,) = result.stderr.splitlines()
    assert says in line


def test_the_secrets_of_a_new_tenant_do_not_show_by_accident(outputs: dict[str, str]) -> None:
    """What `create_tenant` returns can be logged."""
    created = create_tenant("acme", outputs=outputs, endpoint_url=None, region=REGION, mode="test")
    assert created.api_key not in repr(created)
    assert created.signing_secret not in repr(created)
    with pytest.raises(click.ClickException, match="already"):
        create_tenant("acme", outputs=outputs, endpoint_url=None, region=REGION)


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://localhost:1"])
def test_an_aws_that_is_not_there_is_3(no_settings: pytest.MonkeyPatch, endpoint: str) -> None:
    """Where no AWS answers the code is 3; AWS_ENDPOINT_URL says where, and a local one needs no credentials."""
    no_settings.setenv("AWS_ENDPOINT_URL", endpoint)
    no_settings.setenv("AWS_MAX_ATTEMPTS", "1")
    result = carillon("tenants", "list")
    assert (result.exit_code, result.stdout) == (3, "")
    assert endpoint in result.stderr


def test_a_machine_without_a_region_is_2(no_settings: pytest.MonkeyPatch) -> None:
    """What is missing on this machine is named."""
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_PROFILE"):
        no_settings.delenv(name, raising=False)
    no_settings.setenv("AWS_CONFIG_FILE", "/dev/null")
    result = carillon("tenants", "list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "region" in result.stderr
