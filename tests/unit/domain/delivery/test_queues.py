"""Queues as targets: what a URL names, and to whom a queue of the stage's list is open."""

import pytest

from carillon.domain.queues import AllowedQueue, QueueAddress, may_be_allowed, read_queue_url
from carillon.domain.target_policy import HOSTED, TargetPolicy, development, of_stage
from carillon.domain.targets import TargetRefused, check_queue_url

ARN = "arn:aws:sqs:eu-west-1:111122223333:orders"
LONGEST = "q" * 80


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://sqs.eu-west-1.amazonaws.com/111122223333/orders", ("eu-west-1", "111122223333", "orders")),
        ("https://sqs.us-gov-west-1.amazonaws.com/111122223333/a_b-C9", ("us-gov-west-1", "111122223333", "a_b-C9")),
        ("https://sqs.cn-north-1.amazonaws.com.cn/111122223333/orders", ("cn-north-1", "111122223333", "orders")),
        ("https://sqs.eu-west-1.amazonaws.com/111122223333/o.fifo", ("eu-west-1", "111122223333", "o.fifo")),
        (f"https://sqs.eu-west-1.amazonaws.com/111122223333/{LONGEST}", ("eu-west-1", "111122223333", LONGEST)),
    ],
)
def test_the_url_of_a_queue_names_it(url: str, address: tuple[str, str, str]) -> None:
    """Region, account and name; a local AWS makes no difference to it."""
    assert read_queue_url(url, allow_local=False) == read_queue_url(url, allow_local=True) == QueueAddress(*address)


@pytest.mark.parametrize("host", ["localhost:4566", "127.0.0.1:1", "localhost"])
def test_a_local_queue_is_read_only_where_the_stage_is_local(host: str) -> None:
    """It tells no region, and means the queue of the list in whichever region that is."""
    url = f"http://{host}/111122223333/orders"
    assert read_queue_url(url, allow_local=False) is None
    address = read_queue_url(url, allow_local=True)
    assert address == QueueAddress("", "111122223333", "orders")
    assert AllowedQueue.parse(f"*={ARN}").queue.is_named_by(address)


@pytest.mark.parametrize(
    "url",
    [
        "",
        ARN,
        "https://sqs.eu-west-1.amazonaws.com/111122223333/" + "q" * 81,
        "https://sqs.eu-west-1.amazonaws.com/111122223333/" + "q" * 76 + ".fifo",
        "https://sqs.eu-west-1.amazonaws.com/111122223333/.fifo",
        "https://sqs.eu-west-1.amazonaws.com/111122223333/a.b",
        "https://sqs.eu-west-1.amazonaws.com/111122223333/",
        "https://sqs.eu-west-1.amazonaws.com/11112222333/orders",
        "https://sqs.eu-west-1.amazonaws.com/\uff1111122223333/orders",
        "https://sqs.eu-west-1.amazonaws.com:443/111122223333/orders",
        "https://SQS.eu-west-1.amazonaws.com/111122223333/orders",
        "https://eu-west-1.queue.amazonaws.com/111122223333/orders",
        "https://sqs.eu-west-1.evil.net/111122223333/orders",
        "https://sqs.eu.west.amazonaws.com/111122223333/orders",
        "http://169.254.169.254/111122223333/orders",
        "http://localhost:0/111122223333/orders",
    ],
)
def test_no_other_url_is_read(url: str) -> None:
    """One narrow form: what is not of it names nothing, on a local stage either."""
    assert read_queue_url(url, allow_local=True) is None


@pytest.mark.parametrize(
    ("tenants", "tenant", "is_open"),
    [
        ("acme", "acme", True),
        ("acme", "acme-2", False),
        ("acme*", "acme-2", True),
        ("acme-*", "acme", False),
        ("*", "anybody", True),
    ],
)
def test_an_entry_says_to_whom_it_is_open(tenants: str, tenant: str, *, is_open: bool) -> None:
    """One tenant, all that begin so, or all."""
    assert AllowedQueue.parse(f"{tenants}={ARN}").is_open_to(tenant) is is_open


@pytest.mark.parametrize(
    "text",
    [
        "",
        ARN,
        f"={ARN}",
        f"**={ARN}",
        f"*acme={ARN}",
        f"Acme={ARN}",
        f"acme={ARN}*",
        "acme=arn:aws:sqs:eu-west-1:111122223333:*",
        "acme=arn:aws:sqs:*:111122223333:orders",
        "acme=arn:aws:sns:eu-west-1:111122223333:orders",
        f"acme= {ARN}",
        "*=arn:aws:sqs:eu-west-1:111122223333:Carillon-prod-QueuesHigh",
    ],
)
def test_what_is_no_entry_is_refused(text: str) -> None:
    """No queue by a wildcard, none of Carillon's own: an operator learns of it before anything is deployed."""
    assert not may_be_allowed(text)
    with pytest.raises(ValueError, match=r"expected the id of a tenant|Carillon's own"):
        AllowedQueue.parse(text)


@pytest.mark.parametrize("policy", [HOSTED, development(), of_stage()])
def test_a_stage_without_a_list_opens_no_queue(policy: TargetPolicy) -> None:
    """Nothing is open unless an operator has said so."""
    with pytest.raises(TargetRefused) as refused:
        check_queue_url("https://sqs.eu-west-1.amazonaws.com/111122223333/orders", policy)
    assert refused.value.code == "queue_not_allowed"
