"""The tables are those that the adapters expect, and keep what they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from carillon.adapters.dynamodb import keys

if TYPE_CHECKING:
    from infra.stages import Stage
    from tests.infra.template import Template

TABLES = {"Storage/Jobs": keys.jobs_table("jobs"), "Storage/Control": keys.control_table("control")}


@pytest.mark.parametrize("path", TABLES)
def test_tables_are_what_the_adapters_expect(template: Template, path: str) -> None:
    """Keys, attributes, indexes and projections equal those with which the adapters are tested."""
    deployed, expected = template.properties(path), TABLES[path]
    assert deployed["BillingMode"] == "PAY_PER_REQUEST"
    assert deployed["KeySchema"] == expected["KeySchema"]
    assert by_name(deployed["AttributeDefinitions"], "AttributeName") == by_name(
        expected["AttributeDefinitions"], "AttributeName"
    )
    indexes = [without_warmth(index) for index in deployed.get("GlobalSecondaryIndexes", [])]
    assert by_name(indexes, "IndexName") == by_name(expected.get("GlobalSecondaryIndexes", []), "IndexName")


@pytest.mark.parametrize("path", TABLES)
def test_tables_are_encrypted_restorable_and_forget_by_ttl(template: Template, path: str) -> None:
    """Encryption with a key that the account can audit, point-in-time recovery, and removal by `expires_at`."""
    table = template.properties(path)
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_the_table_is_prepared_as_the_stage_says(template: Template, stage: Stage) -> None:
    """Jobs and their due index are prepared for writes where the stage wants it; reads stay what a new table has."""

    def warm(properties: dict[str, Any]) -> int | None:
        throughput = properties.get("WarmThroughput")
        assert throughput is None or throughput["ReadUnitsPerSecond"] == 12_000
        return throughput and throughput["WriteUnitsPerSecond"]

    jobs, wanted = template.properties("Storage/Jobs"), stage.warm_writes
    indexes = {index["IndexName"]: warm(index) for index in jobs["GlobalSecondaryIndexes"]}
    assert (warm(jobs), indexes.pop(keys.DUE_INDEX)) == ((wanted.table, wanted.due_index) if wanted else (None, None))
    assert set(indexes.values()) == {None}
    assert warm(template.properties("Storage/Control")) is None


def test_only_jobs_have_a_stream(template: Template) -> None:
    """Removals of jobs are followed with their old content; the control table has no follower and no stream."""
    assert template.properties("Storage/Jobs")["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert "StreamSpecification" not in template.properties("Storage/Control")


@pytest.mark.parametrize("path", [*TABLES, "Storage/Payloads", "Storage/SecretsKey", "Functions/Api/Logs", "Api/Logs"])
def test_data_outlives_a_protected_stack(template: Template, stage: Stage, path: str) -> None:
    """Where the stage protects its data, removing or replacing a resource leaves it; elsewhere nothing stays behind."""
    resource = template.whole(path)
    kept = "Retain" if stage.protect_data else "Delete"
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == (kept, kept)


@pytest.mark.parametrize("path", TABLES)
def test_deletion_protection(template: Template, stage: Stage, path: str) -> None:
    """`small` and `prod` refuse deletion of their tables and of the stack; `local` and `dev` do not."""
    expected = stage.name not in {"local", "dev"}
    assert template.properties(path)["DeletionProtectionEnabled"] is expected
    assert template.protected is expected


def test_the_secrets_key_rotates_and_is_for_this_account_only(template: Template) -> None:
    """The key changes by itself, its use is governed by the account's IAM, and no action is a wildcard."""
    key = template.properties("Storage/SecretsKey")
    assert key["EnableKeyRotation"] is True
    (statement,) = key["KeyPolicy"]["Statement"]
    assert template.place(statement["Principal"]["AWS"]) == "arn:<AWS::Partition>:iam::<AWS::AccountId>:root"
    assert "kms:PutKeyPolicy" in statement["Action"], "without it nobody could ever mend the policy"
    assert not [action for action in statement["Action"] if "*" in action]


def test_the_bucket_is_private_encrypted_and_forgets_uploads(template: Template, stage: Stage) -> None:
    """Nothing of it is public, everything is encrypted, and only what no job took goes by a rule."""
    bucket = template.properties("Storage/Payloads")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert bucket["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    uploads, parts = bucket["LifecycleConfiguration"]["Rules"]
    assert (uploads["Prefix"], uploads["ExpirationInDays"], uploads["Status"]) == ("uploads/", 1, "Enabled")
    assert parts["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert "ExpirationInDays" not in parts, "a job's own payload goes with the job, and never before"
    refused = [one for path, one in template.statements() if path.startswith("Storage/Payloads")]
    conditions = [one["Condition"] for one in refused if one["Effect"] == "Deny"]
    if stage.imitated_aws:
        assert conditions == []
    else:
        assert {"Bool": {"aws:SecureTransport": "false"}} in conditions


def by_name(entries: list[dict[str, object]], name: str) -> dict[object, dict[str, object]]:
    """Entries of a list whose order means nothing."""
    return {entry[name]: entry for entry in entries}


def without_warmth(index: dict[str, Any]) -> dict[str, Any]:
    """An index without what it is prepared for, which its content does not depend on."""
    return {name: value for name, value in index.items() if name != "WarmThroughput"}
