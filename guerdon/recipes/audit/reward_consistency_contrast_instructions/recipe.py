"""Contrast instructions: does a reward model notice that the instruction is another one, and can that be fixed at no cost?

Paper: Shen et al. 2023, The Trickle-down Impact of Reward (In-)consistency on RLHF (arXiv:2309.16155), and the authors' code
(github.com/shadowkiller33/Contrast-Instruction). Two instructions that look alike have different right answers; a consistent
reward model puts each answer with its instruction. Usual ones do so hardly more often than by chance. ConvexDA adds spellings
of preferred answers that are corners of their convex hull; RewardFusion averages a score with those of the most similar
training examples. Here instructions are a family's problems that differ in one digit. Right solutions are preferred to
near-misses, whose error stands in themselves: who reads the solution alone does well by them, and knows nothing of the
instruction. `contrast` is how often a solution scores higher than the other's, and higher than under the other's instruction;
`standard` the accuracy on held-out pairs; `best_of` what the best of `tries` tries is worth. All arms train equally many steps.
Departs: spellings are spaces around signs, for other slips would change what is said; similarity is by counts of letters.
Leaves out: PPO against each reward model, and comparing with people.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.task import Sampling
from guerdon.exams.drawing import draw_problems
from guerdon.recipes.audit.foretelling import benchmarked, choosing, items_of
from guerdon.recipes.audit.reward_consistency_contrast_instructions.parts import augmented, consistency, contrast, fused
from guerdon.recipes.audit.scorer_pool import gold_pairs, problems_tried, said_of, taught_pairs

NAME = "reward-consistency-contrast-instructions"
ARMS: Any = {"baseline": f"{NAME} mend=none", "task": "equation:6-7", "budget": 40, "unit": "steps"}


@recipe(
    "reward-consistency-contrast-instructions",
    family="audit",
    paper="arXiv:2309.16155",
    claim=(
        Claim(says="Hulls of spellings and fusion make a reward model more consistent.", metric="contrast", **ARMS),
        Claim(says="They lose no accuracy on usual pairs.", kind="at least as good", metric="standard", **ARMS),
    ),
    needs=Needs(step_checker=True, text=True, learns_from="pairs for the reward model that it tests"),
    helps=("noisy-judge",),
)
def reward_consistency_contrast_instructions(
    task: Any,
    model: Model,
    *,
    mend: Literal["none", "convex", "fusion", "both"] = "both",
    prompts: int = 32,
    lr: float = 3e-4,  # as reward_model
    problems: int = 512,  # to learn from; half as many held-out ones
    tries: int = 8,
    max_tokens: int = 80,
    steps: int = 40,
) -> Study:
    """Teach a reward model usual pairs, and ask it about instructions that differ in a digit."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        how = Sampling(max_tokens=max_tokens)
        rows = gold_pairs(problems_tried(run, task, model, "train", problems, 0, how), seed)
        taught = augmented(rows, seed) if mend in ("convex", "both") else rows
        say = partial(said_of, taught_pairs(run, taught, model, steps, prompts, lr))
        known = [(row["prompt"], row["chosen"]) for row in rows]
        says = fused(say, known) if mend in ("fusion", "both") else say
        draw, asked = random.Random(seed), draw_problems(task, problems // 2, seed)
        contrasts = [made for each in asked if (made := contrast(task, each, draw)) is not None]
        tried, usual = (problems_tried(run, task, model, "test", problems // 2, n, how) for n in (tries, 0))
        standard = benchmarked(says, {"matched": items_of(usual, 1, seed)["matched"]}, (1,))["matched_1"]
        best = choosing(says, tried, tries)[f"best_of@{tries}"]
        return {**consistency(says, contrasts), "standard": standard, "best_of": best, "contrasts": len(contrasts)}

    return Study(body)
