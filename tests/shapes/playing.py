"""A two-player game with an exam: self-play in both seats, examined from each seat against the player it began as."""

from __future__ import annotations

from spiral import deals, kuhn, role_baseline

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.exams.games import against
from guerdon.losses.penalties import entropy
from guerdon.losses.policy import clipped
from guerdon.models.snapshot import snapshot
from guerdon.models.tabular import tabular
from guerdon.rewards.paid import paid


@gd.part
class dealt(deals):
    """Every deal is played in the exam too."""

    def exam_asks(self, number, tries, play):
        return [ask.but(n=tries) for ask in self.draw(number, play)]


@gd.recipe("playing", family="self_play")
def playing(lr: float = 0.05, steps: int = 150):
    """SPIRAL's self-play, and how it does against a beginner."""
    models = {"policy": tabular("pb", length=1), "beginner": snapshot("policy")}
    learn = gd.Learn("policy", clipped(mean="step") + entropy(0.1, mean="step"), opt=adam(lr=lr))
    seats = {"first": "policy", "second": "policy"}
    exams = against("beginner", dealt(), kuhn(), tries=256)
    return gd.Recipe(
        models, dealt(), kuhn(), [paid(), role_baseline(), learn], seats, exams=exams, prompts=6, steps=steps
    )
