"""ExPO: on problems that no try solves, the policy explains the answer that it is shown, and learns the explanation as its own.

Paper: Zhou et al. 2025, self-explanation policy optimization (arXiv:2507.02834), read in its abstract. Where every try at a
problem is wrong GRPO has no advantage to follow. Such a problem is then asked with its answer, `explains` times, and what is
said is learned as an answer to the bare question: log pi(explanation | question), weighed by `explained`, beside GRPO's loss
in one update. An expert's solution would be less likely under the policy, and its own wrong try no better. `checked` keeps the
explanations that come to the right answer. The log-prob is that under the bare question, not the one it was sampled with. A
policy that was never shown answers needs a start that was: sprig's is `answer_reader`. Leaves out: ExP-DPO, which takes an
explanation as the chosen answer of a pair.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask
from guerdon.envs.simple import single_turn
from guerdon.losses.imitation import sft
from guerdon.losses.terms import on
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import loss_and_penalties
from guerdon.rewards.stage.score_stages import verified
from guerdon.select.filters import at_least, in_turn
from guerdon.select.other_views import shown_as
from guerdon.select.second_roles import Tried, follow_up
from guerdon.tasks.shown_answers import Show, with_answer

EXPLAINS = "explainer"


@recipe(
    "expo",
    family="policy",
    paper="arXiv:2507.02834",
    on=grpo,
    needs=Needs(answers=True, text=True, one_turn=True),
    helps=("sparse",),
)
def expo(
    base: Recipe,
    task: Any,
    *,
    explained: float = 0.1,  # weight of the explanations' loss (beta); ours
    explains: int = 1,  # explanations of each problem that no try solves; ours
    checked: bool = True,  # learn those alone that come to the answer; ours
    show: Show = "sentence",  # how the answer is shown
) -> Recipe:
    """GRPO, and the policy's own explanations of answers that it could not find."""
    (learner,) = base.stages.learners
    bare = shown_as(question, role=EXPLAINS)
    rows = in_turn([at_least("explained"), bare]) if checked else bare
    learner.loss = learner.loss + on(rows, sft(mean=loss_and_penalties(learner)[0].mean), weight=explained)
    check = verified(task, gives_to="explained", role=EXPLAINS)
    asked = follow_up(single_turn(EXPLAINS), with_answers(show), [check], per="ask", tries=explains, tells=("correct",))
    base.seats[EXPLAINS] = "policy"
    return base.but(after={"centre": asked})


def question(ask: Ask) -> Any:
    """The bare question of a problem, whatever was shown with it."""
    return ask.task.prompt


@part
class with_answers:
    """Shows a problem with its answer, where no try solved it."""

    show: Show = "sentence"

    def __call__(self, tried: list[Tried]) -> Any:
        ask = tried[0].episode.ask
        solved = any(each.columns["correct"] > 0 for each in tried)
        return None if solved else with_answer(ask.shown, ask.task.answer, self.show)
