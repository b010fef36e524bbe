"""Least privilege: each role has exactly the rights in this table, and no policy has a wildcard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.infra.template import SERVICES, listed

if TYPE_CHECKING:
    from infra.stages import Stage
    from tests.infra.template import Template

JOBS, CONTROL = "Storage/Jobs", "Storage/Control"
BUCKET = "Storage/Payloads"
UPLOADS, PAYLOADS = f"{BUCKET}/uploads/*", f"{BUCKET}/payloads/*"
RUNS = {"dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem"}
RUNS_AND_PAUSES = {*RUNS, "dynamodb:UpdateItem"}
LOOK = {"sqs:GetQueueAttributes"}
CONSUME = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
HOLD = {*CONSUME, "sqs:ChangeMessageVisibility"}
OBJECTS = {"s3:DeleteObject", "s3:GetObject", "s3:PutObject"}
FOLLOW = {
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
}
METRICS = {"cloudwatch:GetMetricData"}
TRACES = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}

CALLING = ("Worker", "LongWorker")

RIGHTS: dict[str, dict[str, set[str]]] = {
    "Api": {
        JOBS: {
            "dynamodb:BatchGetItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        },
        f"{JOBS}/index/by_tenant": {"dynamodb:Query"},
        f"{JOBS}/index/dead": {"dynamodb:Query"},
        CONTROL: {
            "dynamodb:BatchGetItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        },
        "Storage/SecretsKey": {"kms:Decrypt", "kms:Encrypt"},
        "Queues/Operations": {"sqs:SendMessage"},
        "Queues/High": LOOK,
        "Queues/Normal": LOOK,
        "Queues/Low": LOOK,
        "Queues/Long": LOOK,
        "*": METRICS,
        UPLOADS: {"s3:GetObject", "s3:PutObject"},
        PAYLOADS: {"s3:PutObject"},
        BUCKET: {"s3:ListBucket"},
    },
    "Ticker": {
        CONTROL: {"dynamodb:UpdateItem"},
        "Queues/Ticks": {"sqs:SendMessage"},
    },
    "Dispatcher": {
        JOBS: {
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PartiQLUpdate",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
        },
        f"{JOBS}/index/due": {"dynamodb:Query"},
        CONTROL: {"dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"},
        "Queues/Ticks": CONSUME,
        "Queues/High": {"sqs:SendMessage"},
        "Queues/Normal": {"sqs:SendMessage"},
        "Queues/Low": {"sqs:SendMessage"},
        "Queues/Long": {"sqs:SendMessage"},
    },
    "Worker": {
        JOBS: RUNS_AND_PAUSES,
        CONTROL: {"dynamodb:Query", "dynamodb:PutItem"},  # the put of audit events alone
        "Storage/SecretsKey": {"kms:Decrypt"},
        PAYLOADS: {"s3:GetObject"},
        BUCKET: {"s3:ListBucket"},
        "Queues/High": HOLD,
        "Queues/Normal": HOLD,
        "Queues/Low": HOLD,
    },
    "LongWorker": {
        JOBS: RUNS_AND_PAUSES,
        CONTROL: {"dynamodb:Query", "dynamodb:PutItem"},  # the put of audit events alone
        "Storage/SecretsKey": {"kms:Decrypt"},
        PAYLOADS: {"s3:GetObject"},
        BUCKET: {"s3:ListBucket"},
        "Queues/Long": HOLD,
    },
    "DeadLetters": {
        JOBS: RUNS_AND_PAUSES,
        CONTROL: {"dynamodb:PutItem", "dynamodb:Query"},
        "Queues/HighDeadLetters": HOLD,
        "Queues/NormalDeadLetters": HOLD,
        "Queues/LowDeadLetters": HOLD,
        "Queues/LongDeadLetters": HOLD,
    },
    "Operations": {
        JOBS: {
            "dynamodb:BatchGetItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        },
        f"{JOBS}/index/by_tenant": {"dynamodb:Query"},
        CONTROL: {
            "dynamodb:BatchGetItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
        },
        "Queues/Operations": HOLD,
    },
    "Statistics": {
        f"{JOBS}.StreamArn": FOLLOW,
        CONTROL: {"dynamodb:PutItem", "dynamodb:UpdateItem"},
    },
    "Deployments": {
        CONTROL: {"dynamodb:GetItem"},
        "<AWS::StackId>": {"cloudformation:DescribeStacks"},
    },
    "Retention": {
        JOBS: {"dynamodb:DeleteItem", "dynamodb:GetItem"},
        f"{JOBS}.StreamArn": FOLLOW,
        CONTROL: {"dynamodb:DeleteItem", "dynamodb:UpdateItem"},
        PAYLOADS: {"s3:DeleteObject"},
        BUCKET: {"s3:ListBucket"},
        "Queues/FailedRemovals": {"sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"},
    },
}


@pytest.mark.parametrize("function", RIGHTS)
def test_a_function_may_do_this_and_nothing_else(template: Template, stage: Stage, function: str) -> None:
    """The role's rights equal the table, with its own log group, and traces where the stage sends them."""
    own_logs = {f"Functions/{function}/Logs": {"logs:CreateLogStream", "logs:PutLogEvents"}}
    anywhere = RIGHTS[function].get("*", set()) | (TRACES if stage.tracing else set())
    traces = {"*": anywhere} if anywhere else {}
    of_tenants = {arn: {"sqs:SendMessage"} for arn in queues_of_tenants(stage) if function in CALLING}
    rights = template.rights(f"Functions/{function}/Role")
    assert rights == {**in_the_words_of(stage, {**RIGHTS[function], **of_tenants}), **own_logs, **traces}


def queues_of_tenants(stage: Stage) -> list[str]:
    """The ARNs of the stage's list: the workers may send to these, and nobody else to any."""
    return [entry.partition("=")[2] for entry in stage.target_queues]


def in_the_words_of(stage: Stage, rights: dict[str, set[str]]) -> dict[str, set[str]]:
    """The local AWS wants the sending of a batch to be allowed by name; AWS has no such right."""
    if stage.name != "local":
        return rights
    return {
        place: actions | {"sqs:SendMessageBatch"} if actions == {"sqs:SendMessage"} else actions
        for place, actions in rights.items()
    }


WRITERS = [
    name
    for name, rights in RIGHTS.items()
    if rights.get(CONTROL, set()) & {"dynamodb:DeleteItem", "dynamodb:UpdateItem"}
]


@pytest.mark.parametrize("function", WRITERS)
def test_nobody_changes_or_removes_what_was_audited(template: Template, function: str) -> None:
    """Whoever may update or delete items of the control table is denied just that for audit events."""
    denied = {
        "Effect": "Deny",
        "Action": ["dynamodb:DeleteItem", "dynamodb:UpdateItem"],
        "Condition": {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["AUDIT#*"]},
            "Null": {"dynamodb:LeadingKeys": "false"},
        },
    }
    statements = template.statements_of(f"Functions/{function}/Role")
    found = [each for each in statements if each["Effect"] == "Deny"]
    assert [{**each, "Resource": ""} for each in found] == [{**denied, "Resource": ""}]
    assert template.place(found[0]["Resource"]) == CONTROL


@pytest.mark.parametrize("function", CALLING)
def test_a_worker_writes_nothing_but_events_to_the_control_table(template: Template, function: str) -> None:
    """Of the job that it pauses, because its target is gone or it fails; with that job's own key beside it."""
    statements = template.statements_of(f"Functions/{function}/Role")
    puts = [
        each
        for each in statements
        if "dynamodb:PutItem" in listed(each["Action"]) and template.place(each["Resource"]) == CONTROL
    ]
    assert [each["Condition"] for each in puts] == [
        {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["AUDIT#*", "JOB#*"]}}
    ]


def test_roles_are_not_shared(template: Template) -> None:
    """Each function has its own role, which only Lambda takes; no policy of AWS's own is attached to any."""
    assert {template.place(template.function(name)["Role"]) for name in SERVICES} == {
        f"Functions/{name}/Role" for name in SERVICES
    }
    roles = template.of_type("AWS::IAM::Role")
    assert set(roles) == {*(f"Functions/{name}/Role" for name in SERVICES), "Ticks/Role"}
    assert not [path for path, role in roles.items() if role.get("ManagedPolicyArns") or role.get("Policies")]


def test_no_wildcards(template: Template) -> None:
    """No statement has a wildcard: but for actions that know no resources, and for the bucket's two prefixes."""
    assert wildcards(template.statements()) == []


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("Functions/Api/Role", {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn"}),
        ("Functions/Api/Role", {"Effect": "Allow", "Action": ["sqs:SendMessage", "sqs:Get*"], "Resource": "arn"}),
        ("Functions/Api/Role", {"Effect": "Allow", "Action": "dynamodb:Query", "Resource": "*"}),
        (
            "Functions/Api/Role",
            {
                "Effect": "Allow",
                "Action": ["dynamodb:Query"],
                "Resource": [{"Fn::Join": ["", [{"Ref": "T"}, "/index/*"]]}],
            },
        ),
        ("Functions/Api/Role", {"Effect": "Allow", "NotAction": "iam:PassRole", "Action": [], "Resource": "arn"}),
        ("Storage/SecretsKey", {"Effect": "Allow", "Action": "kms:*", "Resource": "*"}),
        (
            "Functions/Api/Role",
            {"Effect": "Allow", "Action": ["xray:PutTraceSegments", "s3:GetObject"], "Resource": "*"},
        ),
        ("Functions/Api/Role", {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}),
        ("Functions/Worker/Role", {"Effect": "Allow", "Action": "cloudwatch:GetMetricData", "Resource": "*"}),
        (
            "Functions/Api/Role",
            {"Effect": "Allow", "Action": ["cloudwatch:GetMetricData", "s3:GetObject"], "Resource": "*"},
        ),
        (
            "Functions/Api/Role",
            {
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": {"Fn::Join": ["", [{"Fn::GetAtt": ["B", "Arn"]}, "/*"]]},
            },
        ),
    ],
)
def test_a_wildcard_would_be_seen(path: str, statement: dict[str, Any]) -> None:
    """The check above finds each way to write a wildcard."""
    assert wildcards([(path, statement)]) == [path]


def wildcards(statements: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """The paths of statements that allow by a wildcard."""
    return [path for path, statement in statements if statement["Effect"] == "Allow" and _is_wild(path, statement)]


def _is_wild(path: str, statement: dict[str, Any]) -> bool:
    actions = listed(statement["Action"])
    if "NotAction" in statement or "NotResource" in statement or any("*" in action for action in actions):
        return True
    if path == "Storage/SecretsKey":  # in a key's own policy the resource is always the key, written as a star
        return False
    return "*" in str(statement.get("Resource", "")) and not (
        _names_no_resources(path, actions) or _is_of_objects(statement)
    )


def _names_no_resources(path: str, actions: list[str]) -> bool:
    """Whether these are actions that AWS lets nobody bind to resources: X-Ray's, and the api function's on metrics."""
    known = TRACES | METRICS if path.startswith("Functions/Api/Role") else TRACES
    return set(actions) <= known


def _is_of_objects(statement: dict[str, Any]) -> bool:
    """Whether a statement is about objects of one prefix of a bucket: their names are made while the service runs."""
    resource = statement["Resource"]
    if not (set(listed(statement["Action"])) <= OBJECTS and isinstance(resource, dict)):
        return False
    bucket, prefix = resource["Fn::Join"][1]
    return set(bucket) == {"Fn::GetAtt"} and prefix in {"/uploads/*", "/payloads/*"}
