"""Anyprefer: a judge with tools ranks the policy's tries, a separate scorer rates each pair, and wordings whose pairs are good
are asked more.

Paper: Zhou et al. 2025 (arXiv:2504.19276), read in its abstract and a summary. The target model answers, a judge that was told
what tools say about the problem ranks the answers, the best stands against the worst, and a reward model R(y+, y-) rates the
pair; prompts are changed so that R rises, and DPO on the pairs is iterated. Here, in rounds: the policy as it was when the
round began makes the tries; the start model, or a judge of yours, plays each problem with a calculator first (`tool_assisted`);
R is how much higher a scorer of its own rates the better try, and pairs below `quality` are left out. The feedback is a choice:
each problem is asked in one of several wordings, drawn by the mean R of the pairs it gave. Ours, as no code was found: the
threshold, the wordings and the rule of choice. Leaves out: wordings that a model writes, the choice of the judge's own prompt,
and tools other than the calculator (in Python, `tool_assisted` takes any).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import Any

import torch

from guerdon.core.batch import Batch, Pairs
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Reads
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask
from guerdon.core.wordings import by_model
from guerdon.curricula.bandits import boltzmann
from guerdon.judges import judge as judging
from guerdon.judges import run_model
from guerdon.losses.pair import pairs_of
from guerdon.models import load
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.house.shared import ranked_by
from guerdon.recipes.house.tool_judging import tool_assisted
from guerdon.recipes.preference.shared import in_rounds
from guerdon.rewards.stage.score_stages import score

WORDING, RATED, QUALITY = "wording", "rated", "quality"
AS_IT_IS = ("{prompt}",)
WORDINGS = (
    "{prompt}",
    "{prompt}\n\nThink step by step, then answer.",
    "{prompt}\n\nCheck each step before you answer.",
)


@recipe(
    "anyprefer",
    family="preference",
    paper="arXiv:2504.19276",
    on=online_dpo,
    needs=Needs(text=True, one_turn=True, answers=False),
    helps=("few-labels",),
)
def anyprefer(
    base: Recipe,
    reward: Any = None,  # the scorer that rates pairs; without one the judge's model scores from 1 to 5, without tools
    *,
    judge: Any = "",  # who judges: a model, or its name or folder; the start model without one
    tools: bool = True,  # the judge has a calculator; without, it is self-rewarding DPO by the start model's verdicts
    quality: float = 0.1,  # the least quality of a pair that is learned from; ours
    wordings: tuple[str, ...] = (),  # templates with {prompt}; ours without any, for sprig the problem alone
    round_steps: int = 25,  # steps of a round, after which the policy makes the tries; ours
) -> Recipe:
    """Online DPO in rounds on what a judge with tools prefers, where a scorer finds the pair good."""
    base = in_rounds(base, round_steps)
    base.models["judge"] = (load(judge) if isinstance(judge, str) else judge) if judge else snapshot("policy")
    verdict = judging(run_model("judge"), scale="yes", sure=True)
    scorer = judging(run_model("judge"), sure=True, name="scorer") if reward is None else reward
    base = ranked_by(base, tool_assisted(verdict) if tools else verdict)
    base.curriculum = worded_by_quality(base.curriculum, *([tuple(wordings)] if wordings else []))
    return base.but(before={"learn": [score(scorer, RATED), good_pairs(RATED, quality)]})


@part
class worded_by_quality:
    """What `curriculum` draws, each problem in one of `wordings`: drawn with the shares that `rule` gives to what the pairs of
    each were worth, column `quality`. A wording that gave no pair in a step is worth nothing new. Logs `wording/share_N`.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> asks = worded_by_quality(gd.curricula.uniform(gd.tasks.load("chain:1")), ("{prompt}?",)).draw(1, ExamplePlay())
    >>> asks[0].shown, asks[0].note
    ('chain 4 *4 *5?', {'wording': 0})
    """

    curriculum: Any
    wordings: tuple[str, ...] = by_model(AS_IT_IS, WORDINGS)
    rule: Any = knob(factory=boltzmann)

    def __post_init__(self) -> None:
        if not self.wordings:
            raise UserError("worded_by_quality.wordings has none: give one at least, '{prompt}'")
        for template in self.wordings:
            check_template("worded_by_quality.wordings", template, "prompt")

    def draw(self, n: int, play: Play) -> list[Ask]:
        shares = self.rule.shares(self.rule.scores(list(self.wordings)), play)
        play.log(**{f"{WORDING}/share_{number}": share for number, share in enumerate(shares)})
        asks: list[Ask] = self.curriculum.draw(n, play)
        dice = play.generator("wordings")
        drawn = torch.multinomial(torch.tensor(shares), len(asks), True, generator=dice).tolist() if asks else []
        return [
            ask.but(prompt=self.wordings[w].format(prompt=ask.shown), note={**ask.note, WORDING: w})
            for ask, w in zip(asks, drawn, strict=True)
        ]

    def observe(self, batch: Batch, play: Play) -> None:
        worth: dict[str, list[float]] = defaultdict(list)
        for ask, missing, value in zip(
            batch.asks, batch.cols[QUALITY].missing.tolist(), batch[QUALITY].tolist(), strict=True
        ):
            if not missing:
                worth[self.wordings[ask.note[WORDING]]].append(value)
        self.rule.update(worth, play)


@part
class good_pairs(FieldColumns):
    """Pairs of which `column` is at least `least` higher for the better try: R(y+, y-), column `quality` of both. Pairs without
    both numbers are rated by nobody: they are left out, and their quality is *failed*. Logs `quality`, the mean, `rated_pairs`
    and `good_pairs`, how many.

    >>> good_pairs().needs
    ('rated', 'pairs')
    """

    column: Reads = RATED
    least: float = knob(default=0.1)

    gives = ("pairs", QUALITY)
    shelf = "select"

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.column, "pairs")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        pairs, rated = pairs_of(batch), batch.track_column(self.column, "good_pairs").value
        gap = rated[pairs.better] - rated[pairs.worse]
        kept, known = gap >= play.at(self.least), ~gap.isnan()
        value, reason = torch.full((batch.K,), torch.nan), torch.full((batch.K,), int(Reason.NOT_APPLICABLE))
        for ends in (pairs.better, pairs.worse):
            value[ends], reason[ends] = gap, torch.where(known, int(Reason.VALUE), int(Reason.FAILED))
        play.log(rated_pairs=float(known.sum()), good_pairs=float(kept.sum()))
        play.log(**{QUALITY: float(gap[known].mean())} if bool(known.any()) else {})
        left = Pairs.of(*(each[kept] for each in (pairs.better, pairs.worse, pairs.margin, pairs.label)))
        column = Column("track", value, reason.to(torch.int8))
        return dataclasses.replace(batch.with_cols({QUALITY: column}), pairs=left).recount()
