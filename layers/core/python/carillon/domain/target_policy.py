"""What a stage lets its tenants call, as data: an operator of a private stage widens it without touching the checks."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_network

from carillon.domain.destinations import ANYWHERE, Destinations
from carillon.domain.queues import AllowedQueue

_RESERVED = frozenset(
    {
        "alt",
        "arpa",
        "corp",
        "example",
        "home",
        "internal",
        "intranet",
        "invalid",
        "lan",
        "local",
        "localdomain",
        "localhost",
        "onion",
        "private",
        "test",
    }
)


@dataclass(frozen=True, slots=True)
class TargetPolicy:
    """The rules for target URLs and the addresses behind them.

    Attributes:
        schemes: the schemes open to every host.
        ports: the allowed ports; None allows all but 0.
        reserved_names: last parts of host names (one label or more) that are never called.
        own_hosts: the stage's own host names; they and everything below them are refused, else jobs could create jobs.
        networks: networks in CIDR form that may be called beside the public ones.
        destinations: where the tenant in question lets its jobs call.
        queues: the queues that may be sent to, and by whom.
        allow_loopback_http: whether `localhost` and 127.0.0.0/8 literals may be called, by http too.
    """

    schemes: frozenset[str] = frozenset({"https"})
    ports: frozenset[int] | None = frozenset({443, 8443})
    reserved_names: frozenset[str] = _RESERVED
    own_hosts: frozenset[str] = frozenset()
    networks: tuple[str, ...] = ()
    allow_loopback_http: bool = False
    destinations: Destinations = ANYWHERE
    queues: tuple[AllowedQueue, ...] = ()

    def narrowed_to(self, destinations: Destinations) -> "TargetPolicy":
        """The policy of the stage for a tenant that has registered destinations."""
        return replace(self, destinations=destinations) if destinations.entries else self

    def for_tenant(self, tenant: str) -> "TargetPolicy":
        """The policy of the stage with those queues alone that are open to a tenant."""
        return replace(self, queues=tuple(each for each in self.queues if each.is_open_to(tenant)))

    def is_reserved(self, host: str) -> bool:
        """Whether the host (lower-case, no trailing dot) is a reserved name or lies below one."""
        return _at_or_below(host, self.reserved_names)

    def is_own(self, host: str) -> bool:
        """Whether the host (lower-case, no trailing dot) is the stage's own or lies below it."""
        return _at_or_below(host, self.own_hosts)


def _at_or_below(host: str, names: frozenset[str]) -> bool:
    labels = host.split(".")
    return any(".".join(labels[start:]) in names for start in range(len(labels)))


HOSTED = TargetPolicy()
"""For stages with tenants: https to public addresses on the usual ports."""


def development() -> TargetPolicy:
    """For a developer's machine: as `HOSTED`, and any port, loopback addresses, and http to loopback hosts."""
    return TargetPolicy(ports=None, networks=("127.0.0.0/8", "::1/128"), allow_loopback_http=True)


def of_stage(
    *,
    allow_loopback: bool = False,
    ports: Collection[int] = (),
    networks: Collection[str] = (),
    names: Collection[str] = (),
    own_hosts: Collection[str] = (),
    queues: Collection[str] = (),
) -> TargetPolicy:
    """The policy of a stage, as its operator has set it.

    Args:
        allow_loopback: whether it is a developer's.
        ports: the allowed ports, where not all are; those of `HOSTED` if there are none.
        networks: networks (CIDR, `may_be_opened`) that may be called beside the public ones.
        names: reserved last parts of host names that may be called all the same, such as `internal`.
        own_hosts: under which host names the stage's own API is reached.
        queues: which queues may be sent to, and by whom: the texts of `AllowedQueue`.
    """
    base = development() if allow_loopback else HOSTED
    return replace(
        base,
        ports=base.ports and (frozenset(ports) or base.ports),
        networks=(*base.networks, *networks),
        reserved_names=base.reserved_names - frozenset(names),
        own_hosts=frozenset(host.lower().removesuffix(".") for host in own_hosts),
        queues=tuple(map(AllowedQueue.parse, queues)),
    )


def may_be_opened(network_text: str) -> bool:
    """Whether an operator may open a network in CIDR form: one that has nothing of the function's own surroundings.

    Behind loopback and link-local addresses are the runtime, which hands out other tenants' jobs, and the role's keys.
    """
    try:
        network = ip_network(network_text)
    except ValueError:
        return False
    return not any(network.version == closed.version and network.overlaps(closed) for closed in _NEVER_OPEN)


_NEVER_OPEN: tuple[IPv4Network | IPv6Network, ...] = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "224.0.0.0/3"),
        *("::/8", "fd00:ec2::/32", "fe80::/10", "ff00::/8"),  # ::/8 and the next two wrap IPv4 addresses
        "64:ff9b::/32",
        *("2001::/32", "2002::/16"),
    )
)
