"""Turn-level credit in a tool episode: each turn is paid by itself and held against the other tries' turns at the same time."""

from __future__ import annotations

from codes import codes

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.credit.returns import reward_to_go
from guerdon.credit.turns import turn_baseline
from guerdon.curricula.plain import uniform
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.rewards.stage.placing import paid


@gd.part
class lookup:
    """The policy names a drawer, the tool says what lies in it, the policy answers. Each turn is paid for itself."""

    roles = ("policy",)

    async def play(self, ask, seats):
        wanted = int(ask.task.id)
        asked = await seats["policy"].act(ask.shown)
        seats.reward(policy=0.5 if int(asked.text) == wanted else 0.0)
        found = ask.task.answer if int(asked.text) == wanted else "?"
        said = await seats["policy"].act(f"drawer: {found}")
        seats.reward(policy=float(said.text == ask.task.answer))
        return seats.episode(asked=asked.text)


@gd.recipe("tools", family="agents")
def tools(lr: float = 0.2, steps: int = 40):
    """Returns from each turn on, less what the other tries still had to come."""
    task = codes(letters=4, length=1)
    learn = gd.Learn("policy", clipped(mean="step"), opt=adam(lr=lr))
    stages = [paid(), reward_to_go("reward_turns", gamma=0.9, per="turn"), turn_baseline(), learn]
    model = tabular("0123", length=1)
    return gd.Recipe({"policy": model}, uniform(task, tries=8), lookup(), stages, prompts=4, steps=steps)
