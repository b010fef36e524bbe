"""cdk-nag looks at every stage, and what it finds is answered with a reason or stops the synthesis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.infra.template import Template

# ruff: noqa: PLC0415 - the CDK starts node when it is imported, for which only these tests should wait


def test_nothing_is_left_unanswered(template: Template) -> None:
    """No finding of AWS's solutions checks is without a reason beside its resource."""
    assert template.findings() == {}


def test_a_finding_would_be_seen(tmp_path: Path) -> None:
    """The check is really on: a queue without dead letters, open to plain HTTP, stops the synthesis."""
    from aws_cdk import Stack
    from aws_cdk import aws_sqs as sqs

    from infra.app import new_app

    app = new_app(str(tmp_path))
    sqs.Queue(Stack(app, "Careless"), "Queue")
    with pytest.raises(RuntimeError, match=r"(?s)AwsSolutions-SQS3.*AwsSolutions-SQS4"):
        app.synth()
