"""Targets for measurements, over TLS, in a process of their own: a good one, and some that misbehave.

`python -m bench.target_stub FILE` writes the certificate of its authority to FILE, prints its port and serves until its
input ends. The path says which target it is.
"""

import asyncio
import gzip
import logging
import os
import ssl
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import trustme

LOCALHOST: Final = "localhost"
NAME: Final = "target.localhost"
"""The two names of the target: one that every system resolves, and one of the form that targets have."""
FLOOD_BYTES: Final = 100_000_000
GOOD_PATH: Final = "/good"
_OK: Final = b"HTTP/1.1 200 OK\r\n"
_PIECE: Final = b"a" * 64_000
_BOMB: Final = gzip.compress(bytes(FLOOD_BYTES))


async def good(writer: asyncio.StreamWriter) -> None:
    """Answer."""
    writer.write(_OK + b"Content-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


async def large_body(writer: asyncio.StreamWriter) -> None:
    """100 MB of body."""
    writer.write(_OK + b"Content-Length: %d\r\n\r\n" % FLOOD_BYTES)
    await _flood(writer, _PIECE)


async def chunks(writer: asyncio.StreamWriter) -> None:
    """100 MB in chunks of one byte."""
    writer.write(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
    await _flood(writer, b"1\r\na\r\n" * 10_000)


async def large_head(writer: asyncio.StreamWriter) -> None:
    """100 MB of headers."""
    writer.write(_OK)
    await _flood(writer, (b"X-A: " + b"a" * 500 + b"\r\n") * 100)


async def one_header(writer: asyncio.StreamWriter) -> None:
    """One header of 100 MB."""
    writer.write(_OK + b"X-A: ")
    await _flood(writer, _PIECE)


async def early_hints(writer: asyncio.StreamWriter) -> None:
    """Interim answers without end."""
    await _flood(writer, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1_000)


async def bomb(writer: asyncio.StreamWriter) -> None:
    """A body of 97 KB that holds 100 MB."""
    writer.write(_OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(_BOMB) + _BOMB)


async def drip(writer: asyncio.StreamWriter) -> None:
    """A header, byte by byte, without end."""
    writer.write(_OK + b"X-A: ")
    while not writer.transport.is_closing():
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(0.05)


HOSTILE: Final[Mapping[str, Callable[[asyncio.StreamWriter], Awaitable[None]]]] = {
    "/large-body": large_body,
    "/chunks": chunks,
    "/large-head": large_head,
    "/one-header": one_header,
    "/early-hints": early_hints,
    "/bomb": bomb,
    "/drip": drip,
}


async def _flood(writer: asyncio.StreamWriter, piece: bytes) -> None:
    for _ in range(FLOOD_BYTES // len(piece)):
        if writer.transport.is_closing():  # a broken connection does not raise here
            return
        writer.write(piece)
        await writer.drain()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection: a request, its answer, the end."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lengths = [line[15:] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
        await reader.readexactly(int(lengths[0] if lengths else 0))
        await HOSTILE.get(head.split(" ")[1], good)(writer)
        await writer.drain()
        writer.close()
    except (OSError, asyncio.IncompleteReadError):
        writer.transport.abort()


def _certified(authority_file: Path) -> ssl.SSLContext:
    authority = trustme.CA()
    authority_file.write_bytes(authority.cert_pem.bytes())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(LOCALHOST, NAME).configure_cert(tls)
    return tls


async def _main(tls: ssl.SSLContext) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # connections are still open, and nobody waits for them


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # clients that hang up are what is wanted
    asyncio.run(_main(_certified(Path(sys.argv[1]))))
