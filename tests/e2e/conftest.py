"""The deployed local stack, driven from outside.

Most end-to-end tests share one stack, started when the first of them needs it; some kill or change theirs and have
their own. Under pytest-xdist a file stays whole (`--dist loadfile`), and each worker shares a stack of its own among
the files that it gets. The longest files come first (`--no-loadscope-reorder`), so that the workers end together.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from carillon.client import Client
from carillon_cli.dev.receiver import Receiver
from e2e.dev_stack import READY_SECONDS, DevStack

# Helpers that assert: rewritten like tests, so that a failure shows the values.
pytest.register_assert_rewrite("e2e.live", "e2e.histories", "e2e.edit_stories", "e2e.downtime")

HERE = Path(__file__).parent
LONGEST_FIRST = ("test_edits_live", "test_long_stories", "test_local_stack", "test_enforced_rights", "test_lifecycle")


@pytest.hookimpl(tryfirst=True)  # before items are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder, with time enough to start the stack, and put the longest files first."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(READY_SECONDS + 120))
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """The place of an item's file among the longest; all others keep their order behind them."""
    is_named = HERE in item.path.parents and item.path.stem in LONGEST_FIRST
    return LONGEST_FIRST.index(item.path.stem) if is_named else len(LONGEST_FIRST)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevStack]:
    """The stack that all tests share, ready."""
    shared = DevStack(tmp_path_factory.mktemp("stack"))
    try:
        shared.start()
        yield shared
    finally:
        shared.stop()


@pytest.fixture
def new_stack(tmp_path: Path) -> Iterator[Callable[..., DevStack]]:
    """Makes stacks that a test may kill: `new_stack(*options)`, not started yet. They are stopped after the test."""
    made: list[DevStack] = []

    def new(*options: str) -> DevStack:
        folder = tmp_path / f"stack-{len(made)}"
        folder.mkdir()
        made.append(DevStack(folder, *options))
        return made[-1]

    try:
        yield new
    finally:
        for each in made:
            each.stop()


@pytest.fixture
def client(stack: DevStack) -> Iterator[Client]:
    """A client of the shared stack with the key of its tenant."""
    with Client(stack.url, stack.api_key) as connected:
        yield connected


@pytest.fixture
def receiver(stack: DevStack) -> Iterator[Receiver]:
    """A receiver of callbacks with the signing secret of the shared stack's tenant."""
    with Receiver(stack.signing_secret) as listening:
        yield listening
