"""The life of a run in README.md is the one in the code: its letters, and its moves."""

import re

import pytest

from carillon.domain import run as runs
from carillon.domain.run import RunState
from tests.unit.docs.pages import ROOT

README = (ROOT / "README.md").read_text("utf-8")
DIAGRAM = README.partition("stateDiagram-v2")[2].partition("```")[0]
EDGES = re.findall(r"^ *(\S+) --> (\w+): (\w)$", DIAGRAM, re.MULTILINE)


def letters_of_the_code() -> set[str]:
    """The letters that the docstring of the state machine explains."""
    explained = (runs.__doc__ or "").rpartition("dead_lettered")[2]
    return set(re.findall(r"(?:^ {4}|  )([a-z])  (?=\w)", explained, re.MULTILINE))


def test_letters_are_explained_alike() -> None:
    """Each letter of the diagram has its line in the table, and the code has the same ones."""
    table = README.partition("| edge | who causes it |")[2].partition("\n\n")[0]
    letters = set(re.findall(r"^\| ([a-z]) \|", table, re.MULTILINE))
    assert {letter for *_, letter in EDGES} == letters
    assert letters_of_the_code() == letters


@pytest.mark.parametrize(("before", "after", "letter"), EDGES)
def test_each_move_is_legal(before: str, after: str, letter: str) -> None:
    """The diagram shows no move that the code refuses, and only people queue a run."""
    state = None if before == "[*]" else RunState(before)
    assert RunState(after) in runs._MOVES[state]
    assert after != "queued" or letter in "ij"
