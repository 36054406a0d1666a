"""TPO: a policy that learns from whole trees of steps, as lists of siblings that are worth more and less.

Paper: Liao, Chu and Wang 2024, Tree Preference Optimization (arXiv:2410.12854), with the released code
(github.com/MrBlankness/TPO, loss.py). Of each problem a tree is grown, line by line; a node is worth the share of right
answers that came of it. The nodes that go on from one place are a list with graded values, and the loss ranks them by the
policy's own log-ratio to where it began, each pair weighed by what swapping it would do to the list (LambdaLoss). The adaptive
step reward weighs a step's margin by 1 + the cosine of the two steps' hidden states, as released (loss.py, lines 24 and 25):
more where answers agree. The abstract's aim, to bring out the steps that tell answers apart, would be `adapt=-1`; of the paper
the abstract was followed and of the formula the code, for its own equation was not at hand. `learn_from="pairs"` is the paper's
baseline on the same trees: DPO on the best and the worst of each list. The lambda weights are those of LambdaLoss as summaries
of the paper have it; the released loss has none (lines 56 to 65).
Departs: a cosine is of the two steps of a pair, not of each with that step of the first answer (line 22), and weights are not
divided by their sum (line 51): behind one trunk a pair differs in one step, whose weight that would undo. One more log-sigmoid,
which the released code puts around the loss (line 131), is left out.
Leaves out: answers and scores by GPT-4, in place of which the policy's own trees and their leaves stand, so that lists are of
steps behind one trunk and not of whole answers. `tries` says nothing: `branch` says how many there are.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.pair import list_ranking
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.process.process_claims import STEPS
from guerdon.search.grown_trees import sampled_tree
from guerdon.select.pairs import step_pairs


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
    needs=Needs(text=True, one_turn=True),
    helps=("unsound-steps",),
)
def tpo(
    base: Recipe,
    task: Any,
    *,
    branch: tuple[int, ...] = (4, 2, 2),  # ours: as many tokens a problem as a dozen tries of sprig
    tokens: int = 0,  # a step is a line, as in the paper
    learn_from: Literal["lists", "pairs"] = "lists",
    adapt: float = 1.0,  # 1 + cosine, as released
) -> Recipe:
    """Preference lists from trees of lines, ranked by a lambda-weighted loss; or DPO on the ends of the same lists."""
    *scores, pairs, learner = base.stages
    lists = learn_from == "lists"
    learner.on = step_pairs(pairs.column, least=pairs.least, which="all" if lists else "extremes")
    if lists:
        learner.loss = list_ranking(beta=learner.loss.beta, worth=pairs.column, adapt=adapt)
    base.env, base.curriculum = sampled_tree(branch=branch, tokens=tokens), uniform(task, tries=1)
    base.exams[0].env = single_turn()
    base.stages = [*scores, learner]
    return base
