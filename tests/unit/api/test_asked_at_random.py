"""The interface keeps to its published description whatever it is asked: edges of every field, and random requests."""

import pytest

from support.asking import LONGEST_SECONDS, assert_as_described
from support.loopback import running_service


@pytest.mark.timeout(LONGEST_SECONDS + 30)
def test_every_answer_is_described() -> None:
    """Some two thousand requests, the same each time: no server error, and no answer that is not described."""
    with running_service() as service:
        assert_as_described(service.url, service.api.key)
