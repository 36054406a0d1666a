"""SPO: advantages for segments of an answer, from what the policy comes to when it goes on from where they begin and end.

Paper: Guo et al. 2025, Segment Policy Optimization (arXiv:2505.23564), with the released code
(github.com/AIFrameResearch/SPO). `form="tree"`: an answer is grown as a tree, `branch` ways on from every place, segments of
`tokens` tokens and the last ones to the end (hybrid_inference_strategy.py); a node is worth the mean of its children, the
advantage of a segment is its node's value less its parent's, without a division, and every segment is a sample of its own,
counted once (tree_episode_generator.py). `form="chain"`: `tries` whole answers, cut after each `cuts` tokens that were
sampled with a probability under `rho`; each cut is worth the mean of `more` tries that go on from it
(math_episode_generator_with_mc_advantages.py). In both the loss is PPO's clip, a mean over tokens, and goes over the unlikely
tokens alone: those under `mask` (ppo_trainer.py).
In the tree form `tries` says nothing: `branch` says how many there are. All of it counts in the budget. The claim's tree takes
about as many tokens a problem as GRPO's eight tries, in segments of a third of an answer, as the released ones are.
Leaves out: whitening advantages over the batch, and a buffer of segments from earlier steps.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.restart_values import restarts
from guerdon.credit.tree import prefix_gain
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.step_exams import step_exams
from guerdon.recipes.process.process_claims import STEPS
from guerdon.search.grown_trees import sampled_tree
from guerdon.select.filters import unlikely


@recipe(
    "spo",
    family="process",
    paper="arXiv:2505.23564",
    claim=Claim(
        says="A tree of segments, each credited by what came of it, solves more than whole tries of as many tokens.",
        method="branch=[4,2,2] tokens=16",
        ablation="spo branch=[4,2,2] tokens=16 mask=1",
        **STEPS,
    ),
    on=grpo,
    needs=Needs(one_turn=True),
    helps=("sparse",),
)
def spo(
    base: Recipe,
    task: Any,
    *,
    form: Literal["tree", "chain"] = "tree",  # the paper has the chain for short answers and the tree for long ones
    branch: tuple[int, ...] = (6, 6, 6),  # the released configuration
    tokens: int = 30,  # the released configuration for short answers; 0: a segment is a line
    cuts: int = 5,  # the released code's cutpoint_interval
    rho: float = 0.9,  # the released code
    more: int = 9,  # the released configuration of the chain
    mask: float = 0.9,  # the released code; 1: every token is learned from
) -> Recipe:
    """PPO's clip with Monte Carlo advantages for segments, on the tokens that were a choice."""
    (credit,), (learner,), (*_, score) = base.stages.credit, base.stages.learners, base.stages.scores
    for term in getattr(learner.loss, "terms", [learner.loss]):  # with `kl` they are two
        term.mean = "step"
    learner.on = unlikely(mask) if mask < 1 else None
    base.exams += step_exams(task)
    if form == "chain":
        return base.but(replace={"centre": restarts(score, tries=more, every=cuts, below=rho)})
    base.env, base.curriculum = sampled_tree(branch=branch, tokens=tokens), uniform(task, tries=1)
    base.exams[0].env = single_turn()
    return base.but(replace={"centre": prefix_gain(credit.reward, mean="child", once=True)})
