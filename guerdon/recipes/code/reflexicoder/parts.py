"""ReflexiCoder's own parts: what a chain of programs with reflections between them is worth, and what becomes of programs along
it.

The formulas are those of the released code (rewards_code/reflection.py), with the constants that it is called with there. Its
parser (lines 41 to 69) counts the reflections between answers and asks for one at least: where a reply has none, `ok` stands
for one that finds nothing and gives the same program again; else it ends the reply and is not counted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.score import Score
from guerdon.core.task import Task
from guerdon.exams.exam import Sitting
from guerdon.exams.tries import checked, texts
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.reflections import Reflections, read_reflections

EQUAL = 1e-4  # scores that differ by no more are the same
FREE = 5  # reflections that cost nothing
TINY = 1e-6


def cycle_gate(n: int) -> float:
    r"""$P(n)$: 0 without a reflection, 1 up to five of them, then
    $\frac{1}{1 + 0.1 (n-3)^2} e^{-0.05 (n-3)} (1 - 0.1 \sin\frac{\pi (n-3)}{2})$.

    >>> cycle_gate(0), cycle_gate(5), round(cycle_gate(7), 4)
    (0.0, 1.0, 0.3149)
    """
    if n <= FREE:
        return float(n > 0)
    over = n - 3
    return math.exp(-0.05 * over) / (1 + 0.1 * over**2) * (1 - 0.1 * math.sin(math.pi / 2 * over))


def gains(scores: Sequence[float], scale: float, kept: float, stuck: float) -> list[float]:
    r"""$m_t$ of every score after the first: $\tanh(d/s)$ of its gain $d$ over the one before, loss or profit; where it has
    neither, `kept` if there was nothing to gain, and else minus `stuck`.

    >>> [round(m, 4) for m in gains([0.0, 0.1, 0.1, 1.0, 1.0, 0.9], 0.1, 0.05, 1.0)]
    [0.7616, -1.0, 1.0, 0.05, -0.7616]
    """
    said = []
    for before, after in itertools.pairwise(scores):
        if abs(after - before) > EQUAL:
            said.append(math.tanh((after - before) / scale))
        else:
            said.append(kept if abs(before - 1.0) <= EQUAL else -stuck)
    return said


def quality(scores: Sequence[float], moves: Sequence[float], eta: float, rising: float) -> float:
    r"""$r_T + \eta \sum_t w_t m_t$ with $w_t \propto e^{\lambda t}$: later gains count more.

    >>> round(quality([0.0, 1.0, 1.0], [1.0, 0.05], 0.5, 0.2), 4)  # w = 0.4502, 0.5498
    1.2388
    """
    weights = [math.exp(rising * t) for t in range(1, len(scores))]
    return scores[-1] + eta * math.fsum(w * m for w, m in zip(weights, moves, strict=True)) / sum(weights)


def efficiency(scores: Sequence[float]) -> float:
    r"""$\frac{r_T}{n} + \frac{r_T - r_0}{\max(1, n - 1)}$ over $n$ reflections.

    >>> [round(efficiency(each), 3) for each in ([1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0])]
    [1.0, 1.5, 0.833]
    """
    n = len(scores) - 1
    return scores[-1] / n + (scores[-1] - scores[0]) / (max(1, n - 1) + TINY)


@part
class self_corrected(Leaf):
    r"""$a F + P(n)\,(b\,Q + c\,E)$ of a reply to `reflect`: its form, and, where it keeps the form, how good its programs are
    and how they become better ($Q$, `quality`), and in how few reflections ($E$, `efficiency`), below the gate $P$ of their
    number.

    ReflexiCoder (Jiang et al. 2026, arXiv:2603.05863); `weights` are $a$, $b$ and $c$ of the released configuration. A
    program's score is 1 if it passes all tests of `source`, else 0, as released; with `partial` the share that it passes. A
    reply that does not keep the form is worth 0. *Biased*, as published: $E$ pays more for an error that is corrected than for
    none (2.51 for a program that is right and stands, 3.75 for one that is corrected once), so first programs may become worse
    while last ones become better; `reflection_moves` shows it.

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
        if not said.said:
            scores.append(scores[-1])  # `ok` is the one reflection that the form asks for: it changes nothing
        gate = cycle_gate(len(scores) - 1)
        worth = quality(scores, gains(scores, self.scale, self.kept, self.stuck), self.eta, self.rising)
        parts = {"form": 1.0, "quality": gate * worth, "efficiency": gate * efficiency(scores)}
        return Score(sum(w * p for w, p in zip(self.weights, parts.values(), strict=True)), why=why, parts=parts)


def program_scores(source: Any, task: Task, said: Reflections, partial: bool) -> list[float]:
    """What each program of a reply comes to: the share of tests that it passes, or whether it passes all."""
    scores = []
    for program in said.programs:
        passed = source.passed(task, program)
        scores.append(fmean(passed) if partial else float(all(passed)))
    return scores


@part
class reflection_moves:
    """What becomes of programs along their reflections: `first`, the share of tries whose first program is right; `mended` and
    `broken`, the shares that are wrong at first and right at last, and the other way round; `reflections`, their mean number;
    `kept_form`, the share of replies that keep the form.

    >>> reflection_moves.needs
    ('correct',)
    """

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
        """Whether the first program is right; where it is the last, that is known."""
        if len(said.programs) == 1:
            return last
        return float(self.source.check(self.source.asked(task), said.programs[0]) == 1.0)
