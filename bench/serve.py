"""What `guerdon serve` stands: `python -m bench.serve --clients 64 --seconds 60`. Needs guerdon[serve].

A server in a process of its own scores with a blend of three: a plain function in its process, one in workers, an `async`
one. So many clients keep asking, each over one connection, one request after another. A sample's number is its score, so an
answer that is lost, late or somebody else's is seen. Newcomers ask `/health`, one after another, each over a connection of its
own. `--slow-headers 1000` is the same beside so many callers that never finish asking (`bench/slow_headers.py`). All of them
share the machine with the server.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import guerdon as gd

TOKEN = "bench"
PAUSE = 0.05  # seconds between two newcomers


@gd.reward(isolate=False)
def plain(completion: str) -> float:
    return float(completion)


@gd.reward
def apart(completion: str) -> float:
    return 2 * float(completion)


@gd.reward
async def later(completion: str) -> float:
    return 3 * float(completion)


mixed = gd.blend(plain=plain, apart=apart, later=later)
FACTORS = {"plain": 1, "apart": 2, "mixed": 6}  # what a reward makes of a sample's number


@dataclass
class Tally:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)  # of each request that was answered right
    wrong: int = 0  # answers with somebody else's numbers
    refused: int = 0  # answers other than 200
    lost: int = 0  # requests without an answer
    newcomers: list[float] = field(default_factory=list)  # seconds of each that was answered
    shut_out: int = 0  # newcomers that were not


async def client(number: int, clients: int, url: str, samples: int, factor: int, until: float, tally: Tally) -> None:
    """Ask until the time is up, once at least. No two requests of a run have a number in common."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    turn = 0
    while not turn or time.perf_counter() < until:
        first = (turn * clients + number) * samples
        turn += 1
        asked = range(first, first + samples)
        body = json.dumps({"samples": [{"prompt": "say it", "completion": str(n)} for n in asked]}).encode()
        begun = time.perf_counter()
        try:
            status, answer = await exchange(reader, writer, body)
        except (OSError, asyncio.IncompleteReadError):
            tally.lost += 1
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            continue
        if status != 200:
            tally.refused += 1
        elif [result["value"] for result in answer["results"]] != [factor * n for n in asked]:
            tally.wrong += 1
        else:
            tally.seconds.append(time.perf_counter() - begun)
    writer.close()
    await writer.wait_closed()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> tuple[int, dict]:
    """One request and its answer, over a connection that stays open."""
    head = (
        f"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
    content = await reader.readexactly(int(headers["content-length"]))
    return int(lines[0].split()[1]), json.loads(content)


async def newcomers(url: str, until: float, tally: Tally) -> None:
    """Ask `/health` over a new connection each time."""
    place = urlsplit(url)
    while (begun := time.perf_counter()) < until or len(tally.newcomers) + tally.shut_out < 2:
        try:
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
        except OSError:
            answer = b""
        if answer.startswith(b"HTTP/1.1 200 "):
            tally.newcomers.append(time.perf_counter() - begun)
        else:
            tally.shut_out += 1
        await asyncio.sleep(PAUSE)


async def load(url: str, clients: int, seconds: float, samples: int, factor: int) -> tuple[Tally, float]:
    tally, begun = Tally(), time.perf_counter()
    until = begun + seconds
    asking = [client(n, clients, url, samples, factor, until, tally) for n in range(clients)]
    await asyncio.gather(newcomers(url, until, tally), *asking)
    return tally, time.perf_counter() - begun


@contextlib.contextmanager
def attacked(url: str, connections: int) -> Iterator[list[int]]:
    """Beside so many slow callers, in a process of their own; afterwards the list has how often they were shown out."""
    shown_out: list[int] = []
    if not connections:
        yield shown_out
        return
    command = [sys.executable, "-m", "bench.slow_headers", url, "--connections", str(connections)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as crowd:
        assert crowd.stdin is not None and crowd.stdout is not None
        assert crowd.stdout.readline() == "begun\n"
        try:
            yield shown_out
        finally:
            crowd.stdin.close()
            shown_out.append(int(crowd.stdout.readline()))


def cpu_of(pid: int) -> float:
    """Seconds of processor time a process has had, its workers' left out; NaN where there is no /proc."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return math.nan
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0, help="after at most two to warm up")
    parser.add_argument("--samples", type=int, default=4, help="of each request")
    parser.add_argument("--reward", choices=sorted(FACTORS), default="mixed")
    parser.add_argument("--slow-headers", type=int, default=0, metavar="N", help="callers that never finish asking")
    parser.add_argument("--files", type=int, metavar="N", help="files that the server may have open, like ulimit -n")
    parser.add_argument("--out", help="write the numbers as JSON")
    args = parser.parse_args()
    command = [sys.executable, "-m", "guerdon.cli.main", "serve", f"{__file__}:{args.reward}", "--port", "0", "--json"]
    command += ["--queue", str(max(128, args.clients))]
    environment = {**os.environ, "GUERDON_TOKEN": TOKEN}
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (args.files, args.files))) if args.files else None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=limit) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        factor = FACTORS[args.reward]
        asyncio.run(load(url, args.clients, min(2.0, args.seconds), args.samples, factor))
        with attacked(url, args.slow_headers) as shown_out:
            before = cpu_of(server.pid)
            tally, seconds = asyncio.run(load(url, args.clients, args.seconds, args.samples, factor))
            cpu = cpu_of(server.pid) - before
            server.terminate()
            code = server.wait()
    numbers = tell(args, tally, seconds, cpu, code, sum(shown_out))
    if args.out:
        Path(args.out).write_text(json.dumps(numbers, indent=1) + "\n")
    if tally.wrong or tally.lost or tally.shut_out or code:
        sys.exit(1)


def tell(
    args: argparse.Namespace, tally: Tally, seconds: float, cpu: float, code: int, shown_out: int
) -> dict[str, float]:
    """Print what came of it, and give it as numbers."""
    done = len(tally.seconds)
    cuts, new = statistics.quantiles(tally.seconds, n=100), statistics.quantiles(tally.newcomers, n=100)
    print(f"{args.clients} clients, {seconds:.1f} s, {args.samples} samples a request, reward {args.reward}")
    if args.slow_headers:
        print(f"slow headers   {args.slow_headers} connections, shown out {shown_out} times")
    print(f"answered right {done}, wrong {tally.wrong}, refused {tally.refused}, lost {tally.lost}; exit code {code}")
    print(f"a second       {done / seconds:.0f} requests, {done * args.samples / seconds:.0f} samples")
    print(
        f"a request      p50 {1e3 * cuts[49]:.1f} ms, p99 {1e3 * cuts[98]:.1f} ms, max {1e3 * max(tally.seconds):.1f} ms"
    )
    print(
        f"newcomers      {len(tally.newcomers)} answered, {tally.shut_out} not; p50 {1e3 * new[49]:.1f} ms, "
        f"p99 {1e3 * new[98]:.1f} ms"
    )
    print(f"its cost       {1e3 * cpu / done:.2f} ms of the server's processor time a request")
    return {
        "answered": done,
        "wrong": tally.wrong,
        "refused": tally.refused,
        "lost": tally.lost,
        "newcomers": len(tally.newcomers),
        "shut_out": tally.shut_out,
        "shown_out": shown_out,
        "seconds": seconds,
        "p50_s": cuts[49],
        "p99_s": cuts[98],
        "max_s": max(tally.seconds),
        "newcomers_p50_s": new[49],
        "newcomers_p99_s": new[98],
        "cpu_s": cpu,
    }


if __name__ == "__main__":
    main()
