"""TPO: a policy that learns from whole trees of steps, as lists of siblings that are worth more and less.

Paper: Liao, Chu and Wang 2024, Tree Preference Optimization (arXiv:2410.12854), with the released code
(github.com/MrBlankness/TPO, loss.py). Of each problem a tree is grown, line by line; a node is worth the share of right
answers that came of it. The nodes that go on from one place are a list with graded values, and the loss ranks them by the
policy's own log-ratio to where it began, each pair weighed by what swapping it would do to the list (LambdaLoss). The adaptive
step reward weighs a step's margin by how far the two steps' hidden states differ. `learn_from="pairs"` is the paper's baseline
on the same trees: DPO on the best and the worst of each list. The lambda weights are those of LambdaLoss as summaries of the
paper have it; the released loss has none. It weighs a step by 1 + its cosine to that step of the first answer, so more where
answers agree, though the paper's aim is that the telling steps count more: here they do (`adapt=-0.5` is the other way, up to
a factor). One more log-sigmoid, which the released code puts around the loss, is left out.
Leaves out: answers and scores by GPT-4, in place of which the policy's own trees and their leaves stand, so that lists are of
steps behind one trunk and not of whole answers. `tries` says nothing: `branch` says how many there are.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.ranking import list_ranking
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.process.process_claims import STEPS
from guerdon.search.grown_trees import grown
from guerdon.select.sibling_pairs import step_pairs


@recipe(
    "tpo",
    family="process",
    paper="arXiv:2410.12854",
    claim=Claim(
        says="Lists of a tree's steps with graded values teach more than the best and the worst of each list.",
        baseline="tpo learn_from=pairs",
        ablation="tpo adapt=0",
        **STEPS,
    ),
    on=online_dpo,
)
def tpo(
    base: Recipe,
    task: Any,
    *,
    branch: tuple[int, ...] = (4, 2, 2),  # ours: as many tokens a problem as a dozen tries of sprig
    tokens: int = 0,  # a step is a line, as in the paper
    learn_from: Literal["lists", "pairs"] = "lists",
    adapt: float = 1.0,  # ours: the released code has no knob
) -> Recipe:
    """Preference lists from trees of lines, ranked by a lambda-weighted loss; or DPO on the ends of the same lists."""
    *scores, pairs, learner = base.stages
    lists = learn_from == "lists"
    learner.on = step_pairs(pairs.column, least=pairs.least, which="all" if lists else "extremes")
    if lists:
        learner.loss = list_ranking(beta=learner.loss.beta, worth=pairs.column, adapt=adapt)
    base.env, base.curriculum = grown(branch=branch, tokens=tokens), uniform(task, tries=1)
    base.exams[0].env = single_turn()
    base.stages = [*scores, learner]
    return base
