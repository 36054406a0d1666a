"""FLR: DPO on own tries, ranked by how likely a satisfied reply of the one who asked would be after each.

Paper: Zhang et al. 2024, follow-up likelihood as reward (arXiv:2409.13948), read in its abstract. After a question and an
answer a reader is asked for the reply of the one who asked. The reward is the mean log-likelihood of a list of satisfied
replies, less that of a list of dissatisfied ones; of the policy's tries the best by it stands against the worst, as in online
DPO. The reader is the start model, or a model of yours that learned from people's reactions, which the paper finds much better.
Ours, since the abstract does not say: each reply counts by the mean over its tokens, and the lists and the wording are ours.
Leaves out: teaching the reader from feedback in words (`guerdon train sft` does), and forms of preference loss other than
DPO's.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.placeholders import check_template
from guerdon.core.recipe import Recipe, recipe
from guerdon.models import load
from guerdon.models.probing import probe
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.house.shared import ranked_by
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, too_long

ASKED = "{prompt}\n\n{completion}\n\nWhat does the one who asked reply?"
PLEASED = ("Thank you, that is right.", "Great, that helps.")
DISPLEASED = ("No, that is wrong.", "That does not answer my question.")


@recipe(
    "flr",
    family="self_reward",
    paper="arXiv:2409.13948",
    on=online_dpo,
    needs=Needs(answers=False, text=True, one_turn=True, learns_from="the replies that a reader expects"),
    helps=("few-labels",),
)
def flr(
    base: Recipe,
    *,
    reader: Any = "",  # what replies are read by: a model, or its name or folder; the start model without one
    positive: tuple[str, ...] = PLEASED,  # replies that are satisfied; ours
    negative: tuple[str, ...] = DISPLEASED,  # replies that are not; ours
    asking: str = ASKED,  # how the reader is asked for a reply; ours
) -> Recipe:
    """Online DPO on how likely a satisfied reply would be."""
    if reader:
        base.models["reader"] = load(reader) if isinstance(reader, str) else reader
    replies = follow_up_likelihood(tuple(positive), tuple(negative), asking, "reader" if reader else "reference")
    return ranked_by(base, replies)


@part
class follow_up_likelihood(ModelLeaf):
    r"""$\frac{1}{|P|}\sum_{f \in P} \ell(f) - \frac{1}{|N|}\sum_{f \in N} \ell(f)$ with $\ell(f)$ the mean log-prob of the
    tokens of a follow-up $f$, after the question and the answer: positive ones less negative ones (arXiv:2409.13948).

    What is said of an answer by someone who did not read it is a constant, so a model that has never seen reactions to answers
    does not rank them. A sample that is too long for the model has *failed*.

    >>> print(follow_up_likelihood(("thanks",), ("no",)))
    follow_up_likelihood
    """

    positive: tuple[str, ...]
    negative: tuple[str, ...]
    show: str = ASKED
    model: str = "reference"

    def __post_init__(self) -> None:
        check_template("follow_up_likelihood.show", self.show, "prompt", "completion")
        for name in ("positive", "negative"):
            said = getattr(self, name)
            if isinstance(said, str) or not said or not all(isinstance(text, str) and text.strip() for text in said):
                raise UserError(f"follow_up_likelihood.{name} is a list of replies, like ('Thanks.',), not {said!r}")

    async def score(self, samples: Samples) -> list[Outcome]:
        model = model_of(self.play_of(samples), self.model)
        replies = [*self.positive, *self.negative]
        share = [1 / len(self.positive)] * len(self.positive) + [-1 / len(self.negative)] * len(self.negative)
        shown = [self.show.format(prompt=each["prompt"], completion=each["completion"]) for each in samples.fields]
        read = probe(model, [((), view, reply) for view in shown for reply in replies], ["logp"])
        outcomes = []
        for first in range(0, len(read), len(replies)):
            mine = [reading["logp"].double().mean() for reading in read[first : first + len(replies)] if reading]
            if len(mine) < len(replies):
                outcomes.append(too_long(self.model))
            else:
                outcomes.append(outcome_of(float(sum(s * m for s, m in zip(share, mine, strict=True)))))
        return outcomes
