"""The `carillon` command: a group whose subcommands are imported only when they are called."""

import sys
from importlib import import_module
from typing import Any

import click

COMMANDS = {
    "audit": ("carillon_cli.audit:audit", "List what was done by whom."),
    "dead-letters": ("carillon_cli.dead_letters:dead_letters", "List and redrive runs that will not be tried again."),
    "demo": ("carillon_cli.dev.demo:demo", "Run Carillon on this machine and watch two jobs at work."),
    "destinations": (
        "carillon_cli.destinations:destinations",
        "List, add, verify and remove the hosts that jobs may call.",
    ),
    "dev": ("carillon_cli.dev.command:dev", "Run Carillon on this machine, on a local AWS."),
    "invoke": ("carillon_cli.invoke:invoke", "Run a deployed function with an event from a file."),
    "jobs": (
        "carillon_cli.jobs:jobs",
        "Create, apply, list, show, change, pause, resume, trigger, cancel and import jobs.",
    ),
    "keys": ("carillon_cli.keys:keys", "Create, list, rotate and revoke API keys."),
    "limits": ("carillon_cli.limits:limits", "Show what the tenant may, and how much of it it uses."),
    "on-failure": (
        "carillon_cli.on_failure:on_failure",
        "Show, name and remove who is told of failed runs of all jobs.",
    ),
    "operations": ("carillon_cli.operations:operations", "Show, watch and cancel operations on many jobs."),
    "preview": ("carillon_cli.preview:preview_command", "Show what a schedule means and when it runs next."),
    "replan": ("carillon_cli.replan:replan", "Plan jobs anew after an update of the zone data, as the operator."),
    "runs": ("carillon_cli.runs:runs", "List, show, cancel and retry runs of jobs."),
    "secrets": ("carillon_cli.secrets:secrets", "List, rotate and reveal signing secrets."),
    "smoke": ("carillon_cli.dev.smoke:smoke", "Check that the whole of Carillon works on this machine."),
    "stats": ("carillon_cli.stats:stats", "Count what became of runs, by the hour."),
    "targets": ("carillon_cli.targets:targets", "Tell whether a URL may be a target, without any service."),
    "tenants": ("carillon_cli.tenants:tenants", "Create and list tenants, with the operator's AWS credentials."),
}
"""Name of each subcommand → where it is defined, and its line in the help."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called, and turns every failure into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The subcommand of a name, imported now, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The help's list of subcommands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in sorted(COMMANDS.items())])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line and leave with its exit code: 0 ok, 1 refused, 2 usage, 3 not reachable."""
        if not extra.pop("standalone_mode", True):
            return super().main(*args, **{"standalone_mode": False, **extra})
        try:
            code = super().main(*args, **{"standalone_mode": False, **extra})
        except Exception as error:  # noqa: BLE001 - the outermost edge: every failure becomes one line and a code
            from carillon_cli.output import report_failure  # noqa: PLC0415 - only when something failed

            code = report_failure(error)
        sys.exit(code or 0)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--url", "--api-url", "url", metavar="URL", help="Where the service is.  [env: CARILLON_URL]")
@click.option("--api-key", metavar="KEY", help="The key to call it with.  [env: CARILLON_API_KEY]")
@click.option("--profile", metavar="NAME", help="A profile of the configuration file.  [env: CARILLON_PROFILE]")
@click.option("--ready-file", metavar="FILE", help="The file that `carillon dev --ready-file` wrote.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.version_option(package_name="carillon", prog_name="carillon")
def main(**_connection: object) -> None:
    """Carillon, a job scheduler that runs in your own AWS account.

    The service is found by flags, by CARILLON_URL and CARILLON_API_KEY, or by a profile of
    ~/.config/carillon/config.toml. Flags may also stand behind the subcommand; there the service's address
    is --api-url.

    Exit codes: 0 done, 1 refused by the service, 2 wrong usage, 3 service not reachable.
    """
