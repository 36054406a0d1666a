"""SPIRAL: one policy plays both sides of a zero-sum game, and each side has a running baseline of its own.

Paper: Liu et al. 2025, SPIRAL (arXiv:2506.24119). Role-conditioned advantage estimation: R is the result of a game for role p,
A = R - b_p and b_p <- alpha b_p + (1 - alpha) R, alpha = 0.95, for each game and role. The side that moves first may win more
often, so one baseline for both would push one side up and the other down whatever they do.
Different: b_p is updated after the step, with the mean of its games, so that no game is in its own baseline; two games of a
deal in a step, not one. Left out: the transfer to reasoning that the paper measures.
"""

import dataclasses

import guerdon as gd
from guerdon.recipes.house.grpo import grpo

SIDES = ("first", "second")


@gd.recipe("spiral-example", family="self_play", paper="arXiv:2506.24119", on=grpo)
def spiral(base: gd.Recipe, *, decay: float = 0.95, against: str = "perfect", tries: int = 2) -> gd.Recipe:
    """REINFORCE of one policy in both seats of a game for two; examined `against` a fixed opponent."""
    game = base.exams[0].source
    between, examined = (dataclasses.replace(game, against=other) for other in ("", against))
    baseline = gd.credit.role_baseline("correct", decay, by_family=True)
    changes = {"uniform.task": between, "uniform.tries": tries, "verified.task": between, "verified.role": SIDES}
    seats = dict.fromkeys((*SIDES, "policy"), "policy")
    return base.but(
        env=between, exams=[gd.Exam(examined, env=examined)], seats=seats, replace={"centre": baseline}, **changes
    )
