"""Targets and what is decided about them, row by row: one table for the rules, the API, the worker and the command.

`rowN` and `Bnnn` are the ids of the facts and of the real-world cases that the rows come from.
"""

from dataclasses import dataclass

OK = "93.184.216.34"
ANYWHERE = "https://r.acme.com/"
BLOCKED = "target_blocked"


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A URL, the addresses of its host, and the code with which it is refused (None: it may be called)."""

    row: str
    url: str
    code: str | None
    answers: tuple[str, ...] = (OK,)


def id_of(row: TargetRow) -> str:
    """The row's name in tests."""
    return f"{row.row}-{row.url[:60]!a}-{','.join(row.answers)[:60]}"


def _urls(row: str, code: str | None, *urls: str) -> tuple[TargetRow, ...]:
    return tuple(TargetRow(row, url, code) for url in urls)


def _answers(row: str, code: str | None, *answers: str) -> tuple[TargetRow, ...]:
    """A row for each address alone."""
    return tuple(TargetRow(row, ANYWHERE, code, (answer,)) for answer in answers)


ALLOWED = (
    *_urls("row1", None, "https://hooks.acme.com/cb"),
    *_urls("row2", None, "https://HOOKS.ACME.COM:443/cb?x=1"),
    *_urls("row4", None, "https://hooks.acme.com./cb"),
    *_urls("row5", None, "https://xn--bcher-kva.acme.com/"),
    *_urls("row7", None, "https://hooks.acme.com/a?u=http://169.254.169.254/"),
    *_urls("row8", None, "https://hooks.acme.com/%2e%2e/%40x"),
    *_answers("row10", None, "172.15.255.255", "169.253.255.255", "100.63.255.255"),
    TargetRow("row11", "https://v6.acme.com/", None, ("2606:4700:4700::1111",)),
    TargetRow("several", ANYWHERE, None, (OK, "8.8.8.8", "2606:4700:4700::1111")),
    TargetRow("repeated", ANYWHERE, None, (OK,) * 40),
    TargetRow("f-sixteen", ANYWHERE, None, tuple(f"8.8.8.{number}" for number in range(16))),
)

REFUSED_URLS = (
    *_urls("row13", "numeric_host", "https://127.0.0.1/", "https://127.0.0.1./", "https://127.1/"),
    *_urls("row14", "numeric_host", "https://127.0.0.1:9001/2018-06-01/runtime/invocation/next"),
    *_urls("row16", "numeric_host", "https://0177.0.0.1/", "https://0/", "https://1.2.3.4.5/"),
    *_urls("row17", "numeric_host", "https://0xa9fea9fe/", "https://169.254.43518/"),
    *_urls("row19", "ip_literal", "https://[::1]/", "https://[::]/", "https://[v1.x]/"),
    *_urls("row20", "ip_literal", "https://[::ffff:127.0.0.1]/", "https://[::ffff:a9fe:a9fe]/"),
    *_urls("row22", "ip_literal", "https://[fd00:ec2::254]/", "https://[fe80::1%25eth0]/"),
    *_urls("row23", "ip_literal", "https://[acme.com]/"),
    *_urls("row25", "reserved_name", "https://foo.localhost/", "https://sandbox.localdomain/"),
    *_urls("row26", "reserved_name", "https://metadata.google.internal/", "https://ip-10-0-0-1.ec2.internal/"),
    *_urls("row28", "userinfo", "https://user@acme.com/", "https://user:pw@acme.com/"),
    *_urls("row29", "userinfo", "https://acme.com@127.0.0.1/", "https://127.0.0.1@acme.com/"),
    *_urls("row31", "bad_character", "https://acme.com\\@127.0.0.1/", "https://127.0.0.1\\@acme.com/"),
    *_urls("row32", "fragment", "https://acme.com#@127.0.0.1/", "https://acme.com/#frag"),
    *_urls("row34", "bad_authority", "https://127.0.0.1%00.acme.com/"),
    *_urls("row35", "not_ascii", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/", "https://ⓛocalhost/"),
    *_urls("row37", "bad_idna", "https://xn--a.com/"),
    *_urls("row38", "bad_port", "https://acme.com:22/", "https://acme.com:0/", "https://acme.com:65536/"),
    *_urls("row40", "bad_form", "https:///acme.com/", "https:acme.com/", "https://"),
    *_urls("row41", "bad_host", "https://.acme.com/", "https://acme..com/", "https://-acme.com/"),
    *_urls("row43", "bad_authority", "https://acme.com;evil.com/", "https://acme.com,evil.com/"),
    *_urls(
        "row44",
        "bad_scheme",
        "file:///proc/self/environ",
        "gopher://acme.com/",
        "ftp://acme.com/",
        "dict://acme.com/",
        "unix://acme.com/",
        "//acme.com/",
        "javascript:alert(1)",
    ),
    *_urls("B214", "ip_literal", "https://[::ffff:169.254.169.254]/"),
    *_urls("B214", "bad_scheme", "http://[::ffff:169.254.169.254]/", "http://[::ffff:127.0.0.1]/"),
    *_urls(
        "B218",
        "numeric_host",
        "https://127.1/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://017700000001/",
        "https://0/",
    ),
    *_urls("B218", "not_ascii", "https://①②⑦.⓪.⓪.①/", "https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/"),
    *_urls("B223", "bad_character", "http://example.com\\@169.254.169.254/", "http://169.254.169.254\\@example.com/"),
    *_urls(
        "B223", "bad_character", "https://example.com\t.evil.org/", "https://exa mple.com/", "https:// example.com/"
    ),
    *_urls("B223", "userinfo", "https://user:pw@example.com/"),
    *_urls("B223", "bad_scheme", "http://user:pw@example.com/"),
    *_urls("B224", "bad_port", "https://example.com:0/", "https://example.com:99999/"),
    *_urls("B224", "bad_authority", "https://example.com:80:443/"),
    *_urls("B224", "bad_form", "http:example.com", "https://?x"),
    *_urls("B224", "bad_scheme", "http:///path", "file:///etc/passwd", "gopher://x/"),
    *_urls("measured-parsers", "bad_authority", "https://%31%32%37.0.0.1/", "https://loc%61lhost/"),
    *_urls("measured-parsers", "ip_literal", "https://[::1]a.com/"),
    *_urls("measured-parsers", "bad_authority", "https://a.com:+80/", "https://a.com:8_0/"),
    *_urls("measured-parsers", "not_ascii", "https://a.com:\uff180/"),
    *_urls("measured-libc", "bad_character", "https://127.0.0.1\0.example.com/"),
)

REFUSED_ANSWERS = (
    *_answers("row46", BLOCKED, "127.0.0.1", "0.0.0.0", "100.64.0.1", "192.0.0.170", "198.18.0.1"),  # noqa: S104 - as data
    *_answers("row47", BLOCKED, "240.0.0.1", "224.0.0.251", "192.88.99.1"),
    *_answers("row49", BLOCKED, "64:ff9b::808:808", "64:ff9b:1:a00:0:100::", "2002:808:808::1"),
    *_answers("row50", BLOCKED, "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
    *_answers("row52", BLOCKED, "fec0::1", "5f00::1", "3fff::1", "100:0:0:1::1", "ff02::1", "4000::1", "fe80::1%eth0"),
    *_answers(
        "B215",
        BLOCKED,
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
    ),
    *_answers(
        "B217",
        BLOCKED,
        "0.0.0.0",  # noqa: S104 - as data
        "224.0.0.1",
        "255.255.255.255",
        "192.88.99.1",
        "fec0::1",
        "192.0.0.192",
        "168.63.129.16",
        "240.0.0.1",
        "fe80::1%eth0",
    ),
    *_answers(
        "metadata", BLOCKED, "169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"
    ),
    *_answers("no-address", BLOCKED, "", "acme.com", "127.1", "0x7f000001", "[::1]"),
    TargetRow("refuse-if-any", ANYWHERE, BLOCKED, (OK, "10.0.0.1")),
    TargetRow("refuse-if-any", ANYWHERE, BLOCKED, ("169.254.169.254", OK)),
    TargetRow("refuse-if-any", ANYWHERE, BLOCKED, (OK, "::1")),
    TargetRow("f-seventeen", ANYWHERE, "dns_error", tuple(f"8.8.8.{number}" for number in range(17))),
)

ROWS = ALLOWED + REFUSED_URLS + REFUSED_ANSWERS
