"""G-RA: small rewards for the turns of an episode, counted only where the episode as a whole came to something.

Paper: Sun et al. 2025, gated rewards for long-term multi-turn reinforcement learning (arXiv:2508.10548). An agent that repairs
programs in turns is paid for each turn that is a move, and for what it hands in. Added up directly (D-RA) it learns to make
moves and forgets to hand in. Gated, R = R_long + [R_long >= tau] * sum of the turns: they count where a changed program was
handed in, as in the paper. R_long is `handed_in` for that, and 1 if its hidden tests pass. The exam has the paper's rates:
`completion`, handed in, and `modification`, handed in after a change; pass@1 is its resolution.
No code was found: sizes of rewards are ours, and so is GRPO over whole episodes as the learner.
Leaves out: more than two ranks of rewards, repositories in containers, the paper's scaffold.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.exams.rates import accuracy, answer_length
from guerdon.exams.rewards_given import mean_reward
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.formula.algebra import blend, bonus
from guerdon.rewards.stage.score_stages import checker
from guerdon.rewards.text.task_checks import episode_fact

FARMED = "turn=0.3"  # ten moves, as many as there may be, are paid thrice what a right program is


@recipe(
    "g-ra",
    family="code",
    paper="arXiv:2508.10548",
    claim=Claim(
        says="Rewards of turns that the outcome gates have more episodes handed in than the same added directly.",
        method=FARMED,
        baseline=f"g-ra accumulate=directly {FARMED}",
        metric="completion",
        task="repairs:4",
        model="sprig-2",
        settings="prompts=16 tries=8 lr=1e-4 max_tokens=48 repairs.checker=plain",  # a third of it is tried besides
        budget=150_000,
        exam=250,
    ),
    on=grpo,
    needs=Needs(answers=True),
    helps=("hacking",),
)
def g_ra(
    base: Recipe,
    task: Any,
    *,
    accumulate: Literal["gated", "directly", "nothing"] = "gated",
    tau: float = 0.2,  # the paper's gate: a changed program was handed in
    handed_in: float = 0.2,  # ours
    turn: float = 0.05,  # ours: ten of them are worth less than a right program
) -> Recipe:
    """GRPO on episodes whose turns are paid only where the outcome is."""
    submitted, moves = episode_fact("submitted"), episode_fact("moves")
    modified = submitted * (episode_fact("edits") - episode_fact("idle_edits")).clip(0.0, 1.0)
    long = blend(handed_in=modified.weight(handed_in), solved=checker(task).weight(1.0 - handed_in))
    ways = {"gated": bonus(long, moves, tau, turn), "directly": long + moves.weight(turn), "nothing": long}
    rates = {"completion": submitted, "modification": modified, "moves": moves}
    base.exams[0].metrics = [accuracy(), answer_length(), *(mean_reward(of, name) for name, of in rates.items())]
    return paid_by(base, ways[accumulate])
