"""Co-Reward: no answers are given; an answer is right if it is what most answers to another wording of its problem say.

Paper: Zhang et al. 2025, Co-Reward (arXiv:2508.00410). Each problem x has another wording x'. The label of x is the most common
answer to x', and the label of x' that of x; r(y | x) = 1[ans(y) = vote(x')], and GRPO learns from r. To collapse to one answer
everywhere is harder than with a vote among answers to the same wording.
Different: wordings are the family's own, other orders of the same problem; the paper asks a language model to rephrase.
A problem without another wording is drawn, but not learned from. Left out: the paper's exact settings.
"""

import random
from collections import Counter, defaultdict
from typing import Any

import torch

import guerdon as gd
from guerdon.recipes.house.grpo import grpo

OTHER = "other wording"  # the note of an ask: the prompt of the same problem in other words


@gd.part
class in_two_wordings:
    """The asks of `curriculum`, and after each the same problem in other words, where it has another wording."""

    curriculum: Any
    task: Any

    def draw(self, n: int, play: Any) -> list[gd.Ask]:
        return [each for ask in self.curriculum.draw(n, play) for each in self._both(ask)]

    def _both(self, ask: gd.Ask) -> list[gd.Ask]:
        other = gd.tasks.paraphrase(self.task, ask.task, random.Random(ask.shown)).task
        if other is None:
            return [ask]
        return [ask.but(note={OTHER: other.prompt}), ask.but(task=other, note={OTHER: ask.shown})]


def answer_of(text: str) -> str:
    """The last line of an answer."""
    return text.strip().rpartition("\n")[2]


@gd.stage(gives="agreed", shelf="scores", optional=True)
def agreed(batch):
    """[K] 1 where an answer is the most common answer to the other wording of its problem, else 0."""
    votes, failed = defaultdict[str, Counter[str]](Counter), batch.failed_K
    answers = [(ask, answer_of(text)) for ask, text in zip(batch.asks, batch.texts, strict=True)]
    for (ask, answer), is_failed in zip(answers, failed.tolist(), strict=True):
        votes[ask.shown][answer] += not is_failed
    labels = {prompt: counts.most_common(1)[0][0] for prompt, counts in votes.items() if counts.total()}
    others = [(labels.get(ask.note.get(OTHER)), answer) for ask, answer in answers]
    agree = torch.tensor([float("nan") if label is None else float(answer == label) for label, answer in others])
    return agree.masked_fill(failed, float("nan"))


@gd.recipe("co-reward-example", family="self_reward", paper="arXiv:2508.00410", on=grpo)
def co_reward(base: gd.Recipe, task: Any) -> gd.Recipe:
    """GRPO on problems in two wordings, each labelled by the vote of the other."""
    (credit,) = base.stages.credit
    credit.reward, base.curriculum = "agreed", in_two_wordings(base.curriculum, task)
    return base.but(after={"verified": agreed()})
