"""The two tables, the bucket of uploaded payloads, and the key that wraps the tenants' signing secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Aws, Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from carillon.adapters.dynamodb import keys
from carillon.adapters.s3 import UPLOADS
from infra.parts.acknowledge import acknowledge

if TYPE_CHECKING:
    from infra.stages import Stage

# What the account's own administrators may be allowed by IAM. The usual `kms:*` would also hand out whatever KMS adds.
KEY_ADMINISTRATION = (
    "kms:CancelKeyDeletion",
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:DisableKey",
    "kms:DisableKeyRotation",
    "kms:EnableKey",
    "kms:EnableKeyRotation",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GetKeyPolicy",
    "kms:GetKeyRotationStatus",
    "kms:ListGrants",
    "kms:ListKeyPolicies",
    "kms:ListKeyRotations",
    "kms:ListResourceTags",
    "kms:PutKeyPolicy",
    "kms:RevokeGrant",
    "kms:RotateKeyOnDemand",
    "kms:ScheduleKeyDeletion",
    "kms:TagResource",
    "kms:UntagResource",
    "kms:UpdateKeyDescription",
)


NEW_TABLE_READS = 12_000
"""Read units a second for which AWS prepares a new table on demand; less may not be asked for."""


class Storage(Construct):
    """What outlives every function: jobs and runs, tenants and leases, uploaded payloads, the secrets' key."""

    def __init__(self, scope: Construct, construct_id: str, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self._removal = RemovalPolicy.RETAIN if stage.protect_data else RemovalPolicy.DESTROY
        self._protected = stage.protect_data
        warm = stage.warm_writes
        self.jobs = self._table(
            "Jobs", stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES, warm=_warm(warm.table if warm else None)
        )
        self.control = self._table("Control")
        self._add_indexes(_warm(warm.due_index if warm else None))
        self.payloads = self._bucket(has_tls=not stage.imitated_aws)
        self.secrets_key = self._key()

    def _table(
        self,
        construct_id: str,
        stream: dynamodb.StreamViewType | None = None,
        warm: dynamodb.WarmThroughput | None = None,
    ) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            construct_id,
            partition_key=_text(keys.PK),
            sort_key=_text(keys.SK),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            stream=stream,
            warm_throughput=warm,
            time_to_live_attribute=keys.EXPIRES_AT,
            deletion_protection=self._protected,
            removal_policy=self._removal,
        )

    def _add_indexes(self, due_warm: dynamodb.WarmThroughput | None) -> None:
        """The three ways to find jobs and runs other than by their key; items without the key attributes are not in."""
        self.jobs.add_global_secondary_index(
            index_name=keys.DUE_INDEX,
            partition_key=_number(keys.SHARD),
            sort_key=_number(keys.NEXT_FIRE_TIME),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=list(keys.DUE_PROJECTION),
            warm_throughput=due_warm,
        )
        self.jobs.add_global_secondary_index(
            index_name=keys.BY_TENANT_INDEX,
            partition_key=_text(keys.TENANT),
            sort_key=_text(keys.LISTED),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=list(keys.BY_TENANT_PROJECTION),
        )
        self.jobs.add_global_secondary_index(
            index_name=keys.DEAD_INDEX,
            partition_key=_text(keys.DEAD_TENANT),
            sort_key=_number(keys.DEAD_AT),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )

    def _bucket(self, *, has_tls: bool) -> s3.Bucket:
        """Uploads go by a rule, a job's own payloads with the job. Nothing is versioned: a copy never changes."""
        bucket = s3.Bucket(
            self,
            "Payloads",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=has_tls,
            minimum_tls_version=1.2 if has_tls else None,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(id="UploadsThatNoJobTook", prefix=UPLOADS, expiration=Duration.days(1)),
                s3.LifecycleRule(id="PartsOfUploads", abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
            removal_policy=self._removal,
        )
        acknowledge(
            bucket,
            "AwsSolutions-S1",
            "Only three functions and holders of URLs that one of them signed get in; the API's log has each such URL "
            "asked for, and data events of CloudTrail are the account's own choice",
        )
        if not has_tls:
            acknowledge(bucket, "AwsSolutions-S10", "The local AWS has no TLS: its bucket never leaves this machine")
        return bucket

    def _key(self) -> kms.Key:
        administrators = iam.PolicyStatement(
            sid="LetIamPoliciesOfThisAccountGovern",
            principals=[iam.AccountRootPrincipal()],
            actions=list(KEY_ADMINISTRATION),
            resources=["*"],  # in a key's policy: this key
        )
        return kms.Key(
            self,
            "SecretsKey",
            description=f"Wraps the signing secrets of Carillon's tenants ({Aws.STACK_NAME})",
            enable_key_rotation=True,
            policy=iam.PolicyDocument(statements=[administrators]),
            removal_policy=self._removal,
        )


def index_arn(table: dynamodb.Table, index: str) -> str:
    """The ARN of one index of a table: named, so that no grant needs a wildcard."""
    return f"{table.table_arn}/index/{index}"


def stream_arn(table: dynamodb.Table) -> str:
    """The ARN of a table's change stream.

    Raises:
        ValueError: The table has none.
    """
    if table.table_stream_arn is None:
        raise ValueError(f"{table.node.path} has no stream")
    return table.table_stream_arn


def _warm(write_units: int | None) -> dynamodb.WarmThroughput | None:
    """Prepared for so many write units a second; for reads, as AWS prepares a new table."""
    if write_units is None:
        return None
    return dynamodb.WarmThroughput(write_units_per_second=write_units, read_units_per_second=NEW_TABLE_READS)


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _number(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.NUMBER)
