"""What exactness costs on a GPU: `python -m bench.exact --out FILE.json`.

GRPO steps with and without the two things that make a run the same to the last bit every time: ordered sums while learning
(`core/gradient_passes.py`), and products that do not depend on how many rows there are while sampling
(`models/kernels/matmul.py`).
All four in turn, several rounds, each as a ratio of the plain one in its round.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from bench import guerdon_arm
from bench.arm import Job
from bench.configs import CONFIGS, SIZES, Config
from guerdon import models
from guerdon.core import learn
from guerdon.models import ops

WAYS = {"plain": (False, False), "learning": (True, False), "sampling": (False, True), "both": (True, True)}
CASES = {
    "sprig": replace(CONFIGS["gpu-sprig"], dtype="float32", prompts=16),
    **{name: CONFIGS[name] for name in ("gpu-sprig", "gpu-short", "gpu-1b", "gpu-1b-long")},
}


@contextmanager
def way(learning: bool, sampling: bool) -> Iterator[None]:
    with ExitStack() as changed:
        if not learning:
            changed.enter_context(patch.object(learn, "exact", nullcontext))
        if not sampling:
            changed.enter_context(patch.object(ops, "is_steady", lambda x: False))
        yield


def measured(config: Config, folder: str, ways: list[str], rounds: int, steps: int) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name in ways:
            with way(*WAYS[name]):
                report = guerdon_arm.run(Job(config, folder, steps, 2, 4, {}))
            found[name].append({p: median(s[p] for s in report.steps) for p in ("generate", "learn", "total")})
    plain = found["plain"]
    return {
        name: {
            part: {
                "seconds": median(each[part] for each in found[name]),
                "ratios": [each[part] / base[part] for each, base in zip(found[name], plain, strict=True)],
            }
            for part in ("generate", "learn", "total")
        }
        for name in ways
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="plain is always among them")
    asked = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in asked.cases:
            config = CASES[name]
            folder = f"{scratch}/{config.model}"
            if not Path(folder).exists():
                if config.model == "sprig":
                    models.save(models.load("sprig"), Path(folder))
                else:
                    from bench.random_model import write

                    write(folder, SIZES[config.model])
            ways = [way for way in WAYS if way in (*asked.ways, "plain")]
            results[name] = measured(config, folder, ways, asked.rounds, asked.steps)
            Path(asked.out).write_text(json.dumps(results, indent=1))
            for how, parts in results[name].items():
                told = ", ".join(
                    f"{part} {found['seconds']:.4f} s ({min(found['ratios']):.3f} to {max(found['ratios']):.3f})"
                    for part, found in parts.items()
                )
                print(f"{name:10} {how:9} {told}", flush=True)


if __name__ == "__main__":
    main()
