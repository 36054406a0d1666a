"""Holding a method against itself: how often does the machine see a difference where there is none?

The two arms are the same recipe with other seeds, paired at random.
From the pairs, proofs of the usual size are drawn over and over, each pair turned either way round by a coin:
the share of them that end in *holds* or *reversed* is what a verdict is wrong in,
and should be 5 % at most (10 % is the alarm).
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim
from guerdon.loop.proof.arms import changed, make_arm
from guerdon.loop.proof.jobs import RunJob
from guerdon.loop.proof.proving import SEEDS, How, run_jobs, setting
from guerdon.loop.proof.results import result_of
from guerdon.loop.proof.verdict import compare
from guerdon.store import evidence

PAIRS = 40
DRAWS = 4000
APART = 1000  # between the seeds of a pair
ALARM = 0.10
CLAIM = Claim(
    says="a recipe is no better than itself",
    task="countdown:1-6",
    settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    budget=200_000,
)


def prove_null(
    recipe: str, pairs: int, how: How, progress: Callable[[int, int, RunJob | None], None]
) -> dict[str, Any]:
    """Run `pairs` pairs of a recipe with itself; what verdicts they give is written to `null.json`."""
    if pairs < (2 if how.quick else PAIRS):
        raise UserError(f"calibration takes at least {PAIRS} pairs, not {pairs}")
    how = how.from_here()
    claim = changed(CLAIM, **how.changes)
    if how.quick:
        claim = changed(claim, budget=claim.budget / 10)
    arm = make_arm(recipe, claim, how.options)
    seeds = [(s, s + APART) for s in range(claim.first_seed, claim.first_seed + pairs)]
    jobs = {arm.key(s): RunJob(arm, s, how.runs / arm.key(s)) for pair in seeds for s in pair}
    run_jobs(jobs, how, progress)
    scores = [[result_of(how.runs / arm.key(s), s, claim)["score"] for s in pair] for pair in seeds]
    differences = [a - b for a, b in scores]
    result = {
        "format": evidence.FORMAT,
        "recipe": recipe,
        "quick": how.quick,
        "command": how.command("--null", recipe),
        "claim": dataclasses.asdict(claim),
        "scores": scores,
        "differences": differences,
        "proofs_of": SEEDS,
        **calibration(differences, claim.effect),
        **setting(claim.model, jobs.values()),
    }
    evidence.write_null(how.folder, result)
    evidence.write_index(how.folder)
    return result


def calibration(differences: Sequence[float], effect: float, size: int = SEEDS, draws: int = DRAWS) -> dict[str, Any]:
    """How often proofs drawn from these pairs end in which verdict."""
    draw, seen = random.Random(0), Counter[str]()
    size = min(size, len(differences))
    for _ in range(draws):
        picked = [d * draw.choice((1, -1)) for d in draw.sample(list(differences), size)]
        seen[compare(picked, [0.0] * size, effect).verdict] += 1
    shares = {verdict: n / draws for verdict, n in seen.most_common()}
    return {"verdicts": shares, "wrong": shares.get("holds", 0.0) + shares.get("reversed", 0.0), "draws": draws}
