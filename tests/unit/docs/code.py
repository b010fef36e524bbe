"""What the code says of itself: the names that it logs, counts and refuses by."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from carillon.adapters.throttles import ThrottleReason
from carillon.domain.run import RunState
from tests.unit.docs.pages import ROOT

CORE = ROOT / "layers" / "core" / "python" / "carillon"
CLI = ROOT / "cli" / "carillon_cli"

_CODE_AT = {
    "TargetRefused": 0,
    "refused": 0,
    "bad_parameter": 1,
    "_unauthenticated": 0,
    "FieldError": 2,
    "HeaderProblem": 2,
}
"""Of the calls that refuse a place: which argument is the code."""


_RECORDING = ("count", "observe_group_ms", "observe_ms")
_MADE_NAMES = {
    "f'{kind}_{end.state}'": [
        *(f"runs_{state}" for state in RunState if state.has_ended),
        *(
            f"{aside}_{state}"
            for aside in ("challenges", "notices")
            for state in RunState
            if state.has_ended and state is not RunState.SKIPPED
        ),
    ],
    "f'throttled_{reason}'": [f"throttled_{reason}" for reason in ThrottleReason],
}


def actions() -> set[str]:
    """The values of `action` in log lines."""
    return _members("action")


def metrics() -> set[str]:
    """The names under which figures are counted and observed."""
    return {name for node in nodes(CORE) if isinstance(node, ast.Call) for name in _metric(node)}


def place_codes() -> set[str]:
    """The codes of single places in refusals."""
    calls = {code for node in nodes(CORE) if isinstance(node, ast.Call) for code in _code(node)}
    return calls | _codes_in_tuples() | _members("code")


def constants(folder: Path) -> set[str]:
    """Every text that the code in a folder holds."""
    return {node.value for node in nodes(folder) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@cache
def nodes(folder: Path) -> tuple[ast.AST, ...]:
    """The nodes of all modules in a folder."""
    return tuple(node for file in sorted(folder.rglob("*.py")) for node in ast.walk(ast.parse(file.read_bytes())))


def _members(name: str) -> set[str]:
    """The texts that stand under a name in dictionaries."""
    return {
        str(value.value)
        for node in nodes(CORE)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Constant)
    }


def _metric(call: ast.Call) -> Iterator[str]:
    """A figure's name: always the first argument, and a text; two are made of a state of a run, and of a reason."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in _RECORDING and call.args):
        return
    owner, name = call.func.value, call.args[0]
    if not ast.unparse(owner).endswith("meter"):
        return
    if isinstance(name, ast.Constant):
        yield str(name.value)
    else:
        pattern = ast.unparse(name)
        assert pattern in _MADE_NAMES, f"a metric with a name that nobody foresaw: {pattern}"
        yield from _MADE_NAMES[pattern]


def _code(call: ast.Call) -> Iterator[str]:
    at = _CODE_AT.get(ast.unparse(call.func))
    if at is not None and len(call.args) > at:
        code = call.args[at]
        if isinstance(code, ast.Constant):
            yield str(code.value)


def _codes_in_tuples() -> set[str]:
    """Codes that stand beside their sentence: those of headers, and those of the validator's errors."""
    found = set()
    for module in ("domain/headers.py", "entrypoint/wire/refusals.py"):
        for node in ast.walk(ast.parse((CORE / module).read_bytes())):
            if isinstance(node, ast.Tuple) and len(node.elts) == 2:
                code, detail = node.elts
                if isinstance(code, ast.Constant) and " " in ast.unparse(detail):
                    found.add(str(code.value))
    return found
