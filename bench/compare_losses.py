"""Twelve ways to learn from scored tries, on the truth and on rewards with planted noise, at equal generated tokens.

Each is tried at four learning rates on the truth, and run at its best one on every reward. Told are accuracy, pass@16, how
many different right answers a problem gets, and the entropy of the last steps.
Leaves out: how runs are made and written down (`phases.py`), the noise (`noisy.py`), rates tuned to a noise, pages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.compare_figures import ROW, TOP, differences, interval
from bench.noisy import CLEAN, NOISES, NoisyArm
from bench.phases import COMPARED, TUNED_BY, TUNING, Label, Labelled, Size
from guerdon.core.recipe import Claim
from guerdon.evidence.figure import svg, text
from guerdon.prove.arms import make_arm
from guerdon.prove.known import Known
from guerdon.prove.records import Record
from guerdon.prove.trial import WantedRun
from guerdon.training.catalog import entries_in

NAME = "losses_under_noise"
FILE = str(Path(__file__).with_name("noisy.py"))
LOSSES = (
    "grpo", "dr_grpo", "dapo", "rloo", "remax", "reinforce_pp", "nft", "dmpo", "copo", "poise", "rft", "by_sign",
)  # fmt: skip
TASK, MODEL = "countdown:3-5", "sprig-2"  # many right answers a problem; sprig-2 solves from most to a fifth of them
ENTROPY = "policy/entropy"
SERIES = (ENTROPY,)
NUMBERS = {  # of an exam, and how they are shown
    "pass@1": "{:.1f} %",
    "pass@16": "{:.1f} %",
    "distinct_right": "{:.2f}",
}
FULL = Size(
    240_000, "tokens", prompts=16, tries=8, every=0, between=64, whole=64, seeds=4, rates=(1e-5, 3e-5, 1e-4, 3e-4),
    exam_tries=16,
)  # fmt: skip
PILOT = Size(200, "tokens", prompts=2, tries=2, every=0, between=1, whole=1, seeds=1, rates=(3e-5,), exam_tries=16)


@dataclass(frozen=True)
class LossArms(Labelled):
    """A loss on every reward, at the rate that is best for it on the truth."""

    loss: str = "grpo"
    size: Size = FULL
    arms: dict[tuple[str, float], NoisyArm] = field(default_factory=dict, compare=False)

    def arm(self, noise: str, rate: float) -> NoisyArm:
        if (noise, rate) not in self.arms:
            settings = self.size.settings(rate, 64)
            claim = Claim(NAME, task=TASK, model=MODEL, settings=settings, budget=self.size.length, unit=self.size.unit)
            made = replace(
                make_arm(self.loss, claim, self.size.options, FILE, _entries()), what=f"{self.loss}, {noise}"
            )
            self.arms[noise, rate] = NoisyArm(**vars_of(made), noise=noise)
        return self.arms[noise, rate]

    def run(self, phase: str, noise: str, rate: float, seed: int) -> tuple[WantedRun, Label]:
        label = {
            "comparison": NAME, "phase": phase, "loss": self.loss, "noise": noise, "rate": rate, "seed": seed,
            "tokens": self.size.length,
        }  # fmt: skip
        return WantedRun(self.arm(noise, rate), seed), label

    def wanted(self, known: Known) -> list[WantedRun]:
        tuning = [self.run(TUNING, CLEAN, rate, TUNED_BY) for rate in self.size.rates]
        missing = self.missing(tuning, known)
        if missing:
            return missing
        records = [known.get(run.key) for run, _ in tuning]
        rate = best_rate([record for record in records if record is not None])
        runs = [self.run(COMPARED, noise, rate, seed) for seed in range(self.size.seeds) for noise in NOISES]
        return self.missing(runs, known)


def vars_of(arm: Any) -> dict[str, Any]:
    """The fields of an arm, without what it has computed."""
    return {name: getattr(arm, name) for name in ("request", "budget", "options", "starts", "judge", "measure", "what")}


@cache
def _entries() -> Any:
    return entries_in(FILE)


def parts(pilot: bool) -> list[LossArms]:
    return [LossArms({}, loss, PILOT if pilot else FULL) for loss in LOSSES]


def best_rate(records: Sequence[Record]) -> float:
    """Where a loss ends highest on the truth; of equals the lower rate. One that was stopped counts only where all were."""
    ended = {r["rate"]: _last(r, "pass@1") for r in records if "stopped" not in r} or {r["rate"]: 0.0 for r in records}
    return float(max(ended, key=lambda rate: (ended[rate], -rate)))


# --- telling ------------------------------------------------------------------------------------------------------


def measured(record: Record) -> dict[str, Any]:
    """What a run came to; of one that was stopped the reason alone."""
    if "stopped" in record:
        return {"seed": record["seed"], "stopped": record["stopped"]}
    series = record["series"].get(ENTROPY, [])
    late = series[-math.ceil(len(series) / 5) :] if series else []
    start = {f"start {name}": record["points"][0]["result"][name] for name in NUMBERS}
    numbers = {name: _last(record, name) for name in NUMBERS}
    return {"seed": record["seed"], **start, **numbers, "entropy": fmean(late) if late else None}


def _last(record: Record, name: str) -> float:
    return float(record["points"][-1]["result"][name])


def tell(records: Sequence[Record]) -> dict[str, Any]:
    """All that is known, of the longest runs that are there, by noise and loss."""
    mine = [r for r in records if r["comparison"] == NAME]
    tokens = max((r["tokens"] for r in mine), default=0)
    mine = [r for r in mine if r["tokens"] == tokens]
    runs = sorted((r for r in mine if r["phase"] == COMPARED), key=lambda r: int(r["seed"]))
    noises: dict[str, Any] = {}
    for noise in NOISES:
        found = {loss: [measured(r) for r in runs if (r["noise"], r["loss"]) == (noise, loss)] for loss in LOSSES}
        noises[noise] = {loss: each for loss, each in found.items() if each}
    rates = {r["loss"]: r["rate"] for r in runs}
    machines = sorted({r["versions"]["device"] for r in runs if "stopped" not in r})
    facts = {"comparison": NAME, "task": TASK, "model": MODEL, "tokens": tokens, "device": ", ".join(machines)}
    return {**facts, "runs": len(mine), "rates": rates, "noises": {n: each for n, each in noises.items() if each}}


def table(told: Mapping[str, Any]) -> str:
    """As Markdown, a table for each reward."""
    lines = []
    for noise, losses in told["noises"].items():
        lines += [f"**{noise}**", "", f"| loss | rate | {' | '.join(NUMBERS)} | entropy |", "| --- |" + " ---: |" * 5]
        for loss, runs in losses.items():
            lines.append(f"| `{loss}` | {told['rates'][loss]:g} | {' | '.join(_cells(runs))} |")
        starts = [run for runs in losses.values() for run in runs if "stopped" not in run]
        if starts:
            shown = ", ".join(f"{name} {_shown(name, [run[f'start {name}'] for run in starts])}" for name in NUMBERS)
            lines.append(f"\nBefore training: {shown}.")
        lines.append("")
    return "\n".join(lines).rstrip("\n")


def _cells(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    ran = [run for run in runs if "stopped" not in run]
    if not ran:
        return ["*stopped*", "", "", ""]
    first = [100 * run["pass@1"] for run in ran]
    mean, low, high = interval(first)
    entropies = [run["entropy"] for run in ran if run["entropy"] is not None]
    return [
        f"{mean:.1f} ({low:.1f} to {high:.1f}){f', {len(runs) - len(ran)} *stopped*' if len(ran) < len(runs) else ''}",
        *(_shown(name, [run[name] for run in ran]) for name in list(NUMBERS)[1:]),
        f"{fmean(entropies):.3f}" if entropies else "",
    ]


def _shown(name: str, values: Sequence[float]) -> str:
    form = NUMBERS[name]
    return form.format(fmean(values) * (100 if "%" in form else 1))


def draw(told: Mapping[str, Any]) -> str:
    """On each reward, by how many points every loss ends above its start."""
    drawn, left, rows = [], 130.0, 0
    for noise, losses in told["noises"].items():
        gaps = {
            loss: [100 * (run["pass@1"] - run["start pass@1"]) for run in runs if "stopped" not in run]
            for loss, runs in losses.items()
        }
        gaps = {loss: each for loss, each in gaps.items() if each}
        rows = max(rows, len(gaps))
        drawn.append(text(f"{noise}: points gained", left, 16, weight="600"))
        drawn += differences(gaps, left, left + 160.0)
        left += 330.0
    return svg(drawn, left - 110.0, TOP + ROW * rows + 26)
