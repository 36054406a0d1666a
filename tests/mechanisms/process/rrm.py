"""RRM: GRPO paid by a grader of the whole solution, not by its answer alone."""

from __future__ import annotations

from harness import Mechanism, World, credited, made, paid, said_tries

import guerdon as gd
from guerdon.rewards.formula.per_step import overall

TASK = gd.tasks.load("chain:1")
PROBLEM = TASK.get("train", 0)  # 4 *4 *5
SOUND, LUCKY, WRONG, BARE = "4*4=16\n16*5=80\n= 80", "4*4=17\n16*5=80\n= 80", "4*4=16\n16*5=81\n= 81", "= 80"


def pay(*said, **knobs):
    return paid(made("rrm", "chain:1", **knobs), [{"task": PROBLEM, "completion": text} for text in said])


@gd.reward(isolate=False)
def lines(completion):
    return None if completion == "?" else [0.5, 0.25, 1.0]


def stages(**knobs):
    return [type(stage).__name__ for stage in made("rrm", "chain:1", **knobs).stages]


def judged(grader, criteria=("Adds up.",)):
    reward = made("rrm", "chain:1", grader=grader, criteria=criteria).stages.scores[-1].reward
    texts = [criterion.text for criterion in getattr(reward, "criteria", None) or ()]
    return [type(reward).__name__, texts, getattr(reward, "sure", None), str(reward.by)]


def lucky(**knobs):
    """The advantage of a right answer by wrong lines over a wrong answer."""
    recipe = made("rrm", "chain:1", **knobs)
    column = "correct" if knobs.get("grader") == "answer" else "reward"
    worth = [1.0, 0.0] if column == "correct" else pay(LUCKY, WRONG, **knobs)
    lucky_one, wrong = credited(recipe, said_tries([((0,), worth[0]), ((0,), worth[1])], column=column))
    return lucky_one - wrong


mechanism = Mechanism(
    "rrm",
    source="arXiv:2510.07774: a rubric's grade of the whole solution, from 0 to 1, in place of the answer's",
    also=[overall],
    numbers={
        "the step checker": (lambda: pay(SOUND, LUCKY, WRONG, BARE), [1.0, 0.0, 0.0, 1.0]),
        "the answer is GRPO": (lambda: stages(grader="answer"), ["verified", "centre", "Learn"]),
        "a grade is beside it": (stages, ["verified", "score", "centre", "Learn"]),
        "the worst line, where there are lines": (
            lambda: gd.score_samples(overall(lines, "min"), [{"completion": text} for text in ("a", "?", "b")]).whole,
            [0.25, None, 0.25],
        ),
        "sprig": (lambda: judged("sprig")[:3], ["judge", [], True]),
        "the policy, by a rubric": (lambda: judged("policy"), ["rubric", ["Adds up."], True, "run_model()"]),
        "a row's own criteria": (lambda: judged("policy", ())[1], []),
        "of the answer, as GRPO has it": (lambda: lucky(grader="answer"), 2 * 0.5 / (0.5**0.5 + 1e-4)),
    },
    world=World(
        says="a right answer by wrong lines: it is preferred to a wrong one by its answer, and not by its grade",
        measure=lucky,
        off={"grader": "answer"},
        moves=-1.0,
    ),
)
