"""`carillon targets`: what the hosted policy decides about a URL, by the code that the API and the workers use."""

from collections.abc import Collection
from dataclasses import asdict, dataclass

import click

from carillon.domain.addresses import MOST_ANSWERS, judge_answers
from carillon.domain.outcomes import Failure
from carillon.domain.targets import HOSTED, TargetRefused, parse_target_url
from carillon_cli.config import json_option
from carillon_cli.output import REFUSED, print_json

_REASONS = {
    Failure.DNS_ERROR: f"the name of a target has 1 to {MOST_ANSWERS} addresses",
    Failure.TARGET_BLOCKED: "an address of the target is private, local, reserved for special use, or none at all",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided: `code` is the API's for a URL and the worker's for addresses. Neither text repeats the input."""

    allowed: bool
    code: str | None = None
    reason: str | None = None


def decide(url: str, answers: Collection[str] = ()) -> Decision:
    """What a stage with tenants decides about a target.

    Args:
        url: as a tenant would give it.
        answers: the addresses to which its host resolves; without any, only the URL is judged.
    """
    try:
        parse_target_url(url, HOSTED)
    except TargetRefused as refusal:
        return Decision(allowed=False, code=refusal.code, reason=refusal.detail)
    failure = judge_answers(answers, HOSTED) if answers else None
    return Decision(allowed=False, code=failure, reason=_REASONS[failure]) if failure else Decision(allowed=True)


@click.group()
def targets() -> None:
    """Tell whether a URL may be a target, without any service."""


@targets.command()
@click.argument("url")
@click.option(
    "--answer", "answers", metavar="IP", multiple=True, help="An address of the host; may stand several times."
)
@json_option
def check(url: str, answers: tuple[str, ...], *, as_json: bool) -> None:
    """Show what a stage in AWS decides about URL; the exit code is 1 if it is refused.

    No service is asked, and no name is looked up: what its host resolves to is told by --answer. Without that, only
    the URL itself is judged, as when a job is created.
    """
    decision = decide(url, answers)
    if as_json:
        print_json(asdict(decision))
    else:
        click.echo("allowed" if decision.allowed else f"refused ({decision.code}): {decision.reason}")
    if not decision.allowed:
        click.get_current_context().exit(REFUSED)
