"""A second student: claims that begin with the shipped model, tried with another one.

A model that was not made for our problems solves next to none of them, and then there is nothing to reinforce. So a student is
taught first, once: worked solutions of the claim's task (`sft`), by a LoRA adapter. All arms begin with what came of that, and
train the adapter on. The rest of a claim is as it is, but for the learning rates, which are those of an adapter, and for what
is counted in tokens, which grows as far as worked solutions are longer in the student's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim, RecipeEntry, Study
from guerdon.models.language_model import lm
from guerdon.prove.arms import RATE, changed
from guerdon.prove.claim_gates import has_solutions, solution_lengths
from guerdon.training.build import find_model, find_task

ADAPTER = "lm.lora=16"
LESSON = "sft steps=300 prompts=64 lr=5e-4"  # what it is taught by, and how long
RATES = 4.0  # an adapter's learning rates, in those of a claim: 2e-4 where all of the shipped model learns by 5e-5
LIMIT = "max_tokens"
COUNTED = ("tokens", "read")  # units of a budget that depend on how a text is cut into tokens
SHIPPED = "sprig"


def name_of(student: str) -> str:
    """What evidence calls a student: as its folder or file, in small letters.

    >>> name_of("models/SmolLM2-135M.gguf"), name_of("models/Gemma-3-270M/")
    ('smollm2-135m', 'gemma-3-270m')
    """
    path = Path(student).absolute()
    return (path.stem if path.suffix == ".gguf" else path.name).lower()


def given(claim: Claim, entry: RecipeEntry, student: str, *, same_budget: bool = False) -> Claim:
    """The claim with a student in place of the shipped model, taught before all arms begin. With `same_budget` it may spend
    the claim's budget, whatever its tokens."""
    refuse(claim, entry, student)
    times = longer(student, claim.model, claim.task)
    changes: dict[str, Callable[[float], float]] = {
        RATE: lambda rate: RATES * rate,
        LIMIT: lambda most: math.ceil(times * most),
    }
    arms = {name: reworded(getattr(claim, name), changes) for name in ("settings", "method", "baseline", "ablation")}
    limit = [word for word in arms["settings"].split() if word.startswith(f"{LIMIT}=")]
    budget = claim.budget if same_budget or claim.unit not in COUNTED else round(times * claim.budget)
    arms["settings"] = f"{arms['settings']} {ADAPTER}".strip()
    return changed(claim, model=student, start=" ".join([LESSON, *limit, ADAPTER]), budget=budget, **arms)


def refuse(claim: Claim, entry: RecipeEntry, student: str) -> None:
    """Some claims have no place for a student."""
    if not claim.task or not claim.model.startswith(SHIPPED):
        why = f"begins with {claim.model}" if claim.model else "brings models of its own"
        raise UserError(f"{entry.name} {why}: a --student takes the place of {SHIPPED}")
    if claim.start:
        raise UserError(f"{entry.name} begins with what {claim.start!r} trained: a --student is taught otherwise")
    if entry.hints().get("return") is Study:
        raise UserError(
            f"{entry.name} is a study, which trains its models itself: a --student is for recipes of one run"
        )
    if not is_ours(student):
        raise UserError(
            f"{student} is no language model of guerdon's own: a --student learns by an adapter, as those can"
        )


@functools.cache
def is_ours(model: str) -> bool:
    """Whether it can have an adapter."""
    return isinstance(find_model(model), lm)


def reworded(words: str, changes: Mapping[str, Callable[[float], float]]) -> str:
    """The words of an arm with the values of some knobs otherwise.

    >>> reworded("grpo lr=5e-05 tries=8", {"lr": lambda rate: 4 * rate})
    'grpo lr=0.0002 tries=8'
    """
    named = [word.partition("=") for word in words.split()]
    return " ".join(f"{k}={changes[k](float(v)):g}" if k in changes else f"{k}{is_}{v}" for k, is_, v in named)


@functools.cache
def longer(student: str, than: str, task: str) -> float:
    """How many times as long the worked solutions of a task are in a student's tokens as in another's; 1 where they are
    shorter, or where there are none."""
    source = find_task(task)
    if source is None or not has_solutions(source):
        return 1.0
    ours, theirs = (sum(map(sum, solution_lengths(find_model(model), source).values())) for model in (student, than))
    return max(1.0, ours / theirs)
