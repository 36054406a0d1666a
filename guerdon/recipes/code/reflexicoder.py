"""ReflexiCoder: a policy that writes a program, reflects on it and corrects it, in one reply and without running anything.

Paper: Jiang et al. 2026 (arXiv:2603.05863), with the released code (github.com/juyongjiang/ReflexiCoder,
rewards_code/reflection.py): GRPO with reward 1 for the form + 0.5 times the quality of programs and their changes + 1 times
the efficiency of reflections. A reply is programs with reflections between them and ends on `ok`
(`tasks/field/reflections.py`). As in the released parser, which requires one reflection, `ok` after a single program counts as
one; the released prompt asks for one more look after a correction. Cut answers are masked, as released. `pay="final"`, the
paper's baseline, rewards the last program alone. Leaves out: thoughts before the first program, tests in several languages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.score import Score
from guerdon.core.task import Task
from guerdon.exams.exam import Exam, Sitting
from guerdon.exams.rates import accuracy
from guerdon.exams.tries import checked, texts
from guerdon.losses.signs import finished
from guerdon.recipes.code.debugging_claims import REFLECTIONS
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.reflection_tasks import reflecting
from guerdon.tasks.field.reflections import Reflections, read_reflections


@recipe(
    "reflexicoder",
    family="code",
    paper="arXiv:2603.05863",
    claim=Claim(
        says="Paid for how programs become better by reflections, a policy's last programs are right more often than paid for"
        " the last program alone.",
        baseline="reflexicoder pay=final",
        ablation="reflexicoder efficiency=0",
        **REFLECTIONS,
    ),
    on=grpo,
    needs=Needs(tests=True, sandbox=True),
    helps=("sparse",),
)
def reflexicoder(
    base: Recipe,
    task: Any,
    *,
    kl: float = 0.01,  # the released configuration
    pay: Literal["all", "final"] = "all",
    quality: float = 0.5,  # the released weights
    efficiency: float = 1.0,
    partial: bool = False,  # the released code scores a program 0 or 1
) -> Recipe:
    """GRPO on replies of several programs, paid for their form, what they come to and how they become better."""
    asked = reflecting(task)
    base.curriculum.task, (truth, *_) = asked, base.stages.scores
    truth.task = asked
    if pay == "all":
        paid_by(base, self_corrected(asked, (1.0, quality, efficiency), partial=partial))
    (learner,) = base.stages.learners
    learner.on = finished()
    base.exams = [Exam(asked, [accuracy(), reflection_moves(asked)])]
    return base


EQUAL, TINY, FREE = 1e-4, 1e-6, 5  # equal scores differ by at most EQUAL; FREE reflections cost nothing


def cycle_gate(n: int) -> float:
    r"""$P(n)$: 0, then 1 up to FREE, then $\frac{1}{1 + 0.1 (n-3)^2} e^{-0.05 (n-3)} (1 - 0.1 \sin\frac{\pi (n-3)}{2})$."""
    if n <= FREE:
        return float(n > 0)
    over = n - 3
    return math.exp(-0.05 * over) / (1 + 0.1 * over**2) * (1 - 0.1 * math.sin(math.pi / 2 * over))


def gains(scores: Sequence[float], scale: float, kept: float, stuck: float) -> list[float]:
    r"""$m_t = \tanh(d/s)$ of a score's change $d$ from the one before; without one, `kept` at score 1, else -`stuck`."""
    said = []
    for before, after in itertools.pairwise(scores):
        if abs(after - before) > EQUAL:
            said.append(math.tanh((after - before) / scale))
        else:
            said.append(kept if abs(before - 1.0) <= EQUAL else -stuck)
    return said


def quality(scores: Sequence[float], moves: Sequence[float], eta: float, rising: float) -> float:
    r"""$Q = r_T + \eta \sum_t w_t m_t$ with $w_t \propto e^{\lambda t}$."""
    weights = [math.exp(rising * t) for t in range(1, len(scores))]
    return scores[-1] + eta * math.fsum(w * m for w, m in zip(weights, moves, strict=True)) / sum(weights)


def efficiency(scores: Sequence[float]) -> float:
    r"""$E = \frac{r_T}{n} + \frac{r_T - r_0}{\max(1, n - 1)}$ over $n$ reflections."""
    n = len(scores) - 1
    return scores[-1] / n + (scores[-1] - scores[0]) / (max(1, n - 1) + TINY)


@part
class self_corrected(Leaf):
    r"""$a F + P(n)\,(b\,Q + c\,E)$ of a reply to `reflect`: form $F$, quality $Q$ of the programs and their changes,
    efficiency $E$, and a gate $P$ on the number of reflections; `weights` are $a$, $b$ and $c$.

    A program's score is 1 if it passes all tests of `source`, with `partial` the share that it passes; without the form 0.
    *Biased*, as published: 2.51 for a program that is right at once, 3.75 for one that is corrected once.

    >>> from guerdon.tasks import load
    >>> source = load("functions:1")
    >>> problem = source.get("train", 0)
    >>> round(self_corrected(source)(problem.answer + "\nok", problem).value, 4)  # 1 + 0.5 * 1.025 + 1
    2.5125
    """

    source: Any
    weights: tuple[float, float, float] = (1.0, 0.5, 1.0)
    eta: float = knob(default=0.5, ge=0.0)
    rising: float = 0.2
    scale: float = knob(default=0.1, gt=0.0)
    kept: float = 0.05
    stuck: float = 1.0
    partial: bool = False

    def __call__(self, completion: str, task: Task) -> Score:
        said = read_reflections(completion)
        if not said.is_whole:
            return Score(0.0, why="the form is not kept", parts={"form": 0.0})
        scores = program_scores(self.source, task, said, self.partial)
        why = " -> ".join(f"{score:g}" for score in scores)
        scores += [] if said.said else [scores[-1]]  # `ok` is the reflection that the form requires: it changes nothing
        gate = cycle_gate(len(scores) - 1)
        worth = quality(scores, gains(scores, self.scale, self.kept, self.stuck), self.eta, self.rising)
        parts = {"form": 1.0, "quality": gate * worth, "efficiency": gate * efficiency(scores)}
        return Score(sum(w * p for w, p in zip(self.weights, parts.values(), strict=True)), why=why, parts=parts)


def program_scores(source: Any, task: Task, said: Reflections, partial: bool) -> list[float]:
    """Each program's score: the share of tests that it passes, or whether it passes all."""
    return [fmean(p) if partial else float(all(p)) for p in (source.passed(task, each) for each in said.programs)]


@part
class reflection_moves:
    """Shares of tries: `first`, whose first program is right; `mended` and `broken`, wrong at first and right at last and the
    reverse; `kept_form`, which keep the form. And `reflections`, their mean number."""

    source: Any
    needs = ("correct",)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        said, right = [read_reflections(text) for text in texts(sitting)], sitting.batch["correct"].tolist()
        tracks = [k for asks in checked(sitting) for ask in asks for k in ask]
        tasks = [sitting.batch.episodes[e].task for e in sitting.batch.episode[sitting.batch.leaf].tolist()]
        first = {k: self._first(said[k], tasks[k], right[k]) for k in tracks}
        return {
            "first": fmean(first[k] for k in tracks),
            "mended": fmean(float(right[k] > first[k]) for k in tracks),
            "broken": fmean(float(right[k] < first[k]) for k in tracks),
            "reflections": fmean(len(said[k].said) for k in tracks),
            "kept_form": fmean(float(said[k].is_whole) for k in tracks),
        }

    def _first(self, said: Reflections, task: Task, last: float) -> float:
        if len(said.programs) == 1:
            return last
        return float(self.source.check(self.source.asked(task), said.programs[0]) == 1.0)
