"""The strict reader of JSON, against the standard library's lenient one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carillon.entrypoint.json_text import JsonError, read_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
BLANKS = st.text(alphabet=" \t\r\n", max_size=3)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=5), st.sampled_from([None, 1, "\t"]), st.booleans(), BLANKS)
def test_any_object_is_read(members: dict[str, Any], indent: int | str | None, escaped: bool, blanks: str) -> None:  # noqa: FBT001 - drawn by the test
    """Every JSON object is read as the standard library reads it, and each member's text is JSON of its value."""
    text = blanks + json.dumps(members, indent=indent, ensure_ascii=escaped) + blanks
    try:
        body = text.encode()
    except UnicodeEncodeError:
        return
    found = read_object(body)
    assert found.members == json.loads(
        text, parse_int=lambda digits: int(digits) if len(digits) <= 20 else float(digits)
    )
    assert list(found.texts) == list(found.members)
    for name, member in found.texts.items():
        assert member in text
        assert member == member.strip()
        assert json.loads(member) == members[name]


@given(st.binary(max_size=64) | st.text(alphabet='{}[]",:\\u0019eEfalsntru-+. \n', max_size=64).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """Whatever is sent is read or refused as JSON: no other error, and nothing that the standard reader refuses."""
    try:
        found = read_object(body)
    except JsonError:
        return
    assert json.loads(body) == found.members


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": 1,\n "b" 2}', "line 2, column 6"),
        ('{"a": tru}', "line 1, column 7"),
        ('{\n\n"a": 1', "line 3, column 7"),
    ],
)
def test_the_place_of_a_fault_is_told(text: str, where: str) -> None:
    """A person is told the line and the column at which the reader stopped, counted from one."""
    with pytest.raises(JsonError, match=where):
        read_object(text.encode())


def test_repeated_keys_are_allowed_only_where_nobody_looks() -> None:
    """Inside an opaque member keys may stand twice; its own name may not."""
    assert read_object(b'{"payload": {"a": 1, "a": 2}}', opaque={"payload"}).texts["payload"] == '{"a": 1, "a": 2}'
    with pytest.raises(JsonError):
        read_object(b'{"payload": 1, "payload": 2}', opaque={"payload"})
    with pytest.raises(JsonError):
        read_object(b'{"labels": {"a": 1, "a": 2}}', opaque={"payload"})
