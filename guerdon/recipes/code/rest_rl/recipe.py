"""ReST-RL: GRPO from starts whose tries differ, and then a value model of lines that a tree search decodes by.

Paper: Zhoubian, Zhang and Tang 2025 (arXiv:2508.19576), with the released code (github.com/THUDM/ReST-RL). `stage="policy"`:
problems are sampled, those whose rewards differ by less than 0.05 are dropped, beginnings of the best tries join as starts, and
GRPO goes on from all of them (experiment/process_gen_data.py). `starts=false` is plain GRPO with the same reward, the share
of tests passed. `stage="decoding"`: a search by UCT over the lines of the policy's programs collects what came of every line; a
value model learns it, and the exam searches by that (algorithms/MCTS/mcts.py). `by="outcome"` is the paper's baseline: a
model of whole programs, and the one that it likes best. `guerdon train rest-rl --out runs/policy`, then the same with `--model
runs/policy --set stage=decoding`.
Ours: starts are sampled anew while the policy learns, where the released code makes one file of them; the whole program is no
start; UCB1 with the released constant; lines are played out from each new line, where the released code plays out the expanded.
Leaves out: rewards of 0.001 and less for closing a code block, and thoughts before lines.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.code.debugging_claims import DECODING, STARTS
from guerdon.recipes.code.rest_rl.parts import promising_starts
from guerdon.recipes.code.rest_rl.value_decoding import taught_values
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.text.programs import tests_passed


@recipe(
    "rest-rl",
    family="code",
    paper="arXiv:2508.19576",
    claim=(
        Claim(
            says="GRPO from problems whose tries differ, and lines of the best of them, solves more than GRPO from all.",
            baseline="rest-rl starts=false",
            ablation="rest-rl share=0",
            **STARTS,
        ),
        Claim(
            says="A search by values of lines solves more than the best of whole programs by an outcome model.",
            baseline="rest-rl by=outcome stage=decoding",
            **DECODING,
        ),
    ),
    on=grpo,
)
def rest_rl(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    stage: Literal["policy", "decoding"] = "policy",
    starts: bool = True,
    by: Literal["lines", "outcome"] = "lines",
    sample: int = 5,  # this and what follows: the released defaults
    spread: float = 0.05,
    least: float = 0.9,
    share: float = 0.5,
    decay: float = 0.95,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo; a value model wants more, as reward_model has it: 3e-4
) -> Recipe:
    """GRPO from promising starts; or a value model of lines, and search by it."""
    if stage == "decoding":
        return taught_values(base, task, model, by, lr)
    paid_by(base, tests_passed(task))
    (credit,), (_, scored) = base.stages.credit, base.stages.scores
    credit.by = "ask"
    if starts:
        base.curriculum = promising_starts(task, scored, tries, sample, spread, least, share, decay)
    return base
