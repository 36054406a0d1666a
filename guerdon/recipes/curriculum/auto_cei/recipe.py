"""Auto-CEI: expert iteration in which "I do not know" pays, the more the further one came, by a bar that is hill-climbed.

Paper: Zhao et al. 2024, Automatic Curriculum Expert Iteration (arXiv:2410.07627), with the released code
(github.com/SalesforceAIResearch/Auto-CEI). First R-tuning: the model's wrong tries are imitated with a refusal ("= no") for an
answer. Then rounds of expert iteration: tries are worth 1, -1 or, refused after l steps, 2/(1 + exp(-c2 (l - c1))) - 1; groups
are resampled by exp(worth / temperature) and imitated. The bar c1 begins just above the mean length of refusals and goes on
while (1 - weight) precision + weight (1 - refused) gets better on problems apart, else back; a round that is no better is
undone. The size of its moves, c2 and the temperature follow from lengths and precision after R-tuning, as in the code. All arms
have as many rounds: `refusal="constant"` pays 0 for any refusal, `refusal="none"` goes on with R-tuning.
Leaves out: the code's round before the first c1, and its several rounds at each; epochs (tries are new each step); the
wrong steps before a refusal, which R-tuning learns too (imitating them costs sprig what it knew).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.task import Ask
from guerdon.recipes.curriculum.auto_cei.lessons import to_refuse, to_refuse_late
from guerdon.recipes.curriculum.auto_cei.parts import abstention, examined_on, held, or_refused
from guerdon.studies.climb import climb


@recipe(
    "auto-cei",
    family="curriculum",
    paper="arXiv:2410.07627",
    claim=Claim(
        says="A hill-climbed bar for refusals ends with a better balance of precision and refusals than one worth for all.",
        baseline="auto-cei refusal=constant",
        ablation="auto-cei refusal=none",
        task="trace:1-6",
        metric="objective",
        budget=12,  # of R-tuning, and of each of five rounds
        unit="steps",
    ),
    needs=Needs(answers=True, learns_from="right answers and refusals"),
)
def auto_cei(
    task: Any,
    model: Model,
    refusal: Literal["curriculum", "constant", "none"] = "curriculum",
    weight: float = 0.2,  # the released scripts' lambda
    rounds: int = 5,
    steps: int = 12,  # a round's: 5 and R-tuning are some 330,000 tokens of sprig
    lr: float = 5e-5,
) -> Study:
    """Teach a policy to refuse, then to refuse only where it cannot solve a problem."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        def examined(policy: Model, asks: Sequence[Ask] = ()) -> dict[str, float]:
            return abstention(task, run.play(to_refuse(task, policy, lr, steps), asks or held(task)), weight)

        def another(policy: Model, c1: float, number: int) -> Any:
            lesson = to_refuse(task, policy, lr, steps)
            if refusal != "none":
                bar = or_refused(c1, c2 if refusal == "curriculum" else 0.0)
                lesson = to_refuse_late(task, policy, lr, steps, bar, temperature)
            return run.train(lesson, seed=100 * seed + number, budget=run.budget).model()  # with problems of its own

        start = run.train(to_refuse(task, model, lr, steps), seed=100 * seed + 99, budget=run.budget).model()
        begun = examined(start)
        size, c2 = min(0.2 * begun["spread"], 0.5), 0.5756 / max(begun["spread"], 0.1)  # a quarter of log 10
        temperature = max(begun["precision"], 0.05)
        best = climb(start, begun["depth"] + size, size, rounds, another, lambda policy: examined(policy)["objective"])
        curve = [{"spent": (n + 2) * steps, "value": value, "c1": c1} for n, (c1, value) in enumerate(best.path)]
        exam = examined(best.best, examined_on(task, run.options.eval_whole, seed))
        return {**exam, "c1": best.place, "curve": curve}

    return Study(body)
