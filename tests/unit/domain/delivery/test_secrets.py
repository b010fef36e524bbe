"""Which signing secrets sign, and what a rotation makes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carillon.domain.secrets import RotationInProgressError, SigningSecret, rotated, signing

NOW_MS = 1_700_000_000_000
OLD = SigningSecret("sec_old", NOW_MS - 1_000)


def test_a_secret_signs_until_it_retires() -> None:
    """At the very instant of its retirement it signs no more."""
    retiring = SigningSecret("sec_a", 0, retires_at=NOW_MS)
    assert (retiring.signs_at(NOW_MS - 1), retiring.signs_at(NOW_MS), OLD.signs_at(NOW_MS)) == (True, False, True)


def test_a_rotation_puts_the_new_one_in_front() -> None:
    """During the overlap both sign, new first; behind it only the new one."""
    rotation = rotated([OLD], "sec_new", 60_000, NOW_MS)
    after = [*rotation.retired, rotation.added]
    assert [secret.id for secret in signing(after, NOW_MS)] == ["sec_new", "sec_old"]
    assert [secret.id for secret in signing(after, NOW_MS + 59_999)] == ["sec_new", "sec_old"]
    assert [secret.id for secret in signing(after, NOW_MS + 60_000)] == ["sec_new"]


def test_three_never_sign() -> None:
    """A rotation within the overlap of another one is refused, and told until when."""
    first = rotated([OLD], "sec_new", 60_000, NOW_MS)
    with pytest.raises(RotationInProgressError) as refused:
        rotated([*first.retired, first.added], "sec_newest", 1, NOW_MS + 59_999)
    assert refused.value.retires_at == NOW_MS + 60_000
    assert rotated([*first.retired, first.added], "sec_newest", 1, NOW_MS + 60_000).seen == (first.added,)


def test_without_an_overlap_the_new_one_signs_alone() -> None:
    """So a secret that is known to others can be replaced at once, even while a rotation is in progress."""
    first = rotated([OLD], "sec_new", 60_000, NOW_MS)
    second = rotated([*first.retired, first.added], "sec_newest", 0, NOW_MS + 1)
    after = [*second.retired, second.added]
    assert {secret.id for secret in second.seen} == {"sec_new", "sec_old"}
    assert [secret.id for secret in signing(after, NOW_MS + 1)] == ["sec_newest"]


@given(st.lists(st.tuples(st.integers(0, 100_000), st.sampled_from([0, 0, 5_000, 60_000])), max_size=12))
def test_whatever_is_rotated_one_or_two_sign_and_the_newest_is_first(steps: list[tuple[int, int]]) -> None:
    """Also when clocks go back and forth."""
    secrets, last = {OLD.id: OLD}, OLD.id
    for number, (at_ms, overlap_ms) in enumerate(steps):
        now_ms = NOW_MS + at_ms
        try:
            rotation = rotated(list(secrets.values()), f"sec_{number}", overlap_ms, now_ms)
        except RotationInProgressError:
            continue
        secrets |= {secret.id: secret for secret in (*rotation.retired, rotation.added)}
        last = rotation.added.id
        ids = [secret.id for secret in signing(secrets.values(), now_ms)]
        assert ids[0] == last
        assert 1 <= len(ids) <= 2
