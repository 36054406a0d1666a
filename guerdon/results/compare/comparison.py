"""`gd.compare`: runs compared, as one object that prints itself, is a dict, or a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.core.errors import unknown
from guerdon.display.run.curve_titles import drawn_names
from guerdon.display.run.metric_curves import Curve
from guerdon.results.compare.as_page import comparison_page
from guerdon.results.compare.as_text import comparison_text
from guerdon.results.compare.compared import ComparedRuns
from guerdon.results.compare.differences import AFTER, BEFORE, ArmRate, difference, rate_of
from guerdon.results.compare.prompts import shown_prompt
from guerdon.results.compare.run_arms import (
    RunArm,
    RunRead,
    common,
    evaluation_curve,
    exam_numbers,
    mean_curve,
    read_arms,
)
from guerdon.results.compare.settings import differing
from guerdon.runs.headline import headline_key
from guerdon.runs.run import Run

ONE_SEED = "one seed in an arm: the interval leaves out the spread between seeds"


@dataclass(frozen=True)
class RunComparison(ComparedRuns):
    """Compared runs. `print` it, or ask for `to_dict()` or `html()`."""

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = 80) -> str:
        """As lines of so many columns."""
        return comparison_text(self, width)

    def html(self) -> str:
        """A page in one file that loads nothing."""
        return comparison_page(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `guerdon compare --json` prints it."""
        return {
            "arms": [
                {
                    "arm": arm.letter,
                    "runs": [_run(run) for run in arm.runs],
                    "seeds": arm.seeds,
                    "before": _rate(self.rates[arm.letter][0]),
                    "after": _rate(self.rates[arm.letter][1]),
                    "spent": arm.mean_spent(),
                }
                for arm in self.arms
            ],
            "metric": self.metric or None,
            "differences": [{**vars(d), "verdict": d.verdict} for d in self.differences],
            "settings": {s.name: dict(zip(self._letters, s.values, strict=True)) for s in self.settings},
            "curves": {
                name: {arm: {"step": c.steps, "value": c.value} for arm, c in zip(self._letters, each, strict=True)}
                for name, each in self.curves.items()
            },
            "prompt": self.prompt.to_dict(),
            "warnings": self.notes,
        }

    @property
    def _letters(self) -> list[str]:
        return [arm.letter for arm in self.arms]


def _run(run: RunRead) -> dict[str, Any]:
    return {
        "run": run.named,
        "recipe": run.run.name,
        "task": run.task,
        "seed": run.seed,
        "status": run.status,
        "steps_done": run.run.steps_done,
        "hash": run.config["hash"],
        "weights": run.run.weights,
        "spent": run.spent,
        "evaluations": run.run.evaluations,
    }


def _rate(rate: ArmRate | None) -> dict[str, Any] | None:
    return None if rate is None else dict(vars(rate))


def compare(
    *runs: str | Path | Run, metric: str | None = None, prompt: str | None = None, step: int | None = None
) -> RunComparison:
    """Compare runs, from their folders alone: what their exams found with intervals, what was done
    differently, their curves, their cost, and what they said to one prompt.

    Differences are against the first. Runs evaluated on the same problems are compared problem by problem; runs of one recipe
    that differ in the seed alone are one arm, and the interval is over seeds. `metric` is a number of the exams (default:
    accuracy), `prompt` the id of a problem or a part of its text, `step` the step whose rollouts are shown.

    Args:
        runs: folders or runs; the first is the baseline.
        metric: a number of the exams; accuracy by default.
        prompt: id of a problem, or a part of its text, whose answers are shown.
        step: step whose rollouts are shown.

    >>> import tempfile
    >>> import guerdon as gd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     how = {"task": "successor", "model": "tabular", "steps": 2}
    ...     runs = [gd.train("grpo", **how, lr=lr, out=f"{folder}/{lr}") for lr in (0.1, 0.3)]
    ...     compared = gd.compare(*runs)
    >>> [setting.name for setting in compared.settings], [d.at for d in compared.differences]
    (['--set lr'], ['before', 'after'])
    """
    read = read_arms(runs)
    arms, notes = read.arms, read.notes
    chosen = chosen_metric(arms, metric)
    rates = {arm.letter: [rate_of(arm, chosen, at) if chosen else None for at in (BEFORE, AFTER)] for arm in arms}
    differences = [difference(arm, arms[0], chosen, at) for arm in arms[1:] for at in (BEFORE, AFTER)] if chosen else []
    if not chosen:
        notes.append("the runs have no number of an exam in common: nothing is compared but curves, settings and cost")
    notes += _other_lengths(arms, rates)
    if any(d.problems for d in differences):
        notes.append(ONE_SEED)
    asked = shown_prompt(arms, prompt, step)
    notes += [asked.note] if asked.runs and asked.note else []
    return RunComparison(
        arms,
        chosen,
        rates,
        differences,
        differing(arms),
        _curves(arms, chosen),
        asked,
        notes,
    )


def chosen_metric(arms: Sequence[RunArm], wanted: str | None) -> str:
    """What arms are compared by: the headline of the first run that all have, else the first number that all do; empty where
    there is none."""
    there = common([exam_numbers(run) for arm in arms for run in arm.runs])
    if wanted is not None and wanted not in there:
        raise unknown("number of the exams of all runs", wanted, there)
    headlines = [headline_key(run.evaluated[-1].result) for arm in arms for run in arm.runs if run.evaluated]
    return wanted or next((n for n in (*headlines, *there) if n in there), "")


def _other_lengths(arms: Sequence[RunArm], rates: dict[str, list[ArmRate | None]]) -> list[str]:
    """That the last evaluations are not after as many steps."""
    last = {arm.letter: rate.steps_done for arm in arms if (rate := rates[arm.letter][1]) is not None}
    if len(set(last.values())) < 2:
        return []
    return [f"last evaluated after {', '.join(f'{steps:,} steps ({arm})' for arm, steps in last.items())}"]


def _curves(arms: Sequence[RunArm], metric: str) -> dict[str, list[Curve]]:
    """What all arms have: the metric of exams, and what a report draws large."""
    curves: dict[str, list[Curve]] = {}
    if metric:
        own = [[c for run in arm.runs if (c := evaluation_curve(run, metric)) is not None] for arm in arms]
        if all(own) and any(len(c.steps) > 1 for each in own for c in each):
            curves[f"{metric}, held out"] = [mean_curve(each) for each in own]
    drawn = [_drawn(run) for arm in arms for run in arm.runs]
    for name in common(drawn):
        means = [mean_curve([run.curves[name] for run in arm.runs]) for arm in arms]
        values = {v for curve in means for v in curve.value}
        is_noise = all(curve.valued and curve.flat in ("zero", "rounding") for curve in means)
        if all(curve.steps for curve in means) and len(values) > 1 and not is_noise:
            curves[name] = means
    return curves


def _drawn(run: RunRead) -> list[str]:
    """Rewards and lengths before what the updates did."""
    by_tone = drawn_names(run.curves)
    return [name for tone in ("reward", "play", "policy") for name in by_tone[tone] if not name.endswith("/failed")]
