"""Commands that the pages show can be given, and commands that can be given are shown."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator

import click
import pytest

from carillon_cli.main import main
from tests.unit.docs.pages import NAMES, PAGES, ROOT, Page, page

_TARGET = re.compile(r"^([a-z0-9-]+):.*## ", re.MULTILINE)
_MAKE = re.compile(r"make ([a-z0-9-]+)")
_COMMAND = re.compile(r"carillon(?: |$)")


def targets() -> set[str]:
    """The targets of the Makefile that have a line of help."""
    return set(_TARGET.findall((ROOT / "Makefile").read_text("utf-8")))


def targets_named(subject: Page) -> set[str]:
    """The targets that a page names in code."""
    texts = [*subject.spans, *(command for block in subject.blocks_in("bash", "console") for command in block.commands)]
    return {target for text in texts for target in _MAKE.findall(text)}


def command_lines(subject: Page) -> Iterator[list[str]]:
    """The words behind `carillon` of each command that a page shows."""
    for block in subject.blocks_in("bash", "console"):
        yield from (shlex.split(line)[1:] for line in block.commands if _COMMAND.match(line))
    for span in subject.spans:
        if _COMMAND.match(span):
            yield shlex.split(span)[1:]


def unknown_words(words: list[str]) -> Iterator[str]:
    """The subcommands and options of a command line that there are not."""
    command: click.Command = main
    known = options_of(main)
    for word in words:
        if word.startswith("--"):
            if word.partition("=")[0] not in known:
                yield word
        elif isinstance(command, click.Group) and word not in ("-", "-h"):
            found = command.get_command(click.Context(command), word)
            if found is None:
                yield word
                return
            command = found
            known = known | options_of(command)


def options_of(command: click.Command) -> set[str]:
    """The long options of a command, those that it hides left out."""
    shown = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    return {name for option in shown for name in option.opts if name.startswith("--")} | {"--help"}


def all_commands(command: click.Command = main, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, by its words."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(click.Context(command)):
        found = command.get_command(click.Context(command), name)
        assert found is not None
        yield from all_commands(found, *path, name)


COMMANDS = dict(all_commands())


@pytest.mark.parametrize("name", NAMES)
def test_targets_that_are_named_exist(name: str) -> None:
    """Whoever types a target that a page names gets what it says."""
    assert targets_named(page(name)) <= targets()


def test_every_target_is_explained() -> None:
    """The table of targets is that of the Makefile."""
    (table,) = page("CONTRIBUTING.md").tables("Targets")
    assert {row[0].strip("`").removeprefix("make ") for row in table} == targets()


def test_every_target_is_in_the_help() -> None:
    """`make help` shows each target that has a line of help."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.run(["make", "help"], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    assert set(_MAKE.findall(shown.stdout)) >= targets()


@pytest.mark.parametrize("name", NAMES)
def test_commands_that_are_shown_exist(name: str) -> None:
    """Each subcommand and option in a page's commands is one of `carillon`'s."""
    lines = list(command_lines(page(name)))
    unknown = {" ".join(words): found for words in lines if (found := list(unknown_words(words)))}
    assert unknown == {}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_is_shown(path: tuple[str, ...]) -> None:
    """The page of the command line has an example of each command."""
    subject = page("docs/cli.md")
    shown = [shlex.split(line)[1:] for block in subject.blocks_in("bash") for line in block.commands]
    assert any(words[: len(path)] == list(path) for words in shown)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_is_shown(path: tuple[str, ...]) -> None:
    """The page of the command line names each option of each command."""
    named = set(re.findall(r"--[a-z][a-z-]*", page("docs/cli.md").text))
    assert options_of(COMMANDS[path]) <= named


def test_what_does_not_exist_is_noticed() -> None:
    """A target, a subcommand and an option that there are not are found; good ones are not."""
    text = "`make tea` `make test`\n```bash\ncarillon jobs brew\ncarillon jobs list --hot --all\ncarillon dev\n```\n"
    subject = Page(ROOT / "README.md", text)
    assert targets_named(subject) - targets() == {"tea"}
    assert [list(unknown_words(words)) for words in command_lines(subject)] == [["brew"], ["--hot"], []]


def test_the_pages_show_commands() -> None:
    """There is something to check: the pages show many commands."""
    assert sum(len(list(command_lines(each))) for each in PAGES) > len(COMMANDS)
