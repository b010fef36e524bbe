"""Answers to findings of cdk-nag, to be written beside the resource that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Validations

if TYPE_CHECKING:
    from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept one finding on this construct and those within it, for this reason."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
