"""GET /console: a page for people. It holds nothing itself: whoever has a key sees what the API tells that key.

The page is one document, with its style and its script in it, and asks nobody but the API that served it. Its policy
lets exactly this style and this script in, by their hashes: whatever else came to stand in the page would not run.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from carillon.entrypoint.http_request import Answer, Request

_STYLE, _SCRIPT = "/* style.css */", "/* script.js */"


def show_console(_: Request) -> Answer:
    """GET /console: the page, the same for everybody."""
    page, policy = console()
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}
    return Answer(200, page, headers, "text/html; charset=utf-8")


@cache
def console() -> tuple[str, str]:
    """The document, and the policy under which a browser may show it."""
    folder = files(__package__)
    page, style, script = (folder.joinpath(name).read_text("utf-8") for name in ("page.html", "style.css", "script.js"))
    policy = (
        f"default-src 'none'; script-src {_hash_of(script)}; style-src {_hash_of(style)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page.replace(_STYLE, style).replace(_SCRIPT, script), policy


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"
