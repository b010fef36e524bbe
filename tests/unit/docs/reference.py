"""The parts of the pages that are made from the code: `make docs` writes them, a test holds them.

A page says where: between `<!-- name: made by `make docs` -->` and `<!-- end -->`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from carillon.entrypoint.openapi.document import OPERATIONS, description_of, route_name
from carillon.entrypoint.openapi.operation import Operation
from carillon.entrypoint.openapi.problem_pages import PAGES as PROBLEMS
from carillon.entrypoint.problems import KINDS
from carillon.entrypoint.routing import Route
from support.api import ApiUnderTest
from tests.unit.docs.pages import ROOT

Json = Any

MADE_PAGES = ("docs/api.md", "docs/problems.md")
_MADE = re.compile(
    r"(?P<begin><!-- (?P<name>[^:>]+): made by `make docs` -->\n)(?P<text>.*?)(?P<end><!-- end -->)", re.DOTALL
)
_FIELDS_OF = "fields of "


def routes() -> tuple[Route[Any], ...]:
    """The routing table."""
    known: tuple[Route[Any], ...] = ApiUnderTest().handle.routes  # type: ignore[attr-defined]  # the front knows them
    return known


def remade(text: str) -> str:
    """A page with its made parts made anew."""
    return _MADE.sub(lambda found: f"{found['begin']}\n{_part(found['name'])}\n{found['end']}", text)


def _part(name: str) -> str:
    if name.startswith(_FIELDS_OF):
        return _fields(name.removeprefix(_FIELDS_OF).split(", "))
    return _PARTS[name]()


def _table(head: str, rows: Iterable[Iterable[str]]) -> str:
    marks = ["---:" if cell.strip() == "status" else "---" for cell in head.split("|")]
    lines = [f"| {head} |", f"|{'|'.join(marks)}|", *("| " + " | ".join(row) + " |" for row in rows)]
    return "".join(f"{line}\n" for line in lines)


def _routes() -> str:
    built = [(route, OPERATIONS[route_name(route)]) for route in routes()]
    rows = ((f"`{route_name(route)}`", _scope(route), _answers(operation)) for route, operation in built)
    return _table("route | scope | answers", rows)


def _scope(route: Route[Any]) -> str:
    also = ", or the attempt's token" if route.takes_token else ""
    return "none" if route.scope is None else f"`{route.scope}`{also}"


def _answers(operation: Operation) -> str:
    told = []
    for status, answer in operation.answers.items():
        begin = f"{status} with" if answer.shape else f"{status};"
        told.append(", ".join((f"{begin} {answer.told}", *(f"`{header}`" for header in answer.headers))))
    return "; ".join(told)


def _problems() -> str:
    rows = (
        (str(status), f"[`{code}`](problems.md#{code})", PROBLEMS[code].when)
        for code, (status, _) in sorted(KINDS.items(), key=lambda kind: kind[1][0])
    )
    return _table("status | `code` | when", rows)


def _problem_pages() -> str:
    parts = []
    for code, (status, title) in sorted(KINDS.items(), key=lambda kind: kind[1][0]):
        page = PROBLEMS[code]
        parts.append(f"## {code}\n\n{title} ({status}).\n\n*When:* {page.when}.\n\n*What to do:* {page.remedy}\n")
    return "\n".join(parts)


def _fields(names: list[str]) -> str:
    schemas = description_of(routes())["components"]["schemas"]
    told: dict[str, tuple[str, str, str]] = {}
    for name in names:
        schema = schemas[name]
        for field, inner in schema["properties"].items():
            told.setdefault(field, (f"`{field}`", _default(field, inner, schema), inner.get("description", "")))
    if len(names) > 1:
        return _table("field | meaning and bounds", ((field, text) for field, _, text in told.values()))
    return _table("field | default | meaning and bounds", told.values())


def _default(field: str, schema: Mapping[str, Any], owner: Mapping[str, Any]) -> str:
    if field in owner.get("required", ()):
        return "required"
    default = schema.get("x-default", schema.get("default"))
    if default is None:
        return "none"
    if "x-default" in schema or (isinstance(default, int | float) and not isinstance(default, bool)):
        return f"{default:g}" if isinstance(default, float) else str(default)
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


_PARTS: Mapping[str, Callable[[], str]] = {
    "routes": _routes,
    "problems": _problems,
    "problem pages": _problem_pages,
}


def stale() -> Iterator[str]:
    """The pages whose made parts say something else than the code."""
    for name in MADE_PAGES:
        text = (ROOT / name).read_text("utf-8")
        if remade(text) != text:
            yield name


def main() -> None:
    """Write the made parts."""
    for name in stale():
        text = (ROOT / name).read_text("utf-8")
        (ROOT / name).write_text(remade(text), "utf-8")
        print(f"{name} was made anew")  # noqa: T201 - a command's answer


if __name__ == "__main__":
    main()
