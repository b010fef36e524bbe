"""Which addresses may be called, row by row."""

import pytest

from carillon.domain.addresses import address_allowed
from carillon.domain.targets import HOSTED, TargetPolicy, development

ALLOWED = [
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "223.255.255.255",
    "168.63.129.15",
    "192.0.1.0",
    "198.17.255.255",
    "198.20.0.0",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2001:200::1",
    "2003::1",
    "2a00:1450:4001::200e",
]

REFUSED = {
    "row46": ["127.0.0.1", "0.0.0.0", "0.1.2.3", "100.64.0.1", "192.0.0.170", "198.18.0.1"],  # noqa: S104 - as data
    "row47": ["240.0.0.1", "224.0.0.251", "192.88.99.1"],
    "row49": ["64:ff9b::808:808", "64:ff9b:1:a00:0:100::", "2002:808:808::1"],
    "row50": ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "row52": ["fec0::1", "5f00::1", "3fff::1", "100:0:0:1::1", "ff02::1", "4000::1", "fe80::1%eth0", "fe80::1"],
    "B214": ["::ffff:169.254.169.254", "::ffff:127.0.0.1", "::ffff:8.8.8.8"],
    "B215": ["64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::", "::127.0.0.1", "::ffff:0:127.0.0.1"],
    "B217": [
        "224.0.0.1",
        "255.255.255.255",
        "192.0.0.192",
        "168.63.129.16",
    ],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd00:ec2::254", "fd00:ec2::23", "fc00::1"],
    "metadata": ["169.254.169.254", "169.254.170.2", "169.254.78.1", "169.254.100.1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"],
    "anycast": ["192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1"],
    "special": ["::", "::1", "100::1", "2001:1ff:ffff::1", "2001:20::1"],
    "isatap": ["2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1"],
    "text": [
        "",
        "acme.com",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "1.2.3.4 ",
        "[::1]",
        "2606:4700::1%0",
        "\uff11.2.3.4",
    ],
}


@pytest.mark.parametrize("ip", ALLOWED)
def test_public_addresses_are_allowed(ip: str) -> None:
    """Also the last ones before and the first ones after a refused network."""
    assert address_allowed(ip, HOSTED)


@pytest.mark.parametrize(
    "ip", [pytest.param(ip, id=f"{row}-{ip!a}") for row, addresses in REFUSED.items() for ip in addresses]
)
def test_everything_special_is_refused(ip: str) -> None:
    """Private, local, multicast, reserved, documentation; whatever wraps an IPv4 address; and what is no address."""
    assert not address_allowed(ip, HOSTED)


@pytest.mark.parametrize(
    ("ip", "allowed"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("93.184.216.34", True), ("10.0.0.1", False)],
)
def test_development_adds_loopback(ip: str, *, allowed: bool) -> None:
    """Loopback and nothing else comes to the public addresses."""
    assert address_allowed(ip, development()) is allowed


@pytest.mark.parametrize(
    "ip",
    ["169.254.169.254", "::ffff:127.0.0.1", "::127.0.0.1", "0.0.0.0", "fe80::1%lo"],  # noqa: S104 - as data
)
def test_development_is_not_a_way_to_metadata(ip: str) -> None:
    """Other spellings of loopback and link-local addresses stay refused."""
    assert not address_allowed(ip, development())


def test_an_operator_can_name_further_networks() -> None:
    """A private stage calls the networks it lists, and no others."""
    policy = TargetPolicy(networks=("10.20.0.0/16", "fd12:3456::/32"))
    tried = ["10.20.1.1", "fd12:3456::1", "10.21.0.1", "fd12:3457::1"]
    assert [address_allowed(ip, policy) for ip in tried] == [True, True, False, False]
