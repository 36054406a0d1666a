"""Pedagogical alignment: a tutor taught by pairs of replies, by imitation or by a preference loss, on the same pairs.

Paper: Sonkar et al. 2024, pedagogical alignment of large language models (arXiv:2402.05000), read in its abstract: a tutor
should take the student on in steps, not give the answer away, and to learn that as a preference does better than to imitate
good replies. It compares supervised learning with DPO, IPO and KTO: `by` is which of them, all else is the same, the pairs too.
Pairs are a file's (`--data`), a reply with the right action against another, or a task's gold solution and near-misses. A task
that reads replies (`read(task, text)` with `action` and `leaks`) is examined on how often the action is right and how often a
result is given away. Leaves out: the paper's data, which a language model wrote, and its first round of imitation before a
preference loss.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, recipe
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam, Sitting
from guerdon.exams.tries import texts
from guerdon.losses import pair, unpaired
from guerdon.recipes.house.dpo import dpo


@recipe("pedagogical-alignment", family="preference", paper="arXiv:2402.05000", on=dpo)
def pedagogical_alignment(
    base: Recipe,
    task: Any,
    *,
    by: Literal["sft", "dpo", "ipo", "kto"] = "dpo",  # what pairs are learned by; the paper's four
) -> Recipe:
    """DPO's pairs, learned by one of four losses; a tutor's replies are examined by their actions."""
    (learner,) = base.stages.learners
    if by != "dpo":
        if getattr(learner.loss, "smoothing", 1.0):
            raise UserError("anchored and smoothing are of by=dpo: leave them out")
        beta = learner.loss.beta
        if by == "kto":
            point = unpaired.mismatched_kl()
            learner.loss = unpaired.kto(beta=beta, baseline=point.gives_to)
            base = base.but(before={"learn": point})
        else:
            learner.loss = pair.better_nll() if by == "sft" else pair.dpo(beta, link="square", per="step")
    if hasattr(task, "read"):
        base.exams = [*base.exams, Exam(task, [replies()], env=single_turn(), name="replies")]
    return base


@part
class replies:
    """Of a tutor's tries `right_action`, how often the action is the one that the student needs, and `leaks`, how often a
    result is given away that the student should find."""

    needs = ()

    def __call__(self, sitting: Sitting) -> dict[str, float]:
        batch, tutor = sitting.batch, sitting.exam.truth
        tasks = [batch.episodes[e].task for e in batch.episode[batch.leaf].tolist()]
        read = [tutor.read(task, text) for task, text in zip(tasks, texts(sitting), strict=True)]
        right = [reply.action == task.meta["action"] for task, reply in zip(tasks, read, strict=True)]
        return {"right_action": fmean(right), "leaks": fmean(reply.leaks for reply in read)}
