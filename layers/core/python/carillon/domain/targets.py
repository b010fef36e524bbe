"""The strict reading of a target's URL: what is called, or why it is refused.

URL parsers disagree (backslashes, user parts, tabs, brackets, percent signs, foreign digits), and each disagreement
between the one that checks and the one that calls is a way round the check. So only one narrow form is read at all,
once at creation and again before each attempt, and the parts found here are what is dialled.
"""

import re
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address

from carillon.domain.destinations import ANYWHERE
from carillon.domain.queues import QueueAddress, read_queue_url
from carillon.domain.target_policy import HOSTED, TargetPolicy, development

__all__ = ["HOSTED", "TargetAddress", "TargetPolicy", "TargetRefused", "development", "parse_target_url"]

MOST_URL_CHARACTERS = 2048
MOST_HOST_CHARACTERS = 253
_HIGHEST_PORT = 65_535
_FORBIDDEN = frozenset('\\"<>^`{|}')
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?", re.ASCII
)
_HOST = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_AUTHORITY = re.compile(rf"(?P<host>{_HOST.pattern})(?P<colon>:(?P<port>[0-9]{{0,6}}))?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_DEFAULT_PORTS = {"https": 443, "http": 80}


class TargetRefused(ValueError):  # noqa: N818 - it is a verdict on the input, not a failure of ours
    """The URL may not be called.

    Attributes:
        code: a stable word for programs.
        detail: a sentence for people; it never repeats the input.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class TargetAddress:
    """What a URL means to the one who calls it. The host is lower-case and has no trailing dot."""

    scheme: str
    host: str
    port: int
    path_and_query: str

    @property
    def host_header(self) -> str:
        """The value of the Host header: the port is named unless it is the scheme's own."""
        return self.host if self.port == _DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the host names this very machine."""
        return self.host == "localhost" or _is_loopback_literal(self.host)


def parse_target_url(url: str, policy: TargetPolicy = HOSTED) -> TargetAddress:
    """Read a target's URL by the rules of the stage.

    Args:
        url: the text as the tenant gave it.
        policy: what the stage allows.

    Raises:
        TargetRefused: the URL is malformed or names what may not be called.
    """
    _check_characters(url)
    match = _URL.fullmatch(url)
    if match is None:
        raise _why_no_url(url)
    scheme, authority = match["scheme"], match["authority"]
    _check_scheme(scheme, policy)
    host, port_text = _split_authority(authority)
    address = TargetAddress(scheme, _host(host), _port(port_text, scheme), _path_and_query(match))
    _check_host(address, policy)
    _check_transport(address, policy)
    if not policy.destinations.admits(address.host):
        raise TargetRefused("not_a_destination", "the host is none of the destinations that the tenant has registered")
    return address


def check_queue_url(url: str, policy: TargetPolicy) -> QueueAddress:
    """The queue that a target's URL names, if it may be sent to.

    Args:
        url: the text as the tenant gave it.
        policy: what the stage allows this tenant (`TargetPolicy.for_tenant`).

    Raises:
        TargetRefused: the URL is malformed or names a queue that is not open to the tenant.
    """
    address = read_queue_url(url, allow_local=policy.allow_loopback_http)
    if address is None:
        raise TargetRefused("bad_queue_url", "expected https://sqs.<region>.amazonaws.com/<account>/<name>")
    if address.is_own:
        raise TargetRefused("own_queue", "the scheduler does not send to queues of its own")
    if not any(allowed.queue.is_named_by(address) for allowed in policy.queues):
        raise TargetRefused("queue_not_allowed", "the queue is none of those that are open to this tenant")
    return address


def read_host(text: str, policy: TargetPolicy = HOSTED) -> str:
    """A host name as it stands in destinations: one that a target could have, in lower case, without a trailing dot.

    Raises:
        TargetRefused: no target could have this host.
    """
    if not _HOST.fullmatch(text):
        raise TargetRefused("bad_host", "expected a host name and nothing else; send it as punycode")
    return parse_target_url(f"https://{text}/", replace(policy, destinations=ANYWHERE)).host


def _check_characters(url: str) -> None:
    if not 0 < len(url) <= MOST_URL_CHARACTERS:
        raise TargetRefused("bad_length", f"a URL has 1 to {MOST_URL_CHARACTERS} characters")
    if not url.isascii():
        raise TargetRefused("not_ascii", "only ASCII is allowed; send the host as punycode and percent-encode the rest")
    if any(not "!" <= character <= "~" or character in _FORBIDDEN for character in url):
        raise TargetRefused("bad_character", 'blanks, control characters and \\ " < > ^ ` { | } are not allowed')


def _why_no_url(url: str) -> TargetRefused:
    if "#" in url:
        return TargetRefused("fragment", "a target's URL has no fragment")
    scheme, _, _ = url.partition(":")
    if scheme in _DEFAULT_PORTS:
        return TargetRefused("bad_form", "expected https://host/path")
    return TargetRefused("bad_scheme", "the URL must start with https://")


def _check_scheme(scheme: str, policy: TargetPolicy) -> None:
    if scheme not in _DEFAULT_PORTS:
        raise TargetRefused("bad_scheme", "the URL must start with https://")
    if scheme not in policy.schemes and not (scheme == "http" and policy.allow_loopback_http):
        raise TargetRefused("bad_scheme", "the URL must start with https://")


def _split_authority(authority: str) -> tuple[str, str | None]:
    if not authority:
        raise TargetRefused("bad_form", "expected https://host/path")
    if "@" in authority:
        raise TargetRefused("userinfo", "a target's URL has no user name or password; use a header")
    if "[" in authority or "]" in authority:
        raise TargetRefused("ip_literal", "a target is named by a host name, not by an address")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise TargetRefused("bad_authority", "the part between // and / must be a host name, with or without a port")
    return match["host"], match["port"] if match["colon"] else None


def _port(text: str | None, scheme: str) -> int:
    if text is None:
        return _DEFAULT_PORTS[scheme]
    if not text or text.startswith("0") or int(text) > _HIGHEST_PORT:
        raise TargetRefused("bad_port", f"a port is a number from 1 to {_HIGHEST_PORT}")
    return int(text)


def _host(text: str) -> str:
    """The host in lower case without its trailing dot, if its labels are well formed."""
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > MOST_HOST_CHARACTERS or not all(_LABEL.fullmatch(label) for label in labels):
        raise TargetRefused("bad_host", "a host name is made of labels of 1 to 63 letters, digits and hyphens")
    for label in labels:
        _check_idna(label)
    return host


def _check_idna(label: str) -> None:
    if not label.startswith("xn--"):
        return
    import idna  # noqa: PLC0415 - its tables cost 20 ms and few hosts need them

    try:
        same = idna.encode(idna.decode(label)).decode("ascii") == label
    except UnicodeError:  # the base of idna's own errors
        same = False
    if not same:
        raise TargetRefused("bad_idna", "a label that starts with xn-- must be valid under IDNA 2008")


def _path_and_query(match: re.Match[str]) -> str:
    return (match["path"] or "/") + (match["query"] or "")


def _check_host(address: TargetAddress, policy: TargetPolicy) -> None:
    if policy.allow_loopback_http and address.is_loopback:
        return
    labels = address.host.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # the same test as WHATWG's "ends in a number": resolvers read these as addresses
        raise TargetRefused("numeric_host", "a target is named by a host name, not by an address")
    if policy.is_reserved(address.host):
        raise TargetRefused("reserved_name", "this host name is reserved for private or special use")
    if policy.is_own(address.host):
        raise TargetRefused("own_host", "the scheduler does not call itself")
    if len(labels) == 1:
        raise TargetRefused("bad_host", "a host name has at least two labels")


def _check_transport(address: TargetAddress, policy: TargetPolicy) -> None:
    if address.scheme not in policy.schemes and not address.is_loopback:
        raise TargetRefused("bad_scheme", "the URL must start with https://; http is for loopback hosts only")
    if policy.ports is not None and address.port not in policy.ports:
        raise TargetRefused("bad_port", f"allowed ports: {', '.join(map(str, sorted(policy.ports)))}")


def _is_loopback_literal(host: str) -> bool:
    try:
        return IPv4Address(host).is_loopback
    except AddressValueError:
        return False
