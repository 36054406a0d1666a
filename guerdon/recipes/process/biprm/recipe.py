"""BiPRM: a process reward model that reads every solution twice, in order and from its last line to its first.

Paper: Zhang et al. 2025, The Bidirectional Process Reward Model (arXiv:2508.01682), its first version: one set of
weights, the second stream is the same problem with its steps in reverse order, the scores of a step are averaged, and the
average is what is taught, by cross-entropy or (`objective=square`) by squared error. No code was released. The second
telling is recited and counts: with as many tokens it has seen half the solutions that a model of one stream has, where
the paper gives both the same solutions. `second` is also "forward", the solution told twice in order, and "none",
`process_reward_model` itself. Labels are a file's or the task's step checker's, up to the first wrong line. Leaves out:
the gate that the paper's second version weighs the two streams by, and its ranking objective (PQM). The product is the
model `prm`: `gd.two_way("RUN")` in formulas and `best_of`; `--reward RUN` reads it in order alone.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.exams.step_judging import judged_steps
from guerdon.recipes.house.process_reward_model import process_reward_model
from guerdon.recipes.house.recited import brings_answers
from guerdon.recipes.process.biprm.parts import SECOND, labels_for_both, told_twice, two_way_labels
from guerdon.rewards.model.reward_models import process_model, two_way


@recipe(
    "biprm",
    family="process",
    paper="arXiv:2508.01682",
    claim=Claim(
        says="Reading tries from both ends tells their first wrong lines from right ones better than reading them in order.",
        baseline="biprm second=none",
        ablation="biprm second=forward",
        task="equation:6-7",
        settings="prompts=16 wrong=1 tries=2 lr=3e-4 max_tokens=80",
        metric="steps/step_auc",
        budget=600_000,
    ),
    on=process_reward_model,
    needs=Needs(text=True),
    helps=("unsound-steps",),
)
def biprm(
    base: Recipe,
    task: Any,
    *,
    second: Literal["backward", "forward", "none"] = "backward",
    objective: Literal["logistic", "square"] = "logistic",
) -> Recipe:
    """A process reward model of two streams, whose scores are averaged."""
    lines: Any = two_way("prm", "steps") if second == "backward" else process_model("prm", aggregate="steps")
    if not brings_answers(task):
        base.exams += [
            Exam(task, [judged_steps(lines)], env=single_turn(), name="steps"),
            Exam(task, [farmed(lines)], env=single_turn(), name="farm", tasks=64, tries=1),
        ]
    if second == "none":
        return base
    (labels,), (learner,) = base.stages.scores, base.stages.learners
    base.exams[0].env, base.env = base.env, told_twice(base.env.tries, second)
    base.seats = {**base.seats, SECOND: "author"}
    learner.loss = two_way_labels(kind=objective, good=learner.loss.good)
    base.stages = [labels, labels_for_both(order=second), learner]
    return base
