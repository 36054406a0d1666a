"""Self-PRM: does learning to solve problems teach a model to find wrong steps, and to choose among its own solutions?

Paper: Feng et al. 2025, Is PRM Necessary? (arXiv:2505.11227), read in its abstract. Outcome-only GRPO is stopped at
checkpoints. At each of them two things are measured on held-out problems: how often the model solves one, and how well it finds
the first wrong line of a solution that has a known one, as the harmonic mean F1 of its accuracies on wrong and on right
solutions. At the end it chooses among its own tries by its own verdict of each (Self-PRM), beside the majority of the same
tries; and the precision of its positive verdicts is measured on the problems that it solves least. Ours: rounds, steps and
tries, the wording of verdicts, a tenth as the hardest problems. `together` is Pearson's correlation of both curves, which a few
checkpoints tell little of. Leaves out: process reward models that others trained, for comparison.
"""

from __future__ import annotations

from math import ceil
from statistics import correlation, fmean
from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, Study, recipe
from guerdon.exams import Exam, Sitting, accuracy, best_of, majority_vote
from guerdon.exams.exam import TRUTH
from guerdon.exams.tries import checked, rights
from guerdon.judges import judge, run_model
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.stage.score_stages import score
from guerdon.tasks.role_tasks import in_role


@recipe(
    "self-prm",
    family="self_reward",
    paper="arXiv:2505.11227",
    on=grpo,
    needs=Needs(answers=True, errors=True, text=True, learns_from="the answers of its problems"),
)
def self_prm(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    rounds: int = 4,  # trainings of `steps` each, after which both abilities are measured; ours
    chosen_of: int = 8,  # own solutions to choose among; the paper has up to 64
    problems: int = 64,  # problems of each measurement; ours
) -> Study:
    """Outcome-only GRPO, with its ability to judge steps measured along the way."""
    verdict = judge(run_model("policy"), scale="yes", sure=True, name="own")
    solving = Exam(task, [accuracy(), majority_vote(), best_of(verdict, "own"), verdict_precision(verdict)])
    judging = Exam(in_role("critique", task), [found_errors()])

    def body(run: Any, seed: int) -> dict[str, Any]:
        def measured(policy: Model) -> dict[str, Any]:
            tries: dict[str, Any] = run.eval(policy, solving, tasks=problems, tries=chosen_of, sampling=base.sampling)
            return {**tries, **run.eval(policy, judging, tasks=problems, tries=1)}

        now, curve = model, [measured(model)]
        for number in range(rounds):
            lesson = base.but(models={**base.models, "policy": now})
            now = run.train(lesson, seed=100 * seed + number).model()
            curve.append(measured(now))
        solved, judged = ([each[name] for each in curve] for name in ("pass@1", "error_f1"))
        return {**curve[-1], "together": together(solved, judged), "solved": solved, "judged": judged}

    return Study(body)


def together(first: list[float], second: list[float]) -> float | None:
    """Pearson's correlation of two curves; None where one of them does not move.

    >>> together([1, 2, 3], [2, 4, 6]), together([0.1, 0.2], [0.5, 0.5])
    (1.0, None)
    """
    moved = len(set(first)) > 1 and len(set(second)) > 1
    return correlation(first, second) if moved else None


@part
class found_errors:
    """Of replies to `critique/TASK`: `error_found`, how often the first wrong line of a wrong solution is named,
    `error_cleared`, how often a right solution is, and their harmonic mean `error_f1`, after ProcessBench. One who always says
    the same has 0.

    >>> found_errors().needs
    ('correct',)
    """

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, float]:
        batch, right = sitting.batch, rights(sitting)
        episodes = [batch.episodes[e] for e in batch.episode[batch.leaf].tolist()]
        sound = [episode.ask.task.answer.rstrip().endswith("none") for episode in episodes]
        cleared, named = ([right[k] for k, s in enumerate(sound) if s == kind] for kind in (True, False))
        rates = [fmean(each) if each else 0.0 for each in (cleared, named)]
        f1 = 2 * rates[0] * rates[1] / sum(rates) if all(rates) else 0.0
        return {"error_cleared": rates[0], "error_found": rates[1], "error_f1": f1}


@part
class verdict_precision:
    """`hard_precision`: how often a try of which `reward` is at least 1/2 is right, on the `share` of problems that are solved
    least (all that tie with the last of them); not given where there is none. `hard_rate` is how often any try is right there.

    >>> import guerdon as gd
    >>> verdict_precision(gd.exact()).share
    0.1
    """

    reward: Any
    share: float = knob(default=0.1, gt=0.0, le=1.0)

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, float]:
        said = score(self.reward, role=sitting.exam.role)(sitting.batch, sitting.play)["reward"].tolist()
        right = rights(sitting)
        problems = [[k for ask in asks for k in ask] for asks in checked(sitting)]
        rate = [fmean(right[k] for k in tries) for tries in problems]
        last = sorted(rate)[ceil(self.share * len(problems)) - 1]
        hard = [k for tries, solved in zip(problems, rate, strict=True) if solved <= last for k in tries]
        positive = [right[k] for k in hard if said[k] >= 0.5]
        precision = {"hard_precision": fmean(positive)} if positive else {}
        return {**precision, "hard_rate": fmean(right[k] for k in hard)}
