"""docs/scale.md, and the places in it where the model's tables stand."""

import re
from pathlib import Path

from bench.scale.tables import TABLES, written

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
_BLOCK = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n)(?P<table>.*?)(<!-- end of table -->)", re.DOTALL)


def names_in(text: str) -> list[str]:
    """The tables that a page asks for."""
    return [found["name"] for found in _BLOCK.finditer(text)]


def with_tables(text: str) -> str:
    """A page with its tables made anew."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{written(TABLES[found['name']]())}\n{found[4]}", text)
