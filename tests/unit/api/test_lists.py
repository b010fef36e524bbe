"""Lists of jobs and runs: pages, cursors, filters. Every item stands on exactly one page."""

from typing import Any

import pytest

from carillon.application.walking import FILTERED_STEP, MOST_STEPS
from carillon.domain.identity import RunKey, ulid
from carillon.domain.run import Attempt, RunState
from carillon.ports.jobs import JobPage
from support.api import DAY_MS, ApiUnderTest, Reply


def pages(api: ApiUnderTest, path: str, **query: str) -> list[list[str]]:
    """The ids on each page of a list, by following the link until there is none."""
    found: list[list[str]] = []
    reply = api.call("GET", path, query=query)
    while True:
        assert reply.status == 200, reply.text
        found.append([item["id"] for item in reply.json["data"]])
        assert len(found) < 50
        if reply.json["next_cursor"] is None:
            assert "link" not in reply.headers
            return found
        target, _, parameters = reply.headers["link"].removeprefix("<").removesuffix('>; rel="next"').partition("?")
        assert target == path
        reply = api.call("GET", target, query=parameters)


def flat(found: list[list[str]]) -> list[str]:
    """The ids of all pages in a row."""
    return [each for page in found for each in page]


def ids_of(api: ApiUnderTest, count: int, **changes: Any) -> list[str]:
    """Create jobs; their ids, newest first."""
    return [api.create(**changes)["id"] for _ in range(count)][::-1]


def test_an_empty_list(api: ApiUnderTest) -> None:
    """Without jobs the list is empty and ends."""
    reply = api.call("GET", "/v1/jobs")
    assert (reply.status, reply.json) == (200, {"data": [], "next_cursor": None})


@pytest.mark.parametrize(
    ("count", "limit", "sizes"),
    [
        pytest.param(25, 10, [10, 10, 5], id="B190-short-last-page"),
        pytest.param(10, 10, [10], id="B191-exactly-one-page"),
        pytest.param(20, 10, [10, 10], id="B191-exactly-two-pages"),
        pytest.param(3, 1, [1, 1, 1], id="single-items"),
        pytest.param(60, None, [50, 10], id="default-limit"),
        pytest.param(101, 100, [100, 1], id="highest-limit"),
    ],
)
def test_pages_of_jobs(api: ApiUnderTest, count: int, limit: int | None, sizes: list[int]) -> None:
    """Jobs come newest first, each on exactly one page, and the last page has no cursor."""
    expected = ids_of(api, count)
    query = {} if limit is None else {"limit": str(limit)}
    found = pages(api, "/v1/jobs", **query)
    assert [len(page) for page in found] == sizes
    assert flat(found) == expected


def test_store_pages_of_any_size(api: ApiUnderTest) -> None:
    """B190: the cursor names the last job that was given out, however the store cuts its pages."""
    expected = ids_of(api, 25)
    whole = api.world.jobs

    class Ragged:
        """A store whose pages are short, or empty, while more follows."""

        calls = 0

        def list_newest(self, tenant: str, limit: int, after: str | None) -> JobPage:
            """Give out 0, 1, 2, 3, 0, 1, … jobs."""
            self.calls += 1
            room = self.calls % 4
            page = whole.list_newest(tenant, max(min(room, limit), 1), after)
            return page if room else JobPage((), after or "job_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")

    api.handle = api.build(jobs=Ragged())
    assert flat(pages(api, "/v1/jobs", limit="10")) == expected


def test_a_filter_that_matches_far_behind(api: ApiUnderTest) -> None:
    """B188: a page may be empty while a cursor is set; following it finds the match, and then the end."""
    before = api.create(name="old")["id"]
    wanted = api.create(name="wanted", labels={"team": "infra"})["id"]
    ids_of(api, FILTERED_STEP * MOST_STEPS + 1)
    found = pages(api, "/v1/jobs", label="team:infra")
    assert found == [[], [wanted]]
    assert flat(pages(api, "/v1/jobs", name_prefix="o")) == [before]


FILTERS: list[tuple[str, list[str]]] = [
    ("state=cancelled", ["b"]),
    ("state=scheduled", ["d", "c", "a"]),
    ("state=paused", []),
    ("label=team%3Ainfra", ["c", "b", "a"]),
    ("label=team:infra&label=tier:1", ["b"]),
    ("label=team:", []),
    ("name_prefix=a", ["a"]),
    ("name_prefix=a&label=team:infra&state=scheduled", ["a"]),
    ("name_prefix=", ["d", "c", "b", "a"]),
]


@pytest.mark.parametrize(("query", "names"), FILTERS)
def test_filters(api: ApiUnderTest, query: str, names: list[str]) -> None:
    """All given conditions hold for each job of a filtered list, and no other job is left out."""
    labels: dict[str, dict[str, str]] = {
        "a": {"team": "infra"},
        "b": {"team": "infra", "tier": "1"},
        "c": {"team": "infra"},
        "d": {},
    }
    for name, given in labels.items():
        created = api.create(name=name, labels=given)
        if name == "b":
            api.call("DELETE", f"/v1/jobs/{created['id']}")
    reply = api.call("GET", "/v1/jobs", query=query)
    assert [job["name"] for job in reply.json["data"]] == names


@pytest.mark.parametrize(
    ("query", "name", "code"),
    [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("limit=-1", "limit", "out_of_range"),
        ("limit=1.0", "limit", "out_of_range"),
        ("limit=", "limit", "out_of_range"),
        ("limit=%D9%A3", "limit", "out_of_range"),
        ("limit=5&limit=6", "limit", "repeated"),
        ("state=sleeping", "state", "not_a_choice"),
        ("state=", "state", "not_a_choice"),
        ("label=team", "label", "invalid_value"),
        ("label=:infra", "label", "invalid_value"),
        ("stat=scheduled", "stat", "unknown_parameter"),
        ("tenant=globex", "tenant", "unknown_parameter"),
    ],
)
def test_parameters_that_are_not_valid(api: ApiUnderTest, query: str, name: str, code: str) -> None:
    """A parameter that is not understood is refused by name, never passed over."""
    reply = api.call("GET", "/v1/jobs", query=query)
    assert (reply.status, reply.errors) == (422, {(name, code)})


@pytest.mark.parametrize("query", ["limit=%FF", "&".join("label=a:b" for _ in range(65))])
def test_queries_that_cannot_be_read(api: ApiUnderTest, query: str) -> None:
    """A query that is not UTF-8, or has no end, is a malformed request."""
    assert api.call("GET", "/v1/jobs", query=query).status == 400


def first_cursor(api: ApiUnderTest, path: str = "/v1/jobs", **query: str) -> str:
    """The cursor of the first page of one item."""
    reply = api.call("GET", path, query={"limit": "1", **query})
    return str(reply.json["next_cursor"])


def with_cursor(api: ApiUnderTest, cursor: str, path: str = "/v1/jobs", key: str = "", **query: str) -> Reply:
    """A page by a cursor."""
    return api.call("GET", path, query={"cursor": cursor, **query}, key=key)


def assert_bad_cursor(reply: Reply) -> None:
    """The cursor is refused, and nothing is shown."""
    assert (reply.status, reply.json["code"], reply.errors) == (400, "bad_cursor", {("cursor", "bad_cursor")})


def flipped(cursor: str, at: int) -> str:
    """The cursor with one character changed."""
    return cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]


def test_cursors_that_are_not_ours(api: ApiUnderTest) -> None:
    """B196: garbage, a cut or changed cursor, and one of another list, filter or tenant are 400, never page 1 again."""
    first, _, _ = ids_of(api, 3)
    for moment in (1, 2, 3):
        api.add_run(first, moment)
    cursor = first_cursor(api)
    assert with_cursor(api, cursor).status == 200
    wrong = [
        *(
            "garbage",
            "",
            cursor[: len(cursor) // 2],
            cursor[:-1],
            cursor + "A",
            cursor + "=",
            cursor + "\n",
            "é",
            "a" * 600,
        ),
        *(flipped(cursor, at) for at in range(len(cursor))),
    ]
    for text in wrong:
        assert_bad_cursor(with_cursor(api, text))
    assert_bad_cursor(with_cursor(api, cursor, path=f"/v1/jobs/{first}/runs"))
    assert_bad_cursor(with_cursor(api, first_cursor(api, f"/v1/jobs/{first}/runs")))
    assert_bad_cursor(with_cursor(api, cursor, state="scheduled"))
    assert_bad_cursor(with_cursor(api, first_cursor(api, name_prefix=""), name_prefix="a"))
    assert_bad_cursor(with_cursor(api, cursor, key=api.other_key))


def test_the_limit_may_change_between_pages(api: ApiUnderTest) -> None:
    """A cursor is bound to the list and its filters, not to the size of a page."""
    _, second, third = ids_of(api, 3)
    reply = with_cursor(api, first_cursor(api), limit="2")
    assert [item["id"] for item in reply.json["data"]] == [second, third]


def test_a_cursor_holds_for_a_day(api: ApiUnderTest) -> None:
    """A cursor works until 24 hours after it was given out, and not longer."""
    ids_of(api, 2)
    cursor = first_cursor(api)
    api.world.clock.advance(DAY_MS - 1)
    assert with_cursor(api, cursor).status == 200
    api.world.clock.advance(1)
    assert_bad_cursor(with_cursor(api, cursor))


def test_a_new_job_does_not_shift_a_list_that_is_being_read(api: ApiUnderTest) -> None:
    """What is created while a list is read shows on no later page, and pushes nothing onto two."""
    expected = ids_of(api, 4)
    cursor = first_cursor(api)
    api.create()
    assert [item["id"] for item in with_cursor(api, cursor).json["data"]] == expected[1:]


def test_pages_of_runs(api: ApiUnderTest) -> None:
    """B193: runs within one second, or one millisecond apart, come newest first and each on exactly one page."""
    owner = api.create()["id"]
    moments = [1_790_000_000_000 + n for n in range(15)]
    expected = [api.add_run(owner, moment).key.run_id for moment in moments][::-1]
    found = pages(api, f"/v1/jobs/{owner}/runs", limit="5")
    assert [len(page) for page in found] == [5, 5, 5]
    assert flat(found) == expected


def test_runs_recorded_out_of_order(api: ApiUnderTest) -> None:
    """B194, B197: order and cursor both go by the nominal time, whatever the recorder's clock said."""
    owner = api.create()["id"]
    for moment, created_at in ((5_000, 9_000), (4_000, 20_000), (6_000, 1_000), (3_000, 3_000)):
        api.add_run(owner, moment, created_at=created_at)
    expected = [RunKey.of(owner, moment).run_id for moment in (6_000, 5_000, 4_000, 3_000)]
    assert flat(pages(api, f"/v1/jobs/{owner}/runs", limit="1")) == expected


def test_jobs_made_in_one_burst(api: ApiUnderTest) -> None:
    """B194: jobs whose ids do not sort like their times stand on exactly one page each."""
    moments = [7, 3, 9, 1, 5]
    for moment in moments:
        api.world.clock.set(1_790_000_000_000 + moment)
        api.create()
    found = flat(pages(api, "/v1/jobs", limit="2"))
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(moments)


def test_runs_by_state(api: ApiUnderTest) -> None:
    """A list of runs can be narrowed to a state."""
    owner = api.create()["id"]
    for moment, state in ((1, RunState.SUCCEEDED), (2, RunState.SKIPPED), (3, RunState.SUCCEEDED)):
        api.add_run(owner, moment, state=state)
    found = pages(api, f"/v1/jobs/{owner}/runs", state="succeeded", limit="1")
    assert flat(found) == [RunKey.of(owner, moment).run_id for moment in (3, 1)]
    assert api.call("GET", f"/v1/jobs/{owner}/runs", query="state=done").errors == {("state", "not_a_choice")}


def test_a_page_never_grows_beyond_what_a_function_may_answer(api: ApiUnderTest) -> None:
    """Runs with long histories make short pages, and none is lost."""
    owner = api.create()["id"]
    history = tuple(
        Attempt(number, 0, 1, 500, "http_status", "\u0001" * 4_096, truncated=True) for number in range(1, 81)
    )
    expected = [api.add_run(owner, moment, attempts=history).key.run_id for moment in range(5)][::-1]
    found = pages(api, f"/v1/jobs/{owner}/runs")
    assert [len(page) for page in found] == [1, 1, 1, 1, 1]
    assert flat(found) == expected


def test_the_runs_of_an_unknown_job(api: ApiUnderTest) -> None:
    """The runs of a job that does not exist, or is another tenant's, are 404, not an empty list."""
    owner = api.create()["id"]
    unknown = "job_" + ulid(0, bytes(10))
    assert api.call("GET", f"/v1/jobs/{unknown}/runs").status == 404
    assert api.call("GET", f"/v1/jobs/{owner}/runs", key=api.other_key).status == 404
