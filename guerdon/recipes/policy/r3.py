"""R3: where all tries at a problem are alike a remembered right one joins them, failures are shown, and failures are ranked.

Paper: Jiang et al. 2026, replay, reflection and ranking rewards (arXiv:2601.19620), read in its abstract. GRPO has no advantage
where all tries at a problem are worth the same. (1) To such a group the newest right try at the same problem that an earlier
step remembered is joined, with the log-probs it was sampled with, so the ratio corrects for its age; a group that differs gets
none. That needs problems that come again: rows, or `--task trace:6@128`. Where all of a group are right it changes nothing.
(2) A problem that no try solves is asked `reflects` more times with `failures` of its wrong tries, and these are a group of
their own. (3) Among the wrong tries of a group, cut ones too, the reward has a rank from -1/2 to 1/2, `ranking` times, which
adds up to 0. GRPO divides by the spread of a group: where all are wrong the ranks count in full whatever `ranking` is.
The ranked statistic is ours, for the abstract names only what it captures: the mean entropy of the `share` of tokens with most
(local exploration) less that of all tokens (global stability), so that few open choices on sure ground rank first. Leaves out:
the paper's choice of valuable trajectories, and a correction for age beyond the clipped ratio.
"""

from __future__ import annotations

from math import ceil, nan
from typing import Any

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.envs.simple import single_turn
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.formula.reward import Conditional
from guerdon.rewards.formula.scores import Outcome, Scores, Where, numbers, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, outcome_of_each, sample_tokens
from guerdon.rewards.stage.score_stages import checker, verified
from guerdon.rewards.text.agreement import win_rate
from guerdon.select.filters import at_least
from guerdon.select.memory import remembered
from guerdon.select.second_roles import Tried, follow_up
from guerdon.tasks.role_wordings import ROLE_WORDINGS

REFLECTS = "reflector"
RIGHT = 0.5  # verdict from which a try is right


@recipe(
    "r3",
    family="policy",
    paper="arXiv:2601.19620",
    on=grpo,
    needs=Needs(answers=True, text=True, one_turn=True),
    helps=("sparse",),
)
def r3(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    keep: int = 512,  # right tries that are remembered; ours
    reflects: int = 4,  # more tries at a problem that none solved; ours
    failures: int = 1,  # wrong tries that these are shown; ours
    ranking: float = 0.1,  # what the first of the wrong tries has over the last; ours
    share: float = 0.2,  # share of tokens with most entropy; ours
) -> Recipe:
    """GRPO that replays right tries into groups without spread, shows failures and ranks them."""
    right = checker(task)
    ranked = entropy_rank(entropy_peaks(share=share), right).weight(ranking)
    paid_by(base, blend(outcome=right if reward is None else worth(task, reward), entropy_rank=ranked))
    base.stages.scores[-1].role = ("policy", REFLECTS)
    check = verified(task, role=REFLECTS)
    asked = follow_up(
        single_turn(REFLECTS), with_failures(failures), [check], per="ask", tries=reflects, tells=("correct",)
    )
    memory = remembered(keep, keep, by="alike", column="correct", which=at_least("correct"))
    base.seats[REFLECTS] = "policy"
    return base.but(after={"verified": [asked, memory]})


@part
class with_failures:
    """Shows a problem with some wrong tries at it, where no try solved it."""

    failures: int = knob(default=1, ge=1)
    wording: str = ROLE_WORDINGS["revise"].knob(question="prompt", answer="attempts")

    def __call__(self, tried: list[Tried]) -> str | None:
        if any(each.columns["correct"] >= RIGHT for each in tried):
            return None
        attempts = "\n\n".join(each.text for each in tried[: self.failures])
        return self.wording.format(prompt=tried[0].prompt, attempts=attempts)


@part
class entropy_rank(Conditional):
    """The rank of `reward` among the tries of a group whose `condition` is under 1/2, from -1/2 to 1/2, ties half; not
    applicable to the others, nor to one alone.

    >>> import guerdon as gd
    >>> wrong = entropy_rank(gd.length(9, margin=9, unit="words"), gd.matches("4"))
    >>> gd.score_samples(wrong, [{"completion": text} for text in ("4", "a", "b " * 10, "c " * 12)]).whole
    [None, 0.5, 0.0, -0.5]
    """

    reward: Any
    condition: Any

    def decide(self, inner: Scores, condition: Scores, reason: Tensor, where: Where) -> Scores:
        wrong = condition.valued & (condition.value < RIGHT)
        why = torch.where(wrong | condition.broken, reason, int(Reason.NOT_APPLICABLE)).to(torch.int8)
        ranked = numbers(torch.where(why == Reason.VALUE, inner.value, nan), why)
        return win_rate(self.reward).combine({"wrong": ranked}, where).map(lambda rate: rate - 0.5)


@part
class entropy_peaks(ModelLeaf):
    r"""$\frac1n \sum_{t \in top} H_t - \frac1T \sum_t H_t$ over the entropies of a try's tokens, with the $n$ greatest of them
    being a `share`, rounded up: high where few choices are open and the rest is sure.

    >>> print(entropy_peaks())
    entropy_peaks
    """

    model: str = "policy"
    share: float = knob(default=0.2, gt=0.0, le=1.0)

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), self.model)
        entropy = tokens.read(self.model, ["entropy"])["entropy"].double()
        return outcome_of_each(tokens, self.model, lambda _, steps: outcome_of(peaks(entropy[steps], self.share)))


def peaks(entropy: Tensor, share: float) -> float:
    """How far the greatest entropies are above all, on average.

    >>> round(peaks(torch.tensor([0.0, 2.0, 0.0, 0.0, 0.5]), 0.2), 6)
    1.5
    """
    return float(entropy.topk(ceil(share * len(entropy))).values.mean() - entropy.mean())
