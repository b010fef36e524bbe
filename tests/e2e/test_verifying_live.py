"""A destination is asked whether it wants to be called, from the API over the dispatcher to a worker and back."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from carillon.client import Client
from carillon.receiver import verify
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import eventually

BOUND_SECONDS = 60

pytestmark = pytest.mark.timeout(READY_SECONDS + 180)


@contextmanager
def echoing(secret: str) -> Iterator[str]:
    """A receiver that checks the signature, and answers with the token at `/agrees`, with something else elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            verify(secret, dict(self.headers), body)
            said = json.loads(body)["challenge"].encode() if self.path == "/agrees" else b"what?"
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


def test_a_destination_that_agrees_is_verified(new_stack: Callable[..., DevStack]) -> None:
    """Another answer verifies nothing, and the run says why. A stack of its own: destinations bind all of a tenant."""
    stack = new_stack()
    stack.start()
    with Client(stack.url, stack.api_key) as client, echoing(stack.signing_secret) as url:
        destination = client.add_destination("host", "localhost")
        assert destination["verified_at"] is None
        for path, state, reason in (
            ("/refuses", "dead_lettered", "challenge_not_echoed"),
            ("/agrees", "succeeded", None),
        ):
            asked = client.verify_destination(destination["id"], url + path)["id"]
            assert eventually(lambda known=asked: bool(client.run(known)["ended_at"]), BOUND_SECONDS)
            run = client.run(asked)
            assert (run["state"], run["reason"], run["verifies"]) == (state, reason, destination["id"])
            (shown,) = client.destinations().items
            assert (shown["verified_at"] is None) is (state != "succeeded")
