"""A stand-in for DynamoDB and SQS that answers at once, in AWS's wire format, from a process of its own.

It knows no state but how many pages of due entries it has still to give: it is there so that a benchmark's processor
time is the client's alone. `python -m bench.aws_stub PAGES ENTRIES` prints its port and serves until its input ends.
"""

import asyncio
import json
import os
import sys

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.due_items import due_entry
from carillon.domain.identity import ulid

NOW_MS = 1_790_000_000_000
SCHEDULE = "cron|shift|first|||Europe/Berlin|*/5 * * * *"


def due_item(number: int) -> dict[str, dict[str, str]]:
    """A job as the due index shows it."""
    job_id = "job_" + ulid(NOW_MS, number.to_bytes(10, "big"))
    due_ms = str(NOW_MS - NOW_MS % 300_000)
    item = {
        k.PK: {"S": k.job_pk(job_id)},
        k.SK: {"S": k.JOB_SK},
        k.KIND: {"S": k.JOB_KIND},
        k.TENANT: {"S": f"tenant-{number % 50}"},
        k.SHARD: {"N": "0"},
        k.STATE: {"S": "scheduled"},
        k.NEXT_FIRE_TIME: {"N": due_ms},
        k.SCHEDULED_FOR: {"N": due_ms},
        k.VERSION: {"N": "7"},
        k.GENERATION: {"N": "1"},
        k.LANE: {"S": "short"},
        k.PRIORITY: {"S": "normal"},
        k.SCHEDULE: {"S": SCHEDULE},
        k.RULES: {"S": "fire_once:86400000:100::0"},
        k.PLANNED: {"N": "6"},
    }
    assert type(due_entry(item)).__name__ == "DueJob", "the stub's items are what the adapter reads"
    return item


class Stub:
    """The answers."""

    def __init__(self, pages: int, entries: int) -> None:
        first = range(pages)
        made = [[due_item(page * entries + number) for number in range(entries)] for page in first]
        self._pages = [
            json.dumps({"Items": items, **self._more(page, pages)}).encode() for page, items in enumerate(made)
        ]

    @staticmethod
    def _more(page: int, pages: int) -> dict[str, object]:
        return {"LastEvaluatedKey": {k.PK: {"S": str(page)}}} if page + 1 < pages else {}

    def answer(self, action: str, body: bytes) -> bytes:
        """The answer to a request."""
        match action:
            case "Query":
                return self._pages.pop(0) if self._pages else b'{"Items":[]}'
            case "BatchExecuteStatement":
                return b'{"Responses":[' + b",".join([b"{}"] * body.count(b'"Statement"')) + b"]}"
            case "SendMessageBatch":
                ids = [entry["Id"] for entry in json.loads(body)["Entries"]]
                return json.dumps({"Successful": [{"Id": one, "MessageId": one} for one in ids], "Failed": []}).encode()
            case _:
                return b"{}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One kept-alive connection."""
        while head := await _read_head(reader):
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
            lower = {name.lower(): value for name, value in fields.items()}
            body = await reader.readexactly(int(lower.get("content-length", "0")))
            answer = self.answer(lower.get("x-amz-target", ".").rpartition(".")[2], body)
            top = (
                f"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(answer)}\r\n\r\n"
            )
            writer.write(top.encode() + answer)
            await writer.drain()


async def _read_head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


async def _main(pages: int, entries: int) -> None:
    server = await asyncio.start_server(Stub(pages, entries).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # connections are still open, and nobody waits for them


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2])))
