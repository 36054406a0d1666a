"""Callers that never finish asking: `python -m bench.slow_headers http://127.0.0.1:8000 --connections 1000`.

Each begins a request, sends another byte of its headers every second or none at all, and comes again a second after it was
shown out. Runs until its input ends; says how often they were shown out.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from urllib.parse import urlsplit

BEGINNING = b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


class Crowd:
    def __init__(self, url: str, connections: int) -> None:
        place = urlsplit(url)
        self.host, self.port, self.connections = place.hostname, place.port, connections
        self.begun = self.shown_out = 0

    async def slow(self, number: int) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(self.host, self.port)
                writer.write(BEGINNING)
                self.begun += 1
                await (self.drip(reader, writer) if number % 2 else reader.read())
                writer.close()
            except OSError:
                pass  # shown out in the middle of a byte
            self.shown_out += 1
            await asyncio.sleep(1.0)

    async def drip(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            writer.write(b"x")
            try:
                await asyncio.wait_for(reader.read(), 1.0)
            except TimeoutError:
                continue

    async def attack(self) -> None:
        loop = asyncio.get_running_loop()
        crowd = [loop.create_task(self.slow(n)) for n in range(self.connections)]
        while self.begun < self.connections:
            await asyncio.sleep(0.01)
        print("begun", flush=True)
        await loop.run_in_executor(None, sys.stdin.read)
        print(self.shown_out, flush=True)
        for one in crowd:
            one.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--connections", type=int, default=1000)
    args = parser.parse_args()
    asyncio.run(Crowd(args.url, args.connections).attack())


if __name__ == "__main__":
    main()
