"""A recipe with everything that follows: a game against past selves, a second role that verifies what the first did and is
learned from, what it said paid back, and memories of what was good and of what was lately."""

from __future__ import annotations

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.credit.group_relative import centre
from guerdon.curricula.opponents import against
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped
from guerdon.models.past_selves import pool
from guerdon.models.tables import tabular
from guerdon.rewards.stage.placing import paid
from guerdon.rewards.stage.score_stages import score
from guerdon.select.filters import best
from guerdon.select.memory import remembered
from guerdon.select.second_roles import aggregate_followups, follow_up


@gd.part
class numbers:
    """Six starting numbers."""

    name = "numbers"

    def size(self, split):
        return 6

    def get(self, split, index):
        return gd.Task(str(index), f"start {index}", str(index), family="odd" if index % 2 else "even")

    def check(self, task, completion):
        return float(completion == task.answer)


@gd.part
class higher:
    """Two say a digit after each other; the higher wins, but for 9, which loses."""

    roles = ("first", "second")

    async def play(self, ask, seats):
        one = (await seats["first"].act(ask.shown)).text
        two = (await seats["second"].act(f"{ask.shown} {one}")).text
        worth = [-1 if t == "9" else int(t) for t in (one, two)]
        won = float((worth[0] > worth[1]) - (worth[0] < worth[1]))
        seats.reward(first=won, second=-won)
        return seats.episode()


def foresees(completion, won):
    return float((completion > "4") == (won > 0))


@gd.recipe("roles")
def roles(steps: int = 12):
    """All of it at once."""
    past = pool("policy", keep=2, every=2)
    models = {"policy": tabular(length=1, rows=512), "critic": tabular(length=1, rows=512), **past}
    asks = follow_up(
        single_turn("critic"), "{prompt}: {attempt}", [score(foresees, "reward", "critic")], "first", tells=("won",)
    )
    stages = [
        paid(),
        paid("won"),
        asks,
        aggregate_followups("reward", "foreseen"),
        remembered(keep=9, draw=3, by="reward", which=best("reward", most=2), temperature=0.5),
        centre(by="task"),
        remembered(keep=8, draw=2, by="family", older=3, gives_to="age_of_lately"),
        gd.Learn("policy", clipped() + kl(0.01, to="policy_2"), opt=adam(lr=0.1), updates=2),
        gd.Learn("critic", clipped(), opt=adam(lr=0.1)),
    ]
    draws = against(uniform(numbers(), tries=2), tuple(past), role=("first", "second"))
    seats = {"first": "policy", "second": "policy", "critic": "critic"}
    return gd.Recipe(models, draws, higher(), stages, seats, prompts=5, steps=steps)
