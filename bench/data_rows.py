"""What problems of one's own cost before training begins, and while it goes on: `python -m bench.data_rows --rows 1000000`.

A file of rows (a question of some 200 characters, a number as its answer) is written in each form, then opened in a process of
its own as `guerdon train --data` opens it: every row is read and checked, columns and check are guessed. Told are the seconds
that took, by the clock and of the processor, what the process's resident memory grew by and its peak, and how many tasks are
drawn at random in a second of the processor's.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from guerdon.core.part import fingerprint
from guerdon.tasks.files import rows

DRAWS = 20_000
FORMS = ("jsonl", "csv", "parquet")


def write(path: Path, count: int) -> None:
    draw = random.Random(0)
    made = ({"question": f"{n}: " + "".join(draw.choices("abcdefgh ", k=200)), "answer": n * 3} for n in range(count))
    if path.suffix == ".jsonl":
        with path.open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in made)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["question", "answer"])
            writer.writeheader()
            writer.writerows(made)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(list(made)), path)


def memory(field: str = "RssAnon") -> float:
    """Bytes of memory that are this process's own, without mapped pages of files; or with them at its peak, `VmHWM`."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return float(fields[field].split()[0]) * 1024


def measure(path: str) -> dict[str, float]:
    import guerdon.data.arrow_rows
    import guerdon.data.text_files  # noqa: F401  loaded before memory is looked at

    if path.endswith("parquet"):
        import pyarrow.parquet  # noqa: F401
    before, began, worked = memory(), time.perf_counter(), time.process_time()
    source = rows(path)
    source.open()
    opened, worked = time.perf_counter(), time.process_time() - worked
    fingerprint(source)
    hashed = time.perf_counter()
    grown, began_to_draw = memory() - before, time.process_time()
    size, draw = source.size("train") or 0, random.Random(1)
    for _ in range(DRAWS):
        source.get("train", draw.randrange(size))
    return {
        "rows": size + (source.size("test") or 0),
        "megabytes": Path(path).stat().st_size / 1e6,
        "seconds": opened - began,
        "processor_seconds": worked,
        "hash_seconds": hashed - opened,
        "grown_megabytes": grown / 1e6,
        "peak_megabytes": memory("VmHWM") / 1e6,
        "draws_a_second": DRAWS / (time.process_time() - began_to_draw),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--measure", help="a file to measure in this process, and print as JSON")
    parser.add_argument("--out", help="a file for the numbers")
    said = parser.parse_args()
    if said.measure:
        print(json.dumps(measure(said.measure)))
        return
    numbers = {}
    with tempfile.TemporaryDirectory() as folder:
        for form in said.forms:
            path = Path(folder) / f"rows.{form}"
            write(path, said.rows)
            done = subprocess.run(
                [sys.executable, "-m", "bench.data_rows", "--measure", str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
            numbers[form] = json.loads(done.stdout)
            path.unlink()
            n = numbers[form]
            took = f"opened in {n['seconds']:.1f} s ({n['processor_seconds']:.1f} s of a processor)"
            grown = f"memory grew by {n['grown_megabytes']:.0f} MB (peak {n['peak_megabytes']:.0f} MB)"
            drawn = f"{n['draws_a_second']:,.0f} tasks drawn at random in a second of a processor"
            print(f"{form}: {n['rows']:,} rows, {n['megabytes']:.0f} MB; {took}; {grown}; {drawn}", flush=True)
    if said.out:
        Path(said.out).write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
