"""The worker's decision about a target, row by row: what it refuses, it neither asks for nor dials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from carillon.adapters.http import caller
from carillon.adapters.http.budget import CallFailedError
from carillon.domain.outcomes import Failure
from carillon.domain.targets import HOSTED
from support.target_rows import ALLOWED, REFUSED_ANSWERS, REFUSED_URLS, TargetRow, id_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.adapters.http.conftest import MakeCalls


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The addresses that the caller wanted to dial; nobody answers there."""
    wanted: list[tuple[str, ...]] = []

    def dial(addresses: Sequence[str], port: int, _budget: object) -> None:
        assert port in (443, 8443)
        wanted.append(tuple(addresses))
        raise CallFailedError(Failure.CONNECT_ERROR)

    monkeypatch.setattr(caller, "dial", dial)
    return wanted


@pytest.mark.parametrize("row", ALLOWED, ids=id_of)
def test_the_addresses_that_were_checked_are_dialled(
    make_calls: MakeCalls, dialled: list[tuple[str, ...]], row: TargetRow
) -> None:
    """All of them, each once, and the name is asked for once, lower-case and without a trailing dot."""
    call = make_calls(row.answers, policy=HOSTED)
    assert call(row.url).failure is Failure.CONNECT_ERROR
    assert dialled == [tuple(dict.fromkeys(row.answers))]
    assert call.resolver.asked == [row.url.split("/")[2].lower().removesuffix(":443").removesuffix(".")]


@pytest.mark.parametrize("row", REFUSED_URLS, ids=id_of)
def test_a_url_with_a_trick_is_blocked_before_its_name_is_asked_for(
    make_calls: MakeCalls, dialled: list[tuple[str, ...]], row: TargetRow
) -> None:
    """B226: whatever was stored, and when."""
    call = make_calls(row.answers, policy=HOSTED)
    assert call(row.url).failure is Failure.TARGET_BLOCKED
    assert (call.resolver.asked, dialled) == ([], [])


@pytest.mark.parametrize("row", REFUSED_ANSWERS, ids=id_of)
def test_an_address_inside_is_not_dialled(
    make_calls: MakeCalls, dialled: list[tuple[str, ...]], row: TargetRow
) -> None:
    """B214 to B218, and (g): by whatever name or alias it was found, the address is judged."""
    call = make_calls(row.answers, policy=HOSTED)
    outcome = call(row.url)
    assert (outcome.failure, outcome.excerpt, outcome.headers) == (Failure(row.code or ""), "", {})
    assert (len(call.resolver.asked), dialled) == (1, [])
