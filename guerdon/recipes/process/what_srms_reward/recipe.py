"""What step reward models reward: the equations of a step, or the words around them.

Paper: Ma et al. 2024, What Are Step-Level Reward Models Rewarding? (arXiv:2412.15904; no released code was found). Of each
problem a tree of steps is grown; a step is worth the share of right answers that came of it; of siblings whose worth differs
the better is preferred. A value head learns these preferences by the loss of Bradley and Terry, from one of four inputs: all
that was said (`full`), equations alone, thoughts alone, or the next equation without problem and history (`step`); then it
chooses among sampled next steps, greedily. All four have the same trees and the same pairs.
Departs: trees are full ones in place of MCTS, whose values steer what is grown. sprig has no thoughts, so each line is told
with the plan behind it, worded by a rule from the line's form; the model that grows trees says equations alone. The paper's
policy words its own thoughts, which may be wrong; these never are, and say nothing of whether the line is.
Leaves out: other base models, and the paper's next-thought model, which sees past equations. The words fit equations (`--task
equation:6-7`): of other problems they say little.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.losses.reward_modelling import bradley_terry
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.own_tries import taught_on_tries
from guerdon.recipes.process.what_srms_reward.parts import Sees, choosing_exams, retold_pairs
from guerdon.rewards.stage.score_stages import verified
from guerdon.search.grown_trees import sampled_tree


@recipe(
    "what-srms-reward",
    family="process",
    paper="arXiv:2412.15904",
    claim=Claim(
        says="It is equations that step reward models reward: shown them alone they choose steps better than shown the words.",
        baseline="what-srms-reward sees=thoughts",
        ablation="what-srms-reward sees=full",
        task="equation:6-7",
        settings="prompts=32 max_tokens=80",
        metric="steps/choice",
        effect=0.03,
        budget=30,
        unit="steps",
    ),
    needs=Needs(answers=True, text=True, one_turn=True, learns_from="which steps lead to right answers"),
    helps=("unsound-steps",),
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
    prompts: int = 32,
    temperature: float = 1.0,
    max_tokens: int = 128,
    exam_tasks: int = 128,
    steps: int = 30,
) -> Recipe:
    """A step reward model of step preferences from trees, shown all, equations, thoughts or a bare step. Examined on held-out
    pairs of steps, as they are and spoilt, and by the greedy search that it guides."""
    tree, models = sampled_tree(branch=branch, tokens=0), {"srm": with_head(model), "author": snapshot("srm")}
    learn = Learn("srm", bradley_terry(centre=0.01), retold_pairs(sees, least=least), opt=adam(lr=lr), epochs=epochs)
    how = Sampling(temperature=temperature, max_tokens=max_tokens)
    taught = taught_on_tries(task, models, "author", [verified(task), learn], how, prompts, 1, steps)
    taught.env, taught.exams = tree, choosing_exams(task, tree, "srm", sees, least, ways, exam_tasks)
    return taught
