"""BLEUBERI: GRPO with BLEU against written answers as the whole reward, on the prompts where the start model scores lowest.

Paper: Chang et al. 2025, BLEU is a surprisingly effective reward for instruction following (arXiv:2505.11080), read in its
abstract; code: lilakk/BLEUBERI, training/grpo.py (TRL's GRPO, which is followed by its name alone). Each answer is scored
against one or several references: `answer`, or a list `answers` beside it in the data. Before the first step the start model
answers each of `pool` prompts once, greedily, and the `hardest` share of them by BLEU is what is trained on, over and over.
These answers count in the budget. Leaves out: synthetic references of several strong models, which are the user's to bring; the
format reward of their reasoning variant.
"""

from __future__ import annotations

import math
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.extra_play import play_scored
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask, Sampling
from guerdon.curricula.plain import EpochSampler, uniform
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.answers import bleu


@recipe(
    "bleuberi", family="policy", paper="arXiv:2505.11080", on=grpo, needs=Needs(answers=True, text=True, one_turn=True)
)
def bleuberi(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    pool: int = 256,  # prompts that the start model answers; of a file that has fewer, all; ours
    hardest: float = 0.34,  # share of them that is trained on; ours
    order: int = 4,  # longest n-gram; the usual one
) -> Recipe:
    """GRPO against references by BLEU, on what the start model is worst at."""
    if reward is not None:
        raise UserError("bleuberi has its own reward, BLEU against references: leave --reward out, or use grpo")
    like = score(bleu(order=order))
    base.curriculum = lowest_scored(task, base.curriculum.tries, like, pool, hardest, base.sampling)
    return paid_by(base, bleu(order=order))


@part
class lowest_scored(uniform):
    """The problems of a pool that the model scores lowest at before the first step, over and over in that order, worst first.

    It answers each problem once, greedily. One whose answer has no score is not taken; of equal ones the earlier is. Logs
    `pool_score` and `taken_score`, the mean of the pool and of what is taken of it.
    """

    score: Any = None
    pool: int = knob(default=256, ge=1)
    share: float = knob(default=0.34, gt=0.0, le=1.0)
    sampling: Sampling | None = None

    taken: list[int] | None = state()

    def draw(self, n: int, play: Play) -> list[Ask]:
        laps = EpochSampler(self.task)
        if self.taken is None:
            self.taken = self._hardest(laps, play)
        numbers = [self.taken[(self.drawn + i) % len(self.taken)] for i in range(n)]
        self.drawn += n
        return [Ask(laps.task(number, play.seed), self.tries) for number in numbers]

    def _hardest(self, laps: EpochSampler, play: Play) -> list[int]:
        size = self.task.size("train")
        pool = range(self.pool if size is None else min(self.pool, size))
        greedy = (self.sampling or Sampling()).but(temperature=0.0)
        batch = play_scored([Ask(laps.task(i, play.seed), 1, sampling=greedy) for i in pool], [self.score], play)
        asked, worth = batch.ask[batch.leaf].tolist(), batch[self.score.gives[0]].tolist()
        scores = sorted((value, number) for number, value in zip(asked, worth, strict=True) if not math.isnan(value))
        if not scores:
            raise UserError(
                "bleuberi found no prompt with a reference: the data need a column of answers (--answer COL)"
            )
        taken = scores[: math.ceil(self.share * len(scores))]
        pool_score, taken_score = (math.fsum(value for value, _ in some) / len(some) for some in (scores, taken))
        play.log(pool_score=pool_score, taken_score=taken_score)
        return [number for _, number in taken]
