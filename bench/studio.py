"""How long one waits for rollouts in `guerdon view`: `python -m bench.studio --rollouts 100000`. Needs guerdon[studio].

A run of so many rollouts is written (`bench/made_up_run.py`), then the real server is started on it and asked as the page asks.
Told are the seconds until the first rows are there and until all files are read, both from the first question on; then for each
search the median and the worst of some rounds, with and without facets, and the server's processor time for both; and its
peak memory.
`--folder` keeps the run, or takes one that is there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.made_up_run import RARE, write_run
from bench.serve import cpu_of

TOKEN = "bench"
QUESTIONS: dict[str, dict[str, str]] = {
    "the first page": {},
    "a rare word": {"text": RARE},
    "a common phrase": {"text": '"seven nine"'},
    "two words and not a third": {"text": "seven nine -wait"},
    "a regular expression": {"text": "re:marm.*ade"},
    "numbers: advantage over 0.3": {"where": "advantage:>0.3"},
    "a kind, cut, reward 0.5 to 1": {"kind": "countdown:2", "end": "cut", "where": "reward:0.5..1"},
    "a reason: the reward failed": {"reason": "reward:failed"},
    "sorted by advantage": {"sort": "-advantage"},
    "a common phrase, sorted by reward": {"text": '"seven nine"', "sort": "reward"},
}


class Server:
    """`guerdon view` in a process of its own."""

    def __init__(self, url: str, pid: int) -> None:
        self.url, self.pid = url, pid

    def ask(self, path: str, **words: str) -> Any:
        asked = urllib.request.Request(
            f"{self.url}/api/rollouts{path}?{urllib.parse.urlencode(words)}",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        try:
            with urllib.request.urlopen(asked) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            sys.exit(f"{words} was refused: {json.load(error)['error']}")

    def memory(self, field: str) -> float:
        """MB: `VmRSS` now, `VmHWM` at its peak."""
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        return float(fields[field].split()[0]) / 1024


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "guerdon.cli.main", "view", str(folder), "--port", "0", "--json"]
    environment = {**os.environ, "GUERDON_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        server = Server(json.loads(process.stdout.readline())["url"], process.pid)
        try:
            while True:
                with contextlib.suppress(urllib.error.URLError):
                    server.ask("/runs")
                    break
                time.sleep(0.05)
            yield server
        finally:
            process.terminate()


def filling(server: Server, run: str) -> dict[str, float]:
    """Ask as a page does while files are read."""
    before, began, first, wait = server.memory("VmRSS"), time.perf_counter(), 0.0, 0.4
    worked = cpu_of(server.pid)
    while True:
        answer = server.ask("", run=run, facets="1")
        first = first or (time.perf_counter() - began if answer["rows"] else 0.0)
        if answer["runs"][0]["indexed"]["done"]:
            break
        time.sleep(wait)
        wait = min(2.0, 1.5 * wait)
    took, work = time.perf_counter() - began, cpu_of(server.pid) - worked
    return {"first_s": first, "all_s": took, "all_cpu_s": work, "rows": answer["all"], "idle_mb": before}


def asking(server: Server, run: str, rounds: int) -> dict[str, dict[str, float]]:
    seconds: dict[str, dict[str, list[float]]] = {name: {"rows": [], "facets": []} for name in QUESTIONS}
    work, totals = dict.fromkeys(QUESTIONS, 0.0), {}
    for _ in range(rounds):
        for name, words in QUESTIONS.items():
            worked = cpu_of(server.pid)
            for what, more in (("rows", {}), ("facets", {"facets": "1"})):
                began = time.perf_counter()
                totals[name] = server.ask("", run=run, **words, **more)["total"]
                seconds[name][what].append(time.perf_counter() - began)
            work[name] += cpu_of(server.pid) - worked
    return {
        name: {
            "total": totals[name],
            "both_cpu_s": work[name] / rounds,
            **{f"{what}_median_s": statistics.median(each) for what, each in taken.items()},
            **{f"{what}_worst_s": max(each) for what, each in taken.items()},
        }
        for name, taken in seconds.items()
    }


def tell(numbers: dict[str, Any]) -> None:
    print(
        f"{numbers['rows']:,} rollouts: the first after {numbers['first_s']:.2f} s, all after {numbers['all_s']:.1f} s"
    )
    print(f"reading them took {numbers['all_cpu_s']:.1f} s of processor time, the questions asked meanwhile among it")
    print(f"memory: {numbers['idle_mb']:.0f} MB before, {numbers['peak_mb']:.0f} MB at its peak")
    print(f"{'':36}{'rows: median, worst':>22}{'with facets':>22}{'cpu of both':>13}{'how many':>12}")
    for name, each in numbers["questions"].items():
        told = [
            f"{1e3 * each[f'{what}_median_s']:.0f}, {1e3 * each[f'{what}_worst_s']:.0f} ms"
            for what in ("rows", "facets")
        ]
        work = f"{1e3 * each['both_cpu_s']:.0f} ms"
        print(f"{name:36}{told[0]:>22}{told[1]:>22}{work:>13}{each['total']:>12,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", type=int, default=100_000)
    parser.add_argument("--a-step", type=int, default=512, help="rollouts in each step's file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where the run is, or is to be")
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch) / "run"
        if not folder.exists():
            began = time.perf_counter()
            write_run(folder, -(-args.rollouts // args.a_step), args.a_step)
            print(f"written in {time.perf_counter() - began:.0f} s")
        with serving(folder) as server:
            run = server.ask("/runs")["runs"][0]["id"]
            numbers = {**filling(server, run), "questions": asking(server, run, args.rounds)}
            numbers["peak_mb"] = server.memory("VmHWM")
    tell(numbers)
    if args.out:
        args.out.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
