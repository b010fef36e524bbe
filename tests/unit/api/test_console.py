"""GET /console: one page that asks only the API that served it, and sets what it is told as text."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from carillon.entrypoint import console
from support.api import ApiUnderTest, Json
from support.everything import Everything

SCRIPT = Path(console.__file__).parent / "script.js"


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of its style and script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inner: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep the text of what a policy names by its hash."""
        tag = self.found[-1][0] if self.found else ""
        if tag in ("style", "script") and data.strip():
            self.inner[tag] = data


@pytest.fixture
def page(api: ApiUnderTest) -> Elements:
    """The page as it is served to somebody without a key."""
    return Elements(api.call("GET", "/console", key=None).text)


def test_anybody_may_load_it_and_it_holds_nothing(api: ApiUnderTest) -> None:
    """The same page whoever asks, and whatever is stored."""
    before = api.call("GET", "/console", key=None)
    api.create(name="a-name-to-look-for")
    after = api.call("GET", "/console")
    assert (before.status, before.text) == (200, after.text)
    assert before.headers["content-type"] == "text/html; charset=utf-8"


def test_the_policy_admits_this_style_and_this_script_alone(api: ApiUnderTest, page: Elements) -> None:
    """By their hashes; requests go to this API, forms and frames nowhere."""
    policy = api.call("GET", "/console", key=None).headers["content-security-policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for kind, directive in (("style", "style-src"), ("script", "script-src")):
        digest = b64encode(sha256(page.inner[kind].encode()).digest()).decode()
        assert parts[directive] == f"'sha256-{digest}'"
    assert (parts["default-src"], parts["connect-src"]) == ("'none'", "'self'")
    assert all(parts[name] == "'none'" for name in ("base-uri", "form-action", "frame-ancestors"))


def test_it_loads_nothing_and_has_no_inline_handlers(page: Elements) -> None:
    """No address of another server, no handler or style in an attribute, which the policy would refuse."""
    for tag, attributes in page.found:
        assert not attributes.keys() & {"src", "href", "action", "style"}, tag
        assert not any(name.startswith("on") for name in attributes), tag
    assert not re.search(r"https?://|//[a-z]", page.inner["script"] + page.inner["style"])


def test_what_it_is_told_is_set_as_text(page: Elements) -> None:
    """Nothing in the script makes markup or code of a text."""
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "localStorage"):
        assert way not in page.inner["script"]


def test_every_element_that_the_script_names_is_there(page: Elements) -> None:
    """A label for each field, too."""
    ids = {attributes["id"] for _, attributes in page.found if "id" in attributes}
    named = set(re.findall(r'(?:at|fillTerms|fillTable|showList)\(\s*"([a-z-]+)"', page.inner["script"]))
    assert named <= ids
    assert len(named) > 8


def shown(function: str, document: Json) -> Json:
    """What the script makes of a document, by a function of it that knows no page."""
    node = shutil.which("node")
    assert node is not None, "Node deploys Carillon, so it is there"
    code = f"const c = require({json.dumps(str(SCRIPT))}); const d = JSON.parse(process.argv[1]);"
    code += f"console.log(JSON.stringify(c.{function}(d)))"
    asked = [node, "-e", code, json.dumps(document)]
    return json.loads(subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout)


def test_it_shows_what_the_api_answers() -> None:
    """Figures, queues, limits, jobs and dead letters, from answers of this very API."""
    everything = Everything()
    api = everything.api
    assert everything.dead_run_id
    api.world.limits.set("acme", api.world.limits.of("acme"))
    stats, limits = (api.call("GET", f"/v1/{name}").json for name in ("stats", "limits"))
    assert dict(shown("figuresOf", stats))["runs ended"] == str(stats["runs"]["total"])
    assert [row[0] for row in shown("queuesOf", stats)] == list(stats["queues"])
    assert dict(shown("limitsOf", limits))["jobs"].endswith("of any number")
    (job, *_) = api.call("GET", "/v1/jobs").json["data"]
    assert shown("jobRow", job) == [
        job["name"] or job["id"],
        job["state"],
        "",
        job["next_fire_time"] or "–",
        job["target"]["url"],
    ]
    (dead, *_) = api.call("GET", "/v1/dead-letters").json["data"]
    assert shown("deadRow", dead)[0] == everything.dead_run_id
    assert "undefined" not in json.dumps([shown("deadRow", dead), shown("jobRow", job), shown("figuresOf", stats)])


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ({}, ""),
        ({"state": "", "label": ""}, ""),
        ({"state": "paused", "label": "a:b c&d"}, "?state=paused&label=a%3Ab+c%26d"),
    ],
)
def test_filters_become_a_query(wanted: Json, query: str) -> None:
    """What is not given is not asked for, and what is given is one value."""
    assert shown("queryOf", wanted) == query
