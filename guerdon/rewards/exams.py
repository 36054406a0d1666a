"""Exams of reward models while they are trained: stages that measure on held-out problems and change nothing.

Each is taken before the first update (`untrained/...`), every so many steps and at the end (`held_out/...`). Left out:
what a reward model is worth to a policy (`loop/best_of.py`), and the evaluation of finished ones.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.pack import pack
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.rewards.calibration import CERTAIN, brier, calibration_error, first_error, first_error_scores
from guerdon.rewards.score import verified
from guerdon.rewards.step_truth import checked_solutions


class _Exam:
    """`asks` is a curriculum that can be asked for held-out problems: `asks.ask("test", index, seed)`, with its `task`."""

    asks: Any
    model: str
    tasks: int
    every: int

    needs = ()
    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if play.step == 0:
            self._sit("untrained", play)
        return batch

    def observe(self, batch: Batch, play: Play) -> None:
        done = play.step + 1
        if done == play.steps or (self.every and done % self.every == 0):
            self._sit("held_out", play)

    def _sit(self, when: str, play: Play) -> None:
        batch = pack(play([self.asks.ask("test", i, play.seed) for i in range(self.tasks)]))
        with torch.no_grad():
            found = self.measure(batch, play)
        play.log(**{f"{when}/{name}": value for name, value in found.items()})

    def measure(self, batch: Batch, play: Play) -> dict[str, float]:
        raise NotImplementedError


@part
class pair_exam(_Exam):
    r"""Every right solution against every wrong one of the same held-out problem, as the recipe's environment has them.

    With $p=\sigma(r^+-r^-)$: `pair_accuracy`, the share with $p>\frac12$ (a tie counts half); `pair_brier`, the mean of
    $(1-p)^2$; `pair_ece`, the expected calibration error of the verdict, which is as sure as $\max(p, 1-p)$. Problems
    with solutions of one kind only make no pair; `pairs_examined` says how many there were. Pairs of one problem are not
    independent.

    >>> pair_exam(None, tasks=32).gives
    ()
    """

    asks: Any
    model: str = "rm"
    tasks: int = knob(default=64, ge=1)
    every: int = knob(default=20, ge=0)

    def measure(self, batch: Batch, play: Play) -> dict[str, float]:
        right = verified(self.asks.task)(batch, play)["correct"]
        score = play.models[self.model].read(batch, ["final"])["final"].double().cpu()
        group, _ = batch.group("task")
        better, worse = torch.nonzero(
            (group[:, None] == group[None, :]) & (right[:, None] == 1) & (right[None, :] == 0), as_tuple=True
        )
        chance = torch.sigmoid(score[better] - score[worse]).tolist()
        if not chance:
            return {"pairs_examined": 0.0}
        sure = [max(p, 1 - p) for p in chance]
        hit = [0.5 if p == 0.5 else float(p > 0.5) for p in chance]
        return {
            "pair_accuracy": math.fsum(hit) / len(hit),
            "pair_ece": calibration_error(sure, hit),
            "pair_brier": brier(chance, [1.0] * len(chance)),
            "pairs_examined": float(len(chance)),
        }


@part
class step_exam(_Exam):
    r"""Lines of held-out solutions against the step checker, with $p=\sigma(v)$ read after each line's last token.

    Over lines up to the first error: `step_accuracy` at $p\ge\frac12$, `step_ece` and `step_brier`. Over solutions, by the
    protocol of ProcessBench: `found_share` of the wrong ones (the first line with $p<\frac12$ is the first wrong one),
    `cleared_share` of the right ones, and `first_error_f1`. Solutions that were cut short are in no share.

    >>> step_exam(None).model
    'prm'
    """

    asks: Any
    model: str = "prm"
    tasks: int = knob(default=64, ge=1)
    every: int = knob(default=20, ge=0)

    def measure(self, batch: Batch, play: Play) -> dict[str, float]:
        after = torch.sigmoid(play.models[self.model].read(batch, ["after"])["after"].double()).tolist()
        solutions = checked_solutions(batch, self.asks.task, play)
        lines = [(after[s], y) for each in solutions for s, y in zip(each.ends, each.labels, strict=False)]
        if not lines:
            return {"lines_examined": 0.0}
        chance, truth = zip(*lines, strict=True)
        whole = [each for each in solutions if each.whole]
        said = [first_error([after[s] for s in each.ends]) for each in whole]
        return {
            "step_accuracy": sum((p >= CERTAIN) == (y == 1) for p, y in lines) / len(lines),
            "step_ece": calibration_error(chance, truth),
            "step_brier": brier(chance, truth),
            **first_error_scores(said, [each.wrong for each in whole]),
            "lines_examined": float(len(lines)),
        }
