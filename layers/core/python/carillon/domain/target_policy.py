"""What a stage lets its tenants call, as data: an operator of a private stage widens it without touching the checks."""

from dataclasses import dataclass

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
        allow_loopback_http: whether `localhost` and 127.0.0.0/8 literals may be called, by http too.
    """

    schemes: frozenset[str] = frozenset({"https"})
    ports: frozenset[int] | None = frozenset({443, 8443})
    reserved_names: frozenset[str] = _RESERVED
    own_hosts: frozenset[str] = frozenset()
    networks: tuple[str, ...] = ()
    allow_loopback_http: bool = False

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


def development(own_hosts: frozenset[str] = frozenset()) -> TargetPolicy:
    """For a developer's machine: as `HOSTED`, and any port, loopback addresses, and http to loopback hosts."""
    return TargetPolicy(
        ports=None,
        own_hosts=own_hosts,
        networks=("127.0.0.0/8", "::1/128"),
        allow_loopback_http=True,
    )
