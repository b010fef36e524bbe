"""A tenant with many jobs: what a call takes does not grow with their number (`make bench-api` has 50,000)."""

import pytest

from bench.api_bench import AWS, MOST_REQUESTS, PAGE, RARE_EVERY, measure
from contract.backends import Endpoint

FEW, MANY = 200, 600


@pytest.mark.e2e
def test_a_call_takes_the_same_among_few_and_many(live_endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the page and by the job, the requests and the units written are those of a tenant with few."""
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", live_endpoint.url or "")
    (few, _), (many, _) = (measure(live_endpoint, jobs) for jobs in (FEW, MANY))
    assert (few["list"].calls, many["list"].calls) == (FEW // PAGE, MANY // PAGE)
    for name, most in MOST_REQUESTS.items():
        assert 0 < many[name].per_call("requests") <= most, name
    for name, unit in (("list", "requests"), ("pause", "wru"), ("create", "wru")):
        assert many[name].per_call(unit) == pytest.approx(few[name].per_call(unit), rel=0.15), (name, unit)
    assert many["filter"].calls <= MANY // RARE_EVERY
