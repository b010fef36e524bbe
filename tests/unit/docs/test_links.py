"""What the pages point to is there."""

import re
from collections.abc import Iterator

import pytest

from tests.unit.docs.pages import NAMES, PAGES, ROOT, Page, page

FOLDERS = ("bench", "cli", "docs", "events", "functions", "infra", "layers", "requirements", "tests")
_PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*|\.ci/\w+|[\w-]+\.(?:toml|json|md|lock)")
_BUILT = ("ready.json", "job.json", "schedules.csv")


def broken_links(subject: Page) -> Iterator[str]:
    """Links that lead nowhere: no such file, or no such heading in it."""
    yield from (link for link in subject.links if "://" not in link and not _leads_somewhere(subject, link))


def _leads_somewhere(subject: Page, link: str) -> bool:
    target, _, anchor = link.partition("#")
    file = (subject.path.parent / target).resolve()
    if target and not file.exists():
        return False
    there = page(str(file.relative_to(ROOT))) if target and anchor else subject
    return not anchor or anchor in there.anchors


def missing_files(subject: Page) -> Iterator[str]:
    """Files and folders named in code that are not there."""
    for span in subject.spans:
        if _PATH.fullmatch(span) and span not in _BUILT and not _exists(span):
            yield span
    for block in subject.blocks_in("bash", "console"):
        for command in block.commands:
            yield from (word for word in command.split() if word.startswith("events/") and not _exists(word))


def _exists(name: str) -> bool:
    core = ROOT / "layers" / "core" / "python" / "carillon"
    return any((folder / name).exists() for folder in (ROOT, core))


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    """Each relative link names a file that is there, and a heading that the file has."""
    assert list(broken_links(page(name))) == []


@pytest.mark.parametrize("name", NAMES)
def test_named_files_exist(name: str) -> None:
    """Each file or folder of the project that a page names is there."""
    assert list(missing_files(page(name))) == []


def test_every_page_can_be_found() -> None:
    """The README leads to every other page."""
    linked = {link.partition("#")[0] for link in page("README.md").links}
    assert {each.name for each in PAGES} - {"README.md"} <= linked


def test_what_is_not_there_is_noticed() -> None:
    """A link to no file, one to no heading, and a name of no file are found; good ones are not."""
    text = (
        "# One\n[a](docs/nowhere.md) [b](#two) [c](#one) [d](docs/api.md#errors) [e](docs/api.md#mistakes)\n"
        "`tests/nowhere.py` `tests/unit/docs/pages.py`\n```bash\ncarillon invoke api events/nowhere.json\n```\n"
    )
    subject = Page(ROOT / "README.md", text)
    assert list(broken_links(subject)) == ["docs/nowhere.md", "#two", "docs/api.md#mistakes"]
    assert list(missing_files(subject)) == ["tests/nowhere.py", "events/nowhere.json"]
