"""A server on loopback that answers as it is told to: bytes as they are, slowly, without end, or not at all."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

Blocks = Iterable[bytes]
HOW_LONG = 20.0  # seconds for which a drip goes on: longer than any client here should listen


@dataclass
class Hostile:
    """What it answers, by the first part of a path; what it was asked, and how many bytes it got rid of."""

    answers: dict[str, Callable[[], Blocks]]
    requests: list[bytes] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    closing: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def serve(self, line: socket.socket) -> None:
        with line, contextlib.suppress(OSError):
            asked = _request(line)
            self.requests.append(asked)
            name = asked.split(b"/", 2)[1].decode()
            self.sent[name] = 0
            for block in self.answers[name]():
                line.sendall(block)
                self.sent[name] += len(block)
                if self.closing.is_set():
                    return


def _request(line: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        found += line.recv(65536) or _gone()
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length"))
    while len(body) < length:
        body += line.recv(65536) or _gone()
    return head + b"\r\n\r\n" + body


def _gone() -> bytes:
    raise ConnectionError


@contextlib.contextmanager
def hostile(answers: dict[str, Callable[[], Blocks]]) -> Iterator[Hostile]:
    made = Hostile(answers)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as door:
        made.url = f"http://127.0.0.1:{door.getsockname()[1]}"
        threads: list[threading.Thread] = []

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    line, _ = door.accept()
                    threads.append(threading.Thread(target=made.serve, args=(line,), daemon=True))
                    threads[-1].start()

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        try:
            yield made
        finally:
            made.closing.set()
            door.shutdown(socket.SHUT_RDWR)
            listener.join()


def whole(content: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def of(value: object) -> bytes:
    """JSON by Python's rules: NaN too."""
    return whole(json.dumps(value).encode())


def drip(beginning: bytes, block: bytes) -> Blocks:
    """A beginning, then the same a few times a second, for as long as anybody listens and a while longer."""
    yield beginning
    for _ in range(int(HOW_LONG / 0.1)):
        time.sleep(0.1)
        yield block


def flood(beginning: bytes, block: bytes) -> Blocks:
    """The same again as fast as it goes, up to 600 MB."""
    yield beginning
    for _ in range(600_000_000 // len(block)):
        yield block
