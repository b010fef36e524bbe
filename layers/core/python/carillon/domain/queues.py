"""Queues as targets: which one a URL names, and which of them a stage lets its tenants send to.

A stage's list is data of its operator. Nothing that a tenant sends chooses a host: the URL is read for the names in it,
and what is not on the list is never sent to.
"""

import re
from dataclasses import dataclass

FIFO_SUFFIX = ".fifo"
OWN_BEGINNING = "Carillon-"
"""With this the names of the queues of Carillon's own stacks begin, of every stage."""

_NAME = r"(?P<name>[A-Za-z0-9_-]{1,75}\.fifo|[A-Za-z0-9_-]{1,80})"
_ACCOUNT = r"(?P<account>[0-9]{12})"
_REGION = r"(?P<region>[a-z]{2,4}(?:-[a-z0-9]{1,16}){1,4})"
_URL = re.compile(rf"https://sqs\.{_REGION}\.amazonaws\.com(?:\.cn)?/{_ACCOUNT}/{_NAME}", re.ASCII)
_LOCAL_URL = re.compile(
    rf"http://(?:localhost|127\.0\.0\.1)(?P<region>)(?::[1-9][0-9]{{0,4}})?/{_ACCOUNT}/{_NAME}", re.ASCII
)
_ARN = re.compile(rf"arn:aws(?:-cn|-us-gov)?:sqs:{_REGION}:{_ACCOUNT}:{_NAME}", re.ASCII)
_PATTERN = re.compile(r"\*|[a-z][a-z0-9-]{0,38}(?:\*|[a-z0-9])", re.ASCII)


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """What names a queue. The URLs of a local AWS tell no region: then it is empty."""

    region: str
    account: str
    name: str

    @property
    def is_fifo(self) -> bool:
        """Whether it keeps order within a group, and sends what comes twice once. SQS tells by the name."""
        return self.name.endswith(FIFO_SUFFIX)

    @property
    def is_own(self) -> bool:
        """Whether it belongs to a stack of Carillon, whose workers believe what they find there."""
        return self.name.startswith(OWN_BEGINNING)

    def is_named_by(self, other: "QueueAddress") -> bool:
        """Whether another address means this queue."""
        return (other.account, other.name) == (self.account, self.name) and other.region in ("", self.region)


@dataclass(frozen=True, slots=True)
class AllowedQueue:
    """An entry of a stage's list: a queue, and to whom it is open.

    Attributes:
        tenants: the id of a tenant, the beginning of ids with a star behind it, or a star for all.
        arn: of the queue.
        queue: what the ARN names.
    """

    tenants: str
    arn: str
    queue: QueueAddress

    @classmethod
    def parse(cls, text: str) -> "AllowedQueue":
        """The entry in its text: `<tenants>=<ARN>`.

        Raises:
            ValueError: it is none, or names a queue of Carillon's own.
        """
        tenants, _, arn = text.partition("=")
        match = _ARN.fullmatch(arn)
        if match is None or not _PATTERN.fullmatch(tenants):
            raise ValueError(f"{text!r}: expected the id of a tenant or a beginning and *, then = and a queue's ARN")
        queue = QueueAddress(match["region"], match["account"], match["name"])
        if queue.is_own:
            raise ValueError(f"{text!r}: this is a queue of Carillon's own")
        return cls(tenants, arn, queue)

    def is_open_to(self, tenant: str) -> bool:
        """Whether a tenant may send to it."""
        return tenant.startswith(self.tenants[:-1]) if self.tenants.endswith("*") else tenant == self.tenants


def may_be_allowed(text: str) -> bool:
    """Whether a text is an entry that a stage's list may have."""
    try:
        AllowedQueue.parse(text)
    except ValueError:
        return False
    return True


def read_queue_url(url: str, *, allow_local: bool) -> QueueAddress | None:
    """What the URL of a queue names, in SQS's one present form; None if it has another.

    Args:
        url: as the tenant gave it.
        allow_local: whether queues of a local AWS are read too.
    """
    match = _URL.fullmatch(url) or (_LOCAL_URL.fullmatch(url) if allow_local else None)
    return match and QueueAddress(match["region"], match["account"], match["name"])
