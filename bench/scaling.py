"""How a GRPO step grows: with the number of rollouts, and with their length. 135 M Llama shape in bfloat16, on a GPU.

`python -m bench.scaling --out FILE.json` measures; `python -m bench.scaling --plot FILE.json --to FILE.svg` fits
seconds = a + b * tokens + c * bytes of keys and values read, all three at least 0, and draws both. A point far above its
fit is a cliff. Left out: the split of a step into its parts (`grpo_step.py`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.arm import Job
from bench.configs import Config
from bench.work import ITEM_BYTES, Shape

PROMPT, TRIES = 64, 8
ROLLOUTS = (64, 128, 256, 512, 1024, 2048, 4096)
LENGTHS = (128, 256, 512, 1024, 2048, 4096)
BY_ROLLOUTS, BY_LENGTH = 128, 64  # the length, and the rollouts, that stay
STEPS, WARMUP = 2, 1


def points() -> list[Config]:
    shapes = [(rollouts, BY_ROLLOUTS) for rollouts in ROLLOUTS] + [(BY_LENGTH, length) for length in LENGTHS[1:]]
    return [Config("llama-135m", "cuda", "bfloat16", rollouts // TRIES, TRIES, PROMPT, new) for rollouts, new in shapes]


def kv_bytes(shape: Shape, config: Config) -> float:
    """Bytes of keys and values that decoding reads: of every row, at every token, all that came before."""
    token = 2 * shape.layers * shape.kv_heads * shape.head_dim * ITEM_BYTES[config.dtype]
    return config.rollouts * token * config.new_tokens * (PROMPT + config.new_tokens / 2)


def run_all(out: str) -> None:
    from bench.guerdon_arm import run

    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "bench.random_model", folder], check=True, capture_output=True)
        shape = Shape.of(Path(folder))
        for config in points():
            report = run(Job(config, folder, STEPS, WARMUP, 4, {}))
            seconds = [step["total"] for step in report.steps]
            parts = {part: median(step[part] for step in report.steps) for part in ("generate", "score", "learn")}
            found.append(
                {
                    "config": asdict(config), "tokens": config.tokens, "kv_bytes": kv_bytes(shape, config),
                    "seconds": seconds, **parts, "peak_bytes": report.peak_bytes,
                }
            )  # fmt: skip
            print(json.dumps(found[-1]), flush=True)
            Path(out).write_text(json.dumps(found, indent=1) + "\n")


def fit(found: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The three numbers, by least squares of the relative error, and the fitted seconds of each point."""
    from scipy.optimize import nnls

    seconds = np.array([median(point["seconds"]) for point in found])
    parts = np.array([[1.0, point["tokens"], point["kv_bytes"]] for point in found])
    weights, _ = nnls(parts / seconds[:, None], np.ones(len(found)))
    return weights, parts @ weights


def plot(source: str, to: str) -> None:
    """Each curve by itself: with the rollouts fixed, a token costs what a decode step of so many rows costs."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    found = json.loads(Path(source).read_text())
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    sets = (
        ("rollouts", [p for p in found if p["config"]["new_tokens"] == BY_ROLLOUTS], f"{BY_ROLLOUTS} tokens each"),
        ("tokens of a rollout", [p for p in found if _rollouts(p) == BY_LENGTH], f"{BY_LENGTH} rollouts"),
    )
    for axis, (label, some, title) in zip(axes, sets, strict=True):
        x = [_rollouts(p) if label == "rollouts" else p["config"]["new_tokens"] for p in some]
        seconds = [median(p["seconds"]) for p in some]
        (a, b, c), fitted = fit(some)
        print(f"{title}: {a:.3f} s + {b * 1e6:.2f} s per million tokens + {c * 1e12:.3f} s per TB of keys and values")
        for at, measured, expected in zip(x, seconds, fitted, strict=True):
            print(f"  {at:5} {label}: {measured:7.3f} s, {measured / expected:.2f} of the fit")
        axis.plot(x, fitted, color="0.6", label="a + b tokens + c KV bytes")
        axis.plot(x, seconds, "o", color="#1f6f5c", label="measured")
        axis.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds of a step", title=title)
        axis.set_xticks(x, [str(n) for n in x])
        axis.minorticks_off()
        axis.legend(frameon=False)
    figure.savefig(to, metadata={"Date": None})


def _rollouts(point: dict[str, Any]) -> int:
    return int(point["config"]["prompts"] * point["config"]["tries"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="measure, and write what was found to this JSON file")
    parser.add_argument("--plot", help="a JSON file that was measured before, to be fitted and drawn")
    parser.add_argument("--to", default="scaling.svg")
    asked = parser.parse_args()
    if not asked.out and not asked.plot:
        parser.error("nothing to do: --out FILE.json measures, --plot FILE.json draws")
    if asked.out:
        run_all(asked.out)
    if asked.plot:
        plot(asked.plot, asked.to)


if __name__ == "__main__":
    main()
