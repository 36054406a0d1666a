"""Proofs without training: runs come to what a test says they come to, and everything after that is the rule's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from guerdon.core.recipe import Claim
from guerdon.prove import proving
from guerdon.prove.arms import arms_of, machine
from guerdon.prove.known import Known
from guerdon.prove.proving import OPTIONS, How
from guerdon.prove.trial import Trial, WantedRun

RECIPES = '''
"""Recipes that a test makes claims of."""
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("mine", family="mine", paper="arXiv:0000.00000", on=grpo, claim=CLAIMS)
def mine(base: Recipe, *, lr: float = 0.1, idea: int = 1) -> Recipe:
    """GRPO with an idea."""
    return base.but(**{"learn.epochs": 2 + idea})
'''
USUAL: dict[str, Any] = {
    "says": "the idea is better",
    "baseline": "grpo",
    "ablation": "mine idea=0",
    "task": "parity:1",
    "model": "tabular",
    "settings": "prompts=2 tries=4 lr=0.1 tabular.vocab=01 tabular.length=1",
    "budget": 100,
}
World = Callable[[str, float, int], float | dict[str, Any]]  # what an arm at a factor of its rate comes to with a seed


def claim_of(**changes: Any) -> Claim:
    return Claim(**{**USUAL, **changes})


def write_recipes(path: Path, *claims: Claim) -> str:
    """A file of the recipe `mine` with these claims."""
    path.write_text(RECIPES.replace("CLAIMS", f"({', '.join(map(repr, claims))},)"))
    return str(path)


def trial_of(path: Path, claim: Claim) -> Trial:
    return Trial("mine", claim, arms_of(write_recipes(path, claim), claim, OPTIONS))


def record(run: WantedRun, comes_to: float | dict[str, Any], *, on: str = "", start: float = 0.4) -> dict[str, Any]:
    """A run as it is remembered: `comes_to` is its accuracy, or other numbers of its exams, or changes of the record."""
    numbers = comes_to if isinstance(comes_to, dict) else {"pass@1": comes_to}
    metrics = {"pass@1": 0.5, "length": 8.0, **{k: v for k, v in numbers.items() if k in ("pass@1", "length")}}
    amounts = {"start": 0, "0.5": 50, "late": 90, "last": 100}
    points = []
    for point, tokens in amounts.items():
        value = {**metrics, "pass@1": numbers.get("start", start)} if point == "start" else metrics
        low, high = value["pass@1"] - 0.01, value["pass@1"] + 0.01
        result = {"tasks": 2000, "tries": 1, "point": point, **value, "pass@1_low": low, "pass@1_high": high}
        points.append({"spent": {"tokens": tokens, "read": 2 * tokens, "updates": 3 * tokens}, "result": result})
    return {
        "key": run.key,
        "machine": on or machine(),
        "seed": run.seed,
        "weights": numbers.get("weights", f"{run.arm.what} {run.seed}"),
        "spent": {**points[-1]["spent"], "seconds": 1.5},
        "points": points,
        "asked": {"odd": 10},
        "cut": numbers.get("cut", 0.0),
        **({"failure": numbers["failure"]} if "failure" in numbers else {}),
        "versions": {"guerdon": "0", "torch": "0", "device": "processor"},
        "at_a_time": 1,
        "created": "2026-11-16",
    }


def play(trials: Sequence[Any], known: Known, world: World) -> list[WantedRun]:
    """Give trials what they want until they want nothing; which runs that was, in their order."""
    made: list[WantedRun] = []
    while wanted := list({run.key: run for trial in trials for run in trial.wanted(known)}.values()):
        for run in wanted:
            known.add(record(run, world(run.arm.what, factor_of(run), run.seed)))
        made += wanted
        assert len(made) < 2000, "a trial that never ends"
    return made


def factor_of(run: WantedRun) -> float:
    """How many times its default the learning rate of a run is: all defaults are 0.1 here."""
    return round((run.arm.rate or 0.1) / 0.1, 3)


def prove_planted(
    monkeypatch: pytest.MonkeyPatch, names: Sequence[str], how: How, world: World
) -> list[dict[str, Any]]:
    """`prove` as it is, but for the runs."""
    monkeypatch.setattr(proving, "run_trials", lambda trials, known, how, progress: play(trials, known, world))
    return proving.prove(names, how, lambda done, total, last: None)
