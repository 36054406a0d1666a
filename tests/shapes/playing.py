"""A two-player game with an exam: played against past selves, in either seat, and examined from both against a beginner."""

from __future__ import annotations

from spiral import deals, kuhn, role_baseline

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.curricula.opponents import against as seated
from guerdon.exams.rewards_given import seat_exams
from guerdon.losses.penalties import entropy
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.past_selves import pool
from guerdon.models.tables import tabular
from guerdon.rewards.stage.placing import paid


@gd.recipe("playing", family="self_play")
def playing(lr: float = 0.1, steps: int = 60):
    """Each ask seats the policy against one of its past selves, who are played and not learned from."""
    past = pool("policy", keep=2, every=10)
    models = {"policy": tabular("pb", length=1), **past, "beginner": snapshot("policy")}
    draws = seated(deals(), tuple(past), role=("first", "second"))
    learn = gd.Learn("policy", clipped(mean="step") + entropy(0.05, mean="step"), opt=adam(lr=lr))
    exams, seats = seat_exams("beginner", deals(), kuhn(), tries=128), {"first": "policy", "second": "policy"}
    return gd.Recipe(
        models, draws, kuhn(), [paid(), role_baseline(), learn], seats, exams=exams, prompts=6, steps=steps
    )
