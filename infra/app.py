"""The CDK app: `npx cdk synth|deploy|destroy -c stage=local|dev|small|prod [-c alarm_email=ops@example.com]`.

`-c api_url=https://…` names the address of a custom domain of the API, which targets are told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from infra.parts.bundling import bundled_sources
from infra.stack import CarillonStack
from infra.stages import DEFAULT_STAGE, Stage, stage_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from infra.parts.sources import Sources

# One statement per set of resources instead of one per grant: policies stay readable, and far from their size limit.
FEATURES = {"@aws-cdk/aws-iam:minimizePolicies": True}


def new_app(outdir: str | None = None, context: Mapping[str, object] | None = None) -> App:
    """An app that is checked by cdk-nag whenever it is synthesised; a finding without a reason stops it.

    Args:
        outdir: Where the cloud assembly goes; the command line decides if it is None.
        context: What the command line would add to the context.
    """
    app = App(outdir=outdir, context={**FEATURES, **(context or {})}, analytics_reporting=False)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


def add_stack(app: App, stage: Stage, sources: Sources) -> CarillonStack:
    """Put a stage into the app."""
    return CarillonStack(app, stage, sources)


def chosen_stage(app: App) -> Stage:
    """The stage that the command line names by `-c stage=…`, with its other choices.

    Raises:
        ValueError: There is no such stage.
    """
    stage = stage_named(app.node.try_get_context("stage") or DEFAULT_STAGE)
    choices = {name: app.node.try_get_context(name) for name in ("alarm_email", "api_url")}
    return replace(stage, **{name: choice for name, choice in choices.items() if choice})


def main() -> None:
    """Synthesise the chosen stage."""
    app = new_app()
    stage = chosen_stage(app)
    add_stack(app, stage, bundled_sources(stage))
    app.synth()


if __name__ == "__main__":
    main()
