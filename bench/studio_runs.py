"""What a folder of many runs costs the studio: `python -m bench.studio_runs --runs 1000`.

One run of 60 steps on a table is trained and copied. Told are the seconds of the processor until the list is complete, how long
the first answer took, what memory that left behind, and what one more answer takes once all are read.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from fastapi.testclient import TestClient

import guerdon as gd
from bench.data_rows import memory
from guerdon.runs.checksums import KEY, sealed
from guerdon.studio.library import Library
from guerdon.studio.studio_app import make_app


def copies(folder: Path, count: int) -> None:
    run = gd.train(
        "grpo", task="successor", model="tabular", steps=60, lr=0.3, out=str(folder / "run-0"), progress=False
    )
    config, events = json.loads(run.folder.config_file.read_text()), run.folder.events.read_bytes()
    for n in range(1, count):
        other = folder / f"run-{n}"
        other.mkdir()
        said = {**{k: v for k, v in config.items() if k != KEY}, "seed": n, "id": f"{n:032x}"}
        (other / "run.json").write_text(json.dumps(sealed(said)))
        (other / "events.jsonl").write_bytes(events)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    count = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        copies(Path(folder), count)
        client = TestClient(make_app(Library([folder]), token=None), base_url="http://127.0.0.1")
        before, began, clock, first, waiting = memory(), time.process_time(), time.perf_counter(), 0.0, 1
        while waiting:
            waiting = client.get("/api/runs").json()["waiting"]
            first = first or time.perf_counter() - clock
        cold, grown = time.process_time() - began, memory() - before
        began = time.process_time()
        for _ in range(10):
            answer = client.get("/api/runs?search=grpo&sort=headline")
        warm = (time.process_time() - began) / 10
    print(f"{count:,} runs: {cold:.1f} s of the processor to read all, the first answer after {first:.2f} s,")
    print(
        f"{grown / 2**20:.0f} MiB kept; once read, {1000 * warm:.0f} ms an answer of {len(answer.content) / 1000:.0f} kB"
    )


if __name__ == "__main__":
    main()
