"""Which network addresses a callback may be sent to.

The tables are our own: what `ipaddress.is_global` says differs between patch releases of Python and lets addresses
pass that carry a private IPv4 address inside (NAT64, 6to4, mapped, compatible, translated, Teredo). IPv4 is a list of
what is refused; IPv6 is the other way round, only 2000::/3 is open and holes are cut into it, so that a transition
prefix nobody thought of is refused.

Sources: the IANA special-purpose address registries (RFC 6890 and its successors), RFC 5214 for ISATAP.
"""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from carillon.domain.outcomes import Failure
from carillon.domain.target_policy import TargetPolicy

MOST_ANSWERS = 16

_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared address space of carriers, and of some clouds' inner services
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's agent endpoint inside public space
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, class E and broadcast
    )
)
_OPEN_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, ORCHID, benchmarking, AMT, PCP
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})


def judge_answers(answers: Collection[str], policy: TargetPolicy) -> Failure | None:
    """Why a target whose name resolves to these addresses is not called, or None if it may be.

    One bad answer among good ones spoils all: it is how a rebinding looks.

    Args:
        answers: all that the name service gave; each counts once.
        policy: what the stage allows beyond the public addresses.
    """
    addresses = set(answers)
    if not 0 < len(addresses) <= MOST_ANSWERS:
        return Failure.DNS_ERROR
    return None if all(address_allowed(each, policy) for each in addresses) else Failure.TARGET_BLOCKED


def address_allowed(ip_text: str, policy: TargetPolicy) -> bool:
    """Whether a callback may be sent to this address, as a resolver or a socket writes it.

    Args:
        ip_text: an IPv4 or IPv6 address without brackets. Text that is no address, or names a scope, is refused.
        policy: what the stage allows beyond the public addresses.
    """
    address = _parse(ip_text)
    if address is None:
        return False
    if any(address in ip_network(network) for network in policy.networks):
        return True
    return _public_v4(address) if isinstance(address, IPv4Address) else _public_v6(address)


def _parse(ip_text: str) -> IPv4Address | IPv6Address | None:
    if "%" in ip_text:
        return None
    try:
        return ip_address(ip_text)
    except ValueError:
        return None


def _public_v4(address: IPv4Address) -> bool:
    return not any(address in network for network in _REFUSED_V4)


def _public_v6(address: IPv6Address) -> bool:
    if address not in _OPEN_V6 or any(address in network for network in _REFUSED_V6):
        return False
    return (int(address) >> 32) & 0xFFFF_FFFF not in _ISATAP
