"""One request over HTTP and its answer, of which no more is read than was agreed, whatever the other side sends.

The caller sets the time: `async with asyncio.timeout(seconds)` around it is the limit of all of it, from the name's look-up to
the last byte. Left out: redirects (they could take a token to another host), compression (it hides how much comes),
connections that are used again, proxies.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult

HEAD = 64 << 10  # bytes of an answer's first line and headers
BEFORE = 8  # answers like `100 Continue` that may come before the real one
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?")
NO_BODY = (204, 304)
FRAMING = ("content-length", "transfer-encoding", "content-encoding")  # what may not be said twice


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in small letters
    content: bytes


class BadReply(Exception):
    """What came is no answer: in one line."""


async def post(place: SplitResult, path: str, headers: Mapping[str, str], body: bytes, most: int) -> Reply:
    """Ask, and read at most so many bytes of answer. OSError: nobody is there, or they went away; else BadReply."""
    secure = ssl.create_default_context() if place.scheme == "https" else None
    port = place.port or (443 if secure else 80)
    host = f"[{place.hostname}]" if ":" in str(place.hostname) else str(place.hostname)
    told = {"Host": f"{host}:{port}", "Connection": "close", "Accept-Encoding": "identity"}
    told |= {"Content-Length": str(len(body)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    reader, writer = await asyncio.open_connection(place.hostname, port, ssl=secure, limit=HEAD)
    try:
        writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        await writer.drain()
        return await _reply(reader, most)
    except asyncio.IncompleteReadError:
        raise ConnectionError("the connection was closed in the middle of an answer") from None
    except asyncio.LimitOverrunError:
        raise BadReply(f"a line or the headers are longer than {HEAD:,} bytes") from None
    finally:
        writer.transport.abort()  # nothing more is wanted, and nobody is waited for


async def _reply(reader: asyncio.StreamReader, most: int) -> Reply:
    for _ in range(BEFORE):
        status, headers = await _head(reader)
        if status >= 200:
            return Reply(status, headers, b"" if status in NO_BODY else await _content(reader, headers, most))
    raise BadReply(f"status {status} again and again, and no answer")


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
    found = STATUS.fullmatch(lines[0])
    if found is None:
        raise BadReply("this is no HTTP")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        if headers.setdefault(name.lower(), value.strip()) != value.strip() and name.lower() in FRAMING:
            raise BadReply(f"it says {name} twice, differently")
    return int(found[1]), headers


async def _content(reader: asyncio.StreamReader, headers: Mapping[str, str], most: int) -> bytes:
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise BadReply(f"it is compressed ({headers['content-encoding'][:20]}), which was not asked for")
    if coding := headers.get("transfer-encoding"):
        if coding.lower() != "chunked":
            raise BadReply(f"it comes as {coding[:20]}, which was not asked for")
        return await _chunks(reader, most)
    length = headers.get("content-length")
    if length is None:
        return await _until_closed(reader, most)
    if not re.fullmatch("[0-9]{1,18}", length):
        raise BadReply(f"its length is {length[:20]!r}")
    if int(length) > most:
        raise BadReply(_too_large(most))
    return await reader.readexactly(int(length))


async def _chunks(reader: asyncio.StreamReader, most: int) -> bytes:
    found = bytearray()
    while True:
        line = await reader.readuntil(b"\r\n")
        size = re.fullmatch(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n", line)
        if size is None:
            raise BadReply("a chunk has no size")
        if not int(size[1], 16):
            return bytes(found)  # whatever trails the last chunk is not wanted
        if len(found) + int(size[1], 16) > most:
            raise BadReply(_too_large(most))
        found += await reader.readexactly(int(size[1], 16))
        if await reader.readexactly(2) != b"\r\n":
            raise BadReply("a chunk is not as long as it says")


async def _until_closed(reader: asyncio.StreamReader, most: int) -> bytes:
    found = bytearray()
    while more := await reader.read(HEAD):
        found += more
        if len(found) > most:
            raise BadReply(_too_large(most))
    return bytes(found)


def _too_large(most: int) -> str:
    return f"it is larger than {most:,} bytes, which is more than any scores are"
