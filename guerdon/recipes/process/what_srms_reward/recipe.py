"""What step reward models reward: the equations of a step, or the words around them.

Paper: Ma et al. 2024 (arXiv:2412.15904; no released code was found). Of each problem a tree of steps is grown; a step is worth
the share of right answers that came of it; of siblings the better is preferred. A value head learns these preferences (Bradley
and Terry) from all that was said (`full`), equations, thoughts, or the next equation without problem and history (`step`); then
it chooses among sampled next steps, greedily. All four have the same trees and pairs. Departs: full trees in place of MCTS;
sprig has no thoughts, so each line is told with the plan behind it, worded by a rule from the line's form: never wrong, and
silent about whether the line is right, where the paper's policy words its own.
Leaves out: other base models; the paper's next-thought model, which sees past equations; words for problems that are none.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.curricula.plain import uniform
from guerdon.losses.reward_modelling import bradley_terry
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.process.what_srms_reward.parts import Sees, exams_of, retold_pairs
from guerdon.rewards.stage.score_stages import verified
from guerdon.search.grown_trees import grown


@recipe(
    "what-srms-reward",
    family="process",
    paper="arXiv:2412.15904",
    claim=Claim(
        says="A step reward model that sees equations alone chooses steps as well as one that sees the words too.",
        kind="at least as good",
        baseline="what-srms-reward sees=full",
        ablation="what-srms-reward sees=thoughts",
        task="equation:6-7",
        settings="prompts=16 max_tokens=80 exam_tasks=128",
        metric="steps/choice",
        effect=0.03,
        budget=24,
        unit="steps",
    ),
)
def what_srms_reward(
    task: Any,
    model: Model,
    *,
    sees: Sees = "equations",
    branch: tuple[int, ...] = (2, 2, 2, 4),  # ours: a line is worth what 4 answers or more come to; the paper has MCTS
    ways: int = 4,  # next steps to choose among; the paper has 5
    least: float = 0.5,  # ours: how much more often a preferred step came to a right answer
    lr: float = 3e-4,  # as reward_model
    epochs: int = 2,  # ours: trees cost much and make few pairs
    prompts: int = 16,
    temperature: float = 1.0,
    max_tokens: int = 128,
    exam_tasks: int = 64,
    steps: int = 24,
) -> Recipe:
    """A step reward model of step preferences from trees, shown all, equations, thoughts or a bare step."""
    return Recipe(
        models={"srm": with_head(model), "author": snapshot("srm")},
        curriculum=uniform(task, tries=1),
        env=(tree := grown(branch=branch, tokens=0)),
        seats={"policy": "author"},
        stages=[
            verified(task),
            Learn("srm", bradley_terry(centre=0.01), retold_pairs(sees, least=least), adam(lr=lr), epochs=epochs),
        ],
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        exams=exams_of(task, tree, sees, least, ways, exam_tasks),
        prompts=prompts,
        steps=steps,
    )
