"""Self-verification: one policy answers and then judges its own answer; both roles learn in the same step."""

from __future__ import annotations

from codes import codes

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.select.second_roles import follow_up


def agrees(completion, right):
    """Whether the verdict, y or n, is the truth."""
    return float((completion == "y") == (right > 0.5))


@gd.recipe("verifying", family="self_reward")
def verifying(lr: float = 0.2, steps: int = 30):
    """Both roles in one seat's model; tries are compared by ask, for each verifier answers a question of its own."""
    task = codes(letters=4, length=1)
    verify = follow_up(
        single_turn("verifier"),
        "{prompt}: {attempt}?",
        [score(agrees, gives_to="reward", role="verifier")],
        tries=4,
        tells=("right",),
    )
    learn = gd.Learn("policy", clipped(), opt=adam(lr=lr))
    stages = [verified(task, "right"), verified(task, "reward"), verify, centre(by="ask"), learn]
    model = tabular("0123yn", length=1)
    seats = {"policy": "policy", "verifier": "policy"}
    return gd.Recipe({"policy": model}, uniform(task, tries=8), single_turn(), stages, seats, prompts=4, steps=steps)
