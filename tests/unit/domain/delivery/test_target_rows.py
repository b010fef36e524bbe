"""The whole decision about a target, URL and addresses, row by row."""

import pytest

from carillon.domain.addresses import judge_answers
from carillon.domain.outcomes import Failure
from carillon.domain.targets import HOSTED, TargetRefused, parse_target_url
from support.target_rows import ALLOWED, REFUSED_ANSWERS, REFUSED_URLS, TargetRow, id_of


@pytest.mark.parametrize("row", ALLOWED, ids=id_of)
def test_a_public_https_target_may_be_called(row: TargetRow) -> None:
    """Its URL is read into a lower-case host without a trailing dot, and all its addresses are public."""
    address = parse_target_url(row.url, HOSTED)
    assert (address.host, address.port) == (row.url.split("/")[2].lower().removesuffix(":443").removesuffix("."), 443)
    assert judge_answers(row.answers, HOSTED) is None


@pytest.mark.parametrize("row", REFUSED_URLS, ids=id_of)
def test_a_url_with_a_trick_is_refused(row: TargetRow) -> None:
    """Before any name is looked up, with the code of what is wrong."""
    with pytest.raises(TargetRefused) as refused:
        parse_target_url(row.url, HOSTED)
    assert refused.value.code == row.code


@pytest.mark.parametrize("row", REFUSED_ANSWERS, ids=id_of)
def test_an_address_inside_is_refused(row: TargetRow) -> None:
    """Alone, and among good ones."""
    parse_target_url(row.url, HOSTED)
    assert judge_answers(row.answers, HOSTED) == row.code


def test_a_target_without_an_address_is_not_called() -> None:
    """No answer is trouble of the name service, which may pass."""
    assert judge_answers((), HOSTED) is Failure.DNS_ERROR
