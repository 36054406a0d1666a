"""Format and length as surrogates: GRPO that is paid for a readable answer of a middle length, and never for a right one.

Paper: Xin et al. 2025 (arXiv:2505.19439); code: insightLLM/rl-without-gt, rl/verl/lib/src/rewards/math_reward.py, lines 231 and
365. With x, a completion's tokens over `max_tokens`, and the turning point p its length is worth f = 1 - (1 - x/p)^2 up to p
and 1 - 2((x - p)/(1 - p))^2 beyond it. One whose answer can be read is paid 1/2 for that, 1/2 for its tags, and f; any other at
most 0: min(0, f). The paper's finding is that this teaches answering habits to a model that can solve the problems, and nothing
to one that cannot. The truth, where a task knows it, is logged and not learned from.
Different: an answer can be read where a vote would find one after a mark. Leaves out: the code's parser of formulas, and its
tags, unless `tags` names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.text.overlap import vote
from guerdon.rewards.text.shape import Unit, has_format, size

MARKS = ("####", r"\boxed", "Answer:", "= ")  # what an answer follows


@recipe(
    "format-length-surrogate",
    family="self_reward",
    paper="arXiv:2505.19439",
    on=grpo,
    needs=Needs(answers=False, text=True, learns_from="the form of its own tries"),
    helps=("few-labels",),
)
def format_length_surrogate(
    base: Recipe,
    *,
    turning: float = 0.5,  # the share of max_tokens that is worth most; the released code
    formed: float = 0.5,  # what an answer that can be read is worth beside its length, and its tags; the released code
    read: Literal["number", "text"] = "number",  # what an answer is; ours
    marks: tuple[str, ...] = MARKS,  # what it follows; ours
    tags: str = "",  # a template of has_format, <think>..</think><answer>..</answer> in the released code
) -> Recipe:
    """GRPO on the form of an answer and a parabola of its length."""
    limit = base.sampling.max_tokens
    return paid_by(base, well_formed(limit, turning=turning, formed=formed, read=read, marks=marks, tags=tags))


@part
class well_formed(Leaf):
    r"""$f = 1 - (1 - x/p)^2$ for $x \le p$ and $1 - 2\big(\frac{x - p}{1 - p}\big)^2$ beyond, with $x = n/limit$ at most 1; and
    $b\,([read] + [tags]) + f$ where an answer can be read, $\min(0, f)$ elsewhere (arXiv:2505.19439).

    >>> paid = well_formed(8, unit="words")
    >>> [paid(text) for text in ("= 4", "so it is = 4", "so 4", "it is = 4 or it is = 5")]
    [1.25, 1.375, 0.0, -0.5]
    """

    limit: int = knob(ge=1)
    turning: float = knob(default=0.5, gt=0.0, le=0.99)
    formed: float = 0.5
    read: Literal["number", "text"] = "number"
    marks: tuple[str, ...] = MARKS
    tags: str = ""
    unit: Unit = "actions"

    def __call__(self, completion: str, actions: Sequence[Any] | None = None) -> float:
        x, p = min(size(completion, actions, self.unit) / self.limit, 1.0), self.turning
        worth = 1 - (1 - x / p) ** 2 if x <= p else 1 - 2 * ((x - p) / (1 - p)) ** 2
        if vote(completion, self.read, self.marks, False) is None:
            return min(0.0, worth)
        tagged = has_format(self.tags)(completion) if self.tags else 0.0
        return self.formed * (1 + tagged) + worth
