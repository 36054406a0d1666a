"""What the runs of a proof cost a machine: `python -m bench.proof_runs --against CHECKOUT`. 24 runs of `verpo`'s first claim.

Three arms of eight seeds as `guerdon prove` runs them, exams and records too, `--jobs` at a time; no tuning and no verdict.
`--against` runs the same in another checkout of the project, in turns with this one, and prints the ratio of each round. The
seconds are of the whole machine, from the first process to the last. Left out: whether both come to the same numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def run(recipe: str, seeds: int, jobs: int) -> dict[str, Any]:
    """Of the checkout that `guerdon` is imported from: only what both have is used here."""
    from guerdon.prove.arms import arms_of
    from guerdon.prove.jobs import RunJob, at_a_time, run_all
    from guerdon.prove.proving import How
    from guerdon.training.catalog import find_recipe

    claim = find_recipe(recipe).claims[0]
    began = time.perf_counter()
    ended: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        how = How(out=Path(folder) / "out", runs=Path(folder) / "runs")
        arms = arms_of(recipe, claim, how.options(claim))
        todo = [RunJob(arm, s, how.runs / arm.folder(s)) for s in range(1000, 1000 + seeds) for arm in arms.values()]
        run_all(todo, jobs or at_a_time(), lambda job: ended.append(time.perf_counter() - began) or ())  # type: ignore[func-returns-value]
    return {"runs": len(todo), "seconds": time.perf_counter() - began, "ended": ended}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="verpo", help="its first claim")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=0, help="runs at a time; 0: as many as prove takes")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--against", default="", help="another checkout")
    asked = parser.parse_args()
    if not asked.against:
        print(json.dumps(run(asked.recipe, asked.seeds, asked.jobs)))
        return
    here, ratios = str(Path(__file__).resolve().parent.parent), []
    for _ in range(asked.rounds):
        found = {}
        for name, checkout in (("there", asked.against), ("here", here)):
            words = [sys.executable, __file__, "--recipe", asked.recipe]
            words += ["--seeds", str(asked.seeds), "--jobs", str(asked.jobs)]
            path = os.pathsep.join([checkout, *filter(None, [os.environ.get("PYTHONPATH")])])
            known = {**os.environ, "PYTHONPATH": path}
            done = subprocess.run(words, env=known, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True)
            found[name] = json.loads(done.stdout.splitlines()[-1])
            told = found[name]
            print(
                f"{name:6} {told['seconds']:.1f} s for {told['runs']} runs, the first after {told['ended'][0]:.1f} s",
                flush=True,
            )
        ratios.append(found["here"]["seconds"] / found["there"]["seconds"])
    print(f"here over there {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
