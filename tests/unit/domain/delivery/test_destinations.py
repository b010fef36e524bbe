"""What a destination admits, and how a policy is narrowed by it."""

import pytest

from carillon.domain.destinations import ANYWHERE, Destination, DestinationKind
from carillon.domain.targets import HOSTED, TargetRefused, development, parse_target_url, read_host

HOST = Destination(DestinationKind.HOST, "hooks.acme.com", 1)
SUFFIX = Destination(DestinationKind.SUFFIX, "acme.net", 2)
BOTH = ANYWHERE.having(HOST).having(SUFFIX)


@pytest.mark.parametrize(
    ("host", "admitted"),
    [
        ("hooks.acme.com", True),
        ("a.hooks.acme.com", False),
        ("acme.com", False),
        ("acme.net", True),
        ("a.b.acme.net", True),
        ("evilacme.net", False),
        ("acme.net.evil.com", False),
        ("net", False),
    ],
)
def test_a_host_is_meant_alone_and_a_suffix_with_all_below(host: str, *, admitted: bool) -> None:
    """Compared label by label; a name that only ends alike is another's."""
    assert BOTH.admits(host) is admitted


def test_without_destinations_every_host_is_admitted() -> None:
    """Also again, when the last one is removed."""
    assert ANYWHERE.admits("anything.at.all")
    assert BOTH.lacking(HOST.id).lacking(SUFFIX.id).admits("anything.at.all")


def test_the_id_is_the_same_for_the_same_destination() -> None:
    """Kind and name make it, and not when it was registered."""
    again = Destination(DestinationKind.HOST, "hooks.acme.com", 99)
    other = Destination(DestinationKind.SUFFIX, "hooks.acme.com", 1)
    assert again.id == HOST.id != other.id
    assert BOTH.find(HOST.id) == HOST
    assert BOTH.find(other.id) is None


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://HOOKS.acme.com./x", None),
        ("https://deep.acme.net:8443/", None),
        ("https://other.com/", "not_a_destination"),
        ("https://127.0.0.1/", "numeric_host"),
        ("https://acme.net:22/", "bad_port"),
    ],
)
def test_destinations_narrow_the_policy_of_the_stage(url: str, code: str | None) -> None:
    """They refuse what the stage would allow, and allow nothing that it refuses."""
    policy = HOSTED.narrowed_to(BOTH)
    if code is None:
        assert parse_target_url(url, policy).scheme == "https"
        return
    with pytest.raises(TargetRefused) as refused:
        parse_target_url(url, policy)
    assert refused.value.code == code


def test_they_hold_for_loopback_hosts_too() -> None:
    """A developer's stage has no way round them."""
    with pytest.raises(TargetRefused, match="destinations"):
        parse_target_url("http://localhost:8080/", development().narrowed_to(BOTH))


@pytest.mark.parametrize(
    ("text", "host"), [("Hooks.ACME.com.", "hooks.acme.com"), ("xn--bcher-kva.de", "xn--bcher-kva.de")]
)
def test_names_are_read_as_those_of_targets(text: str, host: str) -> None:
    """In lower case, without a trailing dot, also by a policy that is narrowed already."""
    assert read_host(text, HOSTED.narrowed_to(BOTH)) == host


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_host"),
        ("com", "bad_host"),
        ("acme.com/path", "bad_host"),
        ("acme.com?x", "bad_host"),
        ("acme.com:443", "bad_host"),
        ("*.acme.com", "bad_host"),
        ("https://acme.com", "bad_host"),
        ("user@acme.com", "bad_host"),
        ("10.0.0.1", "numeric_host"),
        ("[::1]", "bad_host"),
        ("a.internal", "reserved_name"),
        ("bücher.de", "bad_host"),
        ("acme.com#", "bad_host"),
        ("acme .com", "bad_host"),
    ],
)
def test_what_no_target_could_have_is_no_destination(text: str, code: str) -> None:
    """A host name and nothing else; a suffix of one label would be a whole country."""
    with pytest.raises(TargetRefused) as refused:
        read_host(text, HOSTED)
    assert refused.value.code == code
