"""DAPO: GRPO with a wider clip upwards, the mean over steps, only groups that disagree, and care for answers that run on.

Paper: Yu et al. 2025 (arXiv:2503.14476). Clip-higher, `mean="step"`, no KL. Dynamic sampling: more problems are asked in the
same step until `prompts` of them have tries of both kinds, in `rounds` more rounds at most; every try counts in the budget
and stands in the record, only groups with spread are learned from. Overlong answers: "punish" takes up to 1 from the reward
over the last `margin` of the length allowed (the paper's last form), "leave_out" does not learn from answers that were cut
short (its first). With a reward of your own, spread is that of the whole, the punishment included.
Leaves out: rewards of 1 and -1 (here 1 and 0: the punishment weighs twice as much); 16 updates of 8,192 tries (4 of 128).
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.losses.policy import clipped
from guerdon.losses.signs import finished
from guerdon.recipes.house.shared import learn, on_policy, paid, scored, worth
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.text.shape import overlong as punished
from guerdon.select.filters import in_turn, until_enough, with_spread


@recipe(
    "dapo",
    family="house",
    paper="arXiv:2503.14476",
    needs=Needs(answers="reward"),
    helps=("sparse", "long-answers", "uneven-difficulty"),
)
def dapo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    low: float = 0.2,  # the paper's
    high: float = 0.28,  # the paper's
    overlong: Literal["punish", "leave_out", "neither"] = "punish",  # what becomes of answers that are too long
    margin: float = 0.2,  # the last share of the length allowed, in which it costs; the paper's 4,096 of 20,480
    rounds: int = 10,  # of asking for more problems, at most, until enough have right and wrong tries; verl's recipe
    updates: int = 4,
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """GRPO with clip-higher, a mean over steps, dynamic sampling and overlong punishment."""
    keep = with_spread("correct" if reward is None else "reward", by="ask", most=prompts)
    if overlong == "punish":
        late = punished(limit=max_tokens, margin=round(margin * max_tokens))
        reward = blend(score=worth(task, reward), overlong=late)
    stages = scored(task, reward)
    kept = in_turn([keep, *([finished()] if overlong == "leave_out" else [])])
    learner = learn(clipped(low=low, high=high, mean="step"), lr, updates=updates, on=kept)
    composition = on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
    again = until_enough(composition.curriculum, stages, keep, groups=prompts, rounds=rounds)
    composition.stages = [*stages, again, centre(paid(stages), by="ask"), learner]
    return composition
