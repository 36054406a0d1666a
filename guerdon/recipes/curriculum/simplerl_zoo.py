"""SimpleRL-Zoo: RL straight from base models, on problems that fit each one's ability and without a reward for format.

Paper: Zeng et al. 2025, Investigating and Taming Zero Reinforcement Learning for Open Base Models in the Wild
(arXiv:2503.18892). GRPO from ten bases, with a reward for right answers alone: a strict format held bases back, and problems
too hard for a base broke its training. Here three bases come of one model: as it is; one that all but lost the mark of an
answer, by a few steps of imitating solutions without it; one blunted by noise on its weights. Answers are checked with or
without the mark. A base gets the half of the kinds of problems that it solves nearest to half of the time, or its hardest half
(`hard`); `strict` pays -1 (the paper's) for an answer without its mark. Each base has the budget; `accuracy` is their mean.
Leaves out: other sizes and families (`--model` takes one at a time); prompts for weak bases; length, and verifying oneself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import torch

from guerdon.core.budget import Budget
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.core.task import Task
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.sft import sft
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.asking.function import Leaf, reward
from guerdon.rewards.stage.score_stages import verified
from guerdon.studies.curves import at_the_end, held_out
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.family import ANSWER
from guerdon.tasks.mixtures import mixture as mixed

ARMS: Any = {"task": "countdown:1-6", "metric": "accuracy", "settings": "lr=5e-5 max_tokens=64", "budget": 130_000}
TOO_HARD: Any = {"baseline": "simplerl-zoo hard=true", **ARMS}
STRICT: Any = {"baseline": "simplerl-zoo strict=true", **ARMS}
IMITATION, NOISE = {"prompts": 64, "lr": 1e-4}, 0.3  # five steps: sprig rarely says the mark; it solves half as much


@recipe(
    "simplerl-zoo",
    family="curriculum",
    paper="arXiv:2503.18892",
    claim=(
        Claim(
            says="Problems that fit a base's ability raise accuracy over all bases more than the hardest.", **TOO_HARD
        ),
        Claim(says="Without a reward for format bases end higher than with a strict one.", **STRICT),
    ),
    on=grpo,
    needs=Needs(text=True),
    helps=("uneven-difficulty",),
)
def simplerl_zoo(base: Recipe, task: Any, model: Model, *, hard: bool = False, strict: bool = False) -> Study:
    """Zero RL across three bases: fitting or hard problems, with or without a strict format."""
    lenient = unmarked(task)
    made = base.but(verified=verified(lenient))
    made.exams[0].source = lenient
    lessons = paid_by(made, insistent(lenient)) if strict else made

    def body(run: Any, seed: int) -> dict[str, Any]:
        taught = run.train(sft(lenient, model, **IMITATION), budget=Budget(5, "steps")).model()
        bases = {"as it is": blunted(model, 0.0), "unmarked": taught, "blunted": blunted(model, NOISE, seed)}
        by_base = {}
        for name, base in bases.items():
            start = run.eval(base, lenient, tasks=192, tries=2, sampling=made.sampling)
            kinds = fitting(start["kinds"], hard)
            lesson = lessons.but(models={**made.models, "policy": base})
            lesson.curriculum.task = mixed(task.name, [lenient.kinds()[kind] for kind in kinds])
            curve = held_out(run.train(lesson, budget=run.budget))
            by_base[name] = {"before": curve[0]["value"], "after": at_the_end(curve)["value"], "kinds": kinds}
        return {"accuracy": fmean(each["after"] for each in by_base.values()), "bases": by_base}

    return Study(body)


def blunted(model: Model, share: float, seed: int = 0) -> Model:
    """A copy with noise on every weight matrix, of `share` of its own standard deviation: a model that knows the same, worse.
    Gains and biases (vectors) stay as they are."""
    noisy = copy.deepcopy(model)
    noisy.start(seed, {})
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in noisy.weights.parameters():
            if weight.dim() > 1:
                noise = torch.randn(weight.shape, generator=dice).to(weight)
                weight.add_(noise, alpha=share * float(weight.std()))
    return noisy


def fitting(rates: Mapping[str, float], hard: bool = False) -> list[str]:
    """Half of the kinds (rounded up) by a model's rate of success at each: those nearest to 1/2, or the `hard` ones, those that
    it solves least. Of equals the first, and in the order given.

    >>> rates = {"a:1": 1.0, "a:2": 0.7, "a:3": 0.3, "a:4": 0.0}
    >>> fitting(rates), fitting(rates, hard=True)
    (['a:2', 'a:3'], ['a:3', 'a:4'])
    """
    order = sorted(rates, key=lambda kind: rates[kind] if hard else abs(rates[kind] - 0.5))
    best = set(order[: (len(order) + 1) // 2])
    return [kind for kind in rates if kind in best]


@part
class unmarked(ChangedSource):
    """The problems of `source`, checked leniently: a completion whose last line lacks the mark of an answer (`= `) is read as
    if it had it. Its worked solutions have none.

    For what a model knows apart from how it says it: bases that were never taught the format.

    >>> from guerdon.tasks import load
    >>> plain, strict = unmarked(load("chain:1")), load("chain:1")
    >>> task = plain.get("test", 0)
    >>> plain.solution(task), plain.check(task, plain.solution(task)), strict.check(task, plain.solution(task))
    ('3*4=12\\n12-5=7\\n7', 1.0, 0.0)
    """

    source: Any

    def __repr__(self) -> str:
        return f"unmarked({self.source!r})"

    def check(self, task: Task, completion: str) -> float | None:
        return super().check(task, completion if is_marked(completion) else marked(completion))

    def solution(self, task: Task) -> str:
        worked = self.source.solution(task) if hasattr(self.source, "solution") else task.answer
        *steps, answer = str(worked).split("\n")
        return "\n".join([*steps, answer.removeprefix(ANSWER)])


def is_marked(completion: str) -> bool:
    """Whether the last line says that it is an answer."""
    return completion.strip().rpartition("\n")[2].strip().startswith(ANSWER)


def marked(completion: str) -> str:
    """The same with its last line made an answer."""
    steps, newline, answer = completion.strip().rpartition("\n")
    return f"{steps}{newline}{ANSWER}{answer}"


def insistent(source: Any) -> Leaf:
    """The verdict of a task on an answer that is marked as one (`= ` before it, on the last line), and -1 for any other.

    >>> from guerdon.tasks import load
    >>> source = unmarked(load("chain:1"))
    >>> task = source.get("test", 0)
    >>> [insistent(source).called(task=task, completion=text) for text in ("= 7", "= 6", "7")]
    [1.0, 0.0, -1.0]
    """

    def marked(task: Any, completion: str) -> Any:
        return source.check(task, completion) if is_marked(completion) else -1.0

    return reward(marked, isolate=False)
