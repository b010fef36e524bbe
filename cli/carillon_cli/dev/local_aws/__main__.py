"""Entry of the local AWS's process: its settings are arguments, its environment is made by `settings.environment`."""

from pathlib import Path

import click

from carillon_cli.dev.local_aws.server import run
from carillon_cli.dev.local_aws.settings import Settings


@click.command()
@click.option("--port", type=int, required=True)
@click.option("--directory", type=click.Path(path_type=Path), required=True)
@click.option("--keep/--no-keep", "keeps", default=False)
@click.option("--enforce/--no-enforce", "enforces", default=False)
@click.option("--throwaway", type=click.Path(path_type=Path), default=None)
def main(port: int, directory: Path, throwaway: Path | None, *, keeps: bool, enforces: bool) -> None:
    """Serve the local AWS until SIGTERM, or until standard input ends."""
    run(Settings(port, directory, keeps, enforces, throwaway))


main()
