"""The documentation as data: pages with their blocks, words in code, links, headings and tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[3]

_FENCED = re.compile(r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#{1,6}) +(.+)$", re.MULTILINE)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
_TABLE = re.compile(r"(?:^\|.*\|$\n?)+", re.MULTILINE)
_SEPARATORS = re.compile(r"\|(?: ?:?-+:? ?\|)+")
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language (empty if it names none) and its text."""

    language: str
    text: str

    @property
    def commands(self) -> Iterator[str]:
        """The commands of a shell block, each on one line, without prompts, comments and what is piped into them."""
        for line in self.text.replace("\\\n", " ").splitlines():
            command = line.removeprefix("$ ").split("  #")[0].strip()
            if command and not command.startswith("#"):
                yield command.rpartition("| ")[2] if " | carillon" in command else command


@dataclass(frozen=True)
class Page:
    """A page in Markdown."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """Where it lies in the project."""
        return str(self.path.relative_to(ROOT))

    @cached_property
    def blocks(self) -> list[Block]:
        """The fenced blocks, in order."""
        return [Block(found["language"], found["text"]) for found in _FENCED.finditer(self.text)]

    def blocks_in(self, *languages: str) -> list[Block]:
        """The fenced blocks in one of these languages."""
        return [block for block in self.blocks if block.language in languages]

    @cached_property
    def prose(self) -> str:
        """The text without its fenced blocks."""
        return _FENCED.sub("", self.text)

    @cached_property
    def spans(self) -> list[str]:
        """The words in code within the prose."""
        return _SPAN.findall(self.prose)

    @cached_property
    def links(self) -> list[str]:
        """Where links lead."""
        return _LINK.findall(_SPAN.sub("", self.prose))

    @cached_property
    def anchors(self) -> set[str]:
        """The anchors of its headings, as GitHub makes them."""
        return {_anchor(title) for _, title in _HEADING.findall(self.prose)}

    def section(self, title: str) -> str:
        """The prose from a heading to the next one of its level or above."""
        for found in _HEADING.finditer(self.prose):
            if found[2] == title:
                rest = self.prose[found.end() :]
                end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
                return rest[: end.start()] if end else rest
        raise LookupError(f"{self.name} has no section {title}")

    def tables(self, title: str | None = None) -> list[list[list[str]]]:
        """The tables of a section, or all: rows of cells, the head left out."""
        text = self.prose if title is None else self.section(title)
        return [_rows(found[0]) for found in _TABLE.finditer(text)]


def spans_of(cell: str) -> list[str]:
    """The words in code within a cell."""
    return _SPAN.findall(cell)


def page(name: str) -> Page:
    """A page of the project by its place in it."""
    return Page(ROOT / name, (ROOT / name).read_text("utf-8"))


def all_pages() -> list[Page]:
    """Every page that users, operators and contributors read."""
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    return [page(name) for name in [*names, *sorted(f"docs/{each.name}" for each in (ROOT / "docs").glob("*.md"))]]


PAGES = all_pages()
NAMES = [each.name for each in PAGES]


def _anchor(title: str) -> str:
    return _NOT_IN_ANCHORS.sub("", title.replace("`", "").lower()).replace(" ", "-")


def _rows(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if not _SEPARATORS.fullmatch(line)]
    return [[cell.strip() for cell in _CELL_END.split(line)[1:-1]] for line in lines[1:]]
