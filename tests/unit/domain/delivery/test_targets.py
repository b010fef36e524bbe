"""Which URLs may be called, row by row."""

import pytest

from carillon.domain.target_policy import of_stage
from carillon.domain.targets import HOSTED, TargetAddress, TargetPolicy, TargetRefused, development, parse_target_url

ALLOWED = [
    ("https://hooks.acme.com/cb", "hooks.acme.com", 443, "/cb"),
    ("https://HOOKS.ACME.COM:443/cb?x=1", "hooks.acme.com", 443, "/cb?x=1"),
    ("https://hooks.acme.com:8443", "hooks.acme.com", 8443, "/"),
    ("https://hooks.acme.com./cb", "hooks.acme.com", 443, "/cb"),
    ("https://xn--bcher-kva.acme.com/", "xn--bcher-kva.acme.com", 443, "/"),
    ("https://hooks.acme.com/a?u=http://169.254.169.254/", "hooks.acme.com", 443, "/a?u=http://169.254.169.254/"),
    ("https://hooks.acme.com/%2e%2e/%40x", "hooks.acme.com", 443, "/%2e%2e/%40x"),
    ("https://hooks.acme.com?x=1", "hooks.acme.com", 443, "/?x=1"),
    ("https://hooks.acme.com//a/../b?", "hooks.acme.com", 443, "//a/../b?"),
    ("https://a_b.r3---sn.acme.com/", "a_b.r3---sn.acme.com", 443, "/"),
    ("https://example.com/", "example.com", 443, "/"),
]

REFUSED = {
    "numeric_host": [
        "https://127.0.0.1/",
        "https://127.0.0.1./",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://017700000001/",
        "https://0/",
        "https://0x/",
        "https://1.2.3.4.5/",
        "https://0xa9fea9fe/",
        "https://0XA9FEA9FE/",
        "https://169.254.43518/",
        "https://8.8.8.8/",
    ],
    "ip_literal": [
        "https://[::1]/",
        "https://[::]/",
        "https://[v1.x]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[fd00:ec2::254]/",
        "https://[fe80::1%25eth0]/",
        "https://[acme.com]/",
        "https://[::1]a.com/",
    ],
    "reserved_name": [
        "https://localhost/",
        "https://LocalHost./",
        "https://foo.localhost/",
        "https://sandbox.localdomain/",
        "https://sandbox.local/",
        "https://metadata.google.internal/",
        "https://ip-10-0-0-1.ec2.internal/",
        "https://1.0.0.127.in-addr.arpa/",
        "https://wiki.corp/",
        "https://router.home/",
        "https://nas.lan/",
        "https://a.intranet/",
        "https://a.private/",
        "https://a.onion/",
        "https://a.alt/",
        "https://a.test/",
        "https://a.invalid/",
        "https://a.example/",
    ],
    "userinfo": [
        "https://user@acme.com/",
        "https://user:pw@acme.com/",
        "https://acme.com@127.0.0.1/",
        "https://127.0.0.1@acme.com/",
    ],
    "bad_character": [
        "https://acme.com\\@127.0.0.1/",
        "https://127.0.0.1\\@acme.com/",
        "https://example.com\t.evil.org/",
        "https://exa mple.com/",
        "https://acme.com/a\r\nX-Evil: 1",
        "https://acme.com/a\nb",
        "https://127.0.0.1\0.acme.com/",
        'https://acme.com/"',
        "https://acme.com/<x>",
        "https://acme.com/{id}",
        "https://acme.com/a|b",
        "https://acme.com/a^b",
        "https://acme.com/`id`",
        "https://acme.com/\x7f",
        " https://acme.com/",
    ],
    "fragment": ["https://acme.com#@127.0.0.1/", "https://acme.com/#frag", "https://acme.com/?a#b"],
    "bad_authority": [
        "https://127.0.0.1%00.acme.com/",
        "https://%31%32%37.0.0.1/",
        "https://loc%61lhost/",
        "https://acme.com;evil.com/",
        "https://acme.com,evil.com/",
        "https://acme.com:80:443/",
        "https://acme.com:+80/",
        "https://acme.com:8_0/",
        "https://acme.com:44a/",
        "https://acme.com:0000000443/",
        "https://:443/",
    ],
    "not_ascii": [
        "https://①②⑦.⓪.⓪.①/",
        "https://127。0。0。1/",
        "https://\uff11\uff12\uff17.0.0.1/",
        "https://ⓛocalhost/",
        "https://bücher.acme.com/",
        "https://acme.com:\uff180/",
        "https://acme.com/é",
    ],
    "bad_idna": ["https://xn--a.com/", "https://a.xn--ls8h.com/", "https://XN--A.com/"],
    "bad_port": [
        "https://acme.com:22/",
        "https://acme.com:80/",
        "https://acme.com:0/",
        "https://acme.com:65536/",
        "https://acme.com:99999/",
        "https://acme.com:/",
        "https://acme.com:0443/",
    ],
    "bad_form": [
        "https:///acme.com/",
        "https:acme.com/",
        "https://",
        "https:/acme.com/",
        "https:",
        "https://?x",
        "http:a",
    ],
    "bad_host": [
        "https://.acme.com/",
        "https://acme..com/",
        "https://-acme.com/",
        "https://acme-.com/",
        "https://acme.com../",
        "https://./",
        "https://xn--.com/",
        "https://billing/",
        f"https://{'a' * 64}.com/",
        f"https://{'a.' * 130}com/",
    ],
    "bad_scheme": [
        "http://acme.com/",
        "HTTPS://acme.com/",
        "file:///proc/self/environ",
        "gopher://acme.com/",
        "ftp://acme.com/",
        "dict://acme.com/",
        "unix://acme.com/",
        "//acme.com/",
        "javascript:alert(1)",
        "acme.com",
        "data:,x",
    ],
    "bad_length": ["", f"https://acme.com/{'a' * 2032}"],
}


@pytest.mark.parametrize(("url", "host", "port", "path"), ALLOWED)
def test_a_plain_https_url_is_read_into_what_is_dialled(url: str, host: str, port: int, path: str) -> None:
    """The host is lower-cased and loses one trailing dot; path and query are left alone."""
    assert parse_target_url(url, HOSTED) == TargetAddress("https", host, port, path)


@pytest.mark.parametrize(
    ("code", "url"),
    [pytest.param(code, url, id=f"{code}-{url[:60]!a}") for code, urls in REFUSED.items() for url in urls],
)
def test_everything_else_is_refused(code: str, url: str) -> None:
    """Each trick has its code, and the explanation repeats nothing of the input."""
    with pytest.raises(TargetRefused) as refused:
        parse_target_url(url, HOSTED)
    assert refused.value.code == code
    assert len(url) < 10 or url not in refused.value.detail


def test_the_longest_url_is_allowed() -> None:
    """2,048 characters are not too many."""
    assert parse_target_url(f"https://acme.com/{'a' * 2031}", HOSTED).path_and_query == "/" + "a" * 2031


def test_the_host_header_names_only_unusual_ports() -> None:
    """443 goes without saying under https, 80 under http."""
    policy = development()
    urls = ["https://acme.com/", "https://acme.com:8443/", "http://localhost/", "http://localhost:443/"]
    expected = ["acme.com", "acme.com:8443", "localhost", "localhost:443"]
    assert [parse_target_url(url, policy).host_header for url in urls] == expected


@pytest.mark.parametrize("url", ["https://api.acme.com/", "https://x.api.acme.com/", "https://API.acme.com./v1/jobs"])
def test_the_stage_does_not_call_itself(url: str) -> None:
    """Its own hosts and all below them are refused; their neighbours are not."""
    policy = TargetPolicy(own_hosts=frozenset({"api.acme.com"}))
    with pytest.raises(TargetRefused) as refused:
        parse_target_url(url, policy)
    assert refused.value.code == "own_host"
    assert parse_target_url("https://myapi.acme.com/", policy).host == "myapi.acme.com"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080/x",
        "http://127.0.0.1:8080/",
        "http://127.9.9.9/",
        "http://LOCALHOST./",
        "https://localhost:9443/",
        "https://127.0.0.1/",
        "https://hooks.acme.com:9443/",
    ],
)
def test_development_adds_loopback_and_any_port(url: str) -> None:
    """Http works to loopback hosts, https to any allowed host, on any port."""
    assert parse_target_url(url, development()).port > 0


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://acme.com/", "bad_scheme"),
        ("http://127.1/", "numeric_host"),
        ("http://2130706433/", "numeric_host"),
        ("http://0.0.0.0/", "numeric_host"),
        ("http://10.0.0.1/", "numeric_host"),
        ("http://169.254.169.254/", "numeric_host"),
        ("http://[::1]/", "ip_literal"),
        ("http://foo.localhost/", "reserved_name"),
        ("http://metadata.google.internal/", "reserved_name"),
        ("http://localhost:0/", "bad_port"),
        ("http://user@localhost/", "userinfo"),
        ("ftp://localhost/", "bad_scheme"),
    ],
)
def test_development_adds_nothing_else(url: str, code: str) -> None:
    """Private addresses, other spellings of loopback and plain http to the world stay refused."""
    with pytest.raises(TargetRefused) as refused:
        parse_target_url(url, development())
    assert refused.value.code == code


def test_an_operator_can_widen_the_policy() -> None:
    """Schemes, ports and reserved names are data: a private stage may call plain http on its own suffix."""
    policy = TargetPolicy(schemes=frozenset({"http", "https"}), ports=frozenset({8080}), reserved_names=frozenset())
    assert parse_target_url("http://billing.internal:8080/", policy).host == "billing.internal"


PRIVATE = of_stage(
    ports=(443, 9443),
    networks=("10.20.0.0/16",),
    names=("internal",),
    own_hosts=("abc.execute-api.eu-west-1.amazonaws.com", "API.acme.com."),
)


@pytest.mark.parametrize(
    "url", ["https://billing.internal:9443/", "https://ip-10-0-0-1.ec2.internal/", "https://a.com/"]
)
def test_a_private_stage_calls_what_its_operator_has_opened(url: str) -> None:
    """Ports and names that are reserved elsewhere, beside what every stage calls."""
    assert parse_target_url(url, PRIVATE).path_and_query == "/"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://abc.execute-api.eu-west-1.amazonaws.com/v1/jobs", "own_host"),
        ("https://api.acme.com/v1/jobs", "own_host"),
        ("https://localhost/", "reserved_name"),
        ("https://wiki.corp/", "reserved_name"),
        ("https://a.com:8443/", "bad_port"),
        ("http://billing.internal/", "bad_scheme"),
        ("https://10.20.0.1/", "numeric_host"),
    ],
)
def test_a_private_stage_calls_nothing_else(url: str, code: str) -> None:
    """Least of all itself, by the gateway's own name or by another."""
    with pytest.raises(TargetRefused) as refused:
        parse_target_url(url, PRIVATE)
    assert refused.value.code == code


def test_a_stage_without_settings_has_the_hosted_policy() -> None:
    """Nothing is opened by not being mentioned, and a developer's stage is `development`."""
    assert of_stage() == HOSTED
    assert of_stage(allow_loopback=True, ports=(443,)) == development()
