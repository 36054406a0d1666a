"""CRew-DPO: right tries with a sure answer are preferred to wrong ones with a sure answer.

Paper: Du et al. 2025, Confidence as a Reward (arXiv:2510.13501), read in its abstract and summaries; no code was found. CRew of
a try is the mean probability of the tokens of its final answer, given all that was written before it: `span_mean`, which needs
no training and also chooses among N tries (`guerdon eval MODEL --best-of N --reward span_mean`) or filters data. CRew-DPO makes
pairs of confidence and correctness and trains with DPO. How its pairs are chosen could not be read: here, of each problem's
tries, the right one with the highest confidence against the wrong one with the highest. So a step takes away what the model is
wrongly sure of. `pairing="first"` takes the first right and the first wrong try instead: correctness alone. Different: pairs of
the policy's own tries as it learns, as in online DPO. Leaves out: filtering of training data by CRew. Exams have the area under
the ROC curve of CRew against correctness, `crew_auroc`.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import torch

from guerdon.core.batch import Batch, Pairs
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Column
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.exams.rates import accuracy, answer_length
from guerdon.exams.scorers import auroc
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.rewards.model.confidence import span_mean
from guerdon.rewards.stage.score_stages import score
from guerdon.select.pairs import paired, valued_groups

CONFIDENCE = "confidence"
RIGHT = 0.5  # the least score of a right try, as in exams


@recipe("crew-crew-dpo", family="self_reward", paper="arXiv:2510.13501", on=online_dpo, needs=Needs(text=True))
def crew_crew_dpo(
    base: Recipe,
    *,
    read: Literal["number", "text"] = "number",  # what the answer is, after a mark; ours
    pairing: Literal["confident", "first"] = "confident",  # ours: the paper's rule could not be read
) -> Recipe:
    """Online DPO of right tries with a sure answer against wrong ones with a sure answer."""
    (pairs,) = [stage for stage in base.stages if isinstance(stage, paired)]
    crew = span_mean(answer=read)
    for exam in base.exams:
        exam.metrics = [accuracy(), answer_length(), auroc(crew, name="crew_auroc")]
    return base.but(
        replace={"paired": [score(crew, CONFIDENCE), paired_by_confidence(pairs.column, CONFIDENCE, pairing)]}
    )


@part
class paired_by_confidence(FieldColumns):
    r"""Pairs of tries at a problem: of those whose `column` is at least 1/2 the one with the highest `confidence`, against the
    one with the highest of the others; or the first of both kinds, with `pairing="first"`. A try without a value in either
    column is in no pair. Logs `pairs`, `unpaired_share` of the problems, and `confidence_gap`, the mean difference of
    confidence in pairs, which is below 0 where the policy is surer of what is wrong.

    >>> paired_by_confidence("correct", "confidence").needs
    ('correct', 'confidence')
    """

    column: Column
    confidence: Column
    pairing: Literal["confident", "first"] = "confident"

    gives = ("pairs",)
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        truth, sure = (batch.track_column(name, "paired_by_confidence") for name in (self.column, self.confidence))
        if batch.K and batch.group("task")[1] == batch.K:
            raise UserError("crew-crew-dpo pairs tries at one problem, and no problem has two: --set tries=8")
        groups, pairs = valued_groups(batch, "task", (truth.missing | sure.missing).tolist()), list[tuple[int, int]]()
        for tracks in groups:
            sides = [[k for k in tracks if (float(truth.value[k]) >= RIGHT) is right] for right in (True, False)]
            if all(sides):
                pairs.append((self._chosen(sides[0], sure.value), self._chosen(sides[1], sure.value)))
        better, worse = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).unbind(1)
        gap = (sure.value[better] - sure.value[worse]).double()
        play.log(pairs=float(len(pairs)), unpaired_share=1 - len(pairs) / max(len(groups), 1))
        play.log(**({"confidence_gap": float(gap.mean())} if pairs else {}))
        margin = (truth.value[better] - truth.value[worse]).float()
        return dataclasses.replace(batch, pairs=Pairs.of(better, worse, margin)).recount()

    def _chosen(self, tracks: list[int], sure: torch.Tensor) -> int:
        return tracks[0] if self.pairing == "first" else max(tracks, key=lambda k: float(sure[k]))
