"""Noisy rewards and RPR: GRPO on rewards of which a share is flipped, corrected by what phrases of reasoning a try has.

Paper: Lv et al. 2025, The climb carves wisdom deeper than the summit (arXiv:2505.22653), read in its abstract and figure 9. A
share `flips` of rewards is turned round, of all tries at a problem at once (the paper) or of each alone: planted noise, 0 for a
judge that has its own. The reasoning pattern reward is how many of a list of phrases a text has, each once, less the share of
its n-grams that occur again. `pay` is the noisy reward, the patterns alone, or the larger of both: where the judge says no, a
try that reasons is paid for that, which makes up for false negatives. Different: the list is ours, of the paper's kind; set
`phrases` for a model that reasons in other words. GRPO stands for the paper's PPO. Leaves out: the demand for an answer in its
tags, a penalty for a text that writes the user's part.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.algebra import flipped, most
from guerdon.rewards.text.overlap import ngrams

PHRASES = (
    *("i need to", "we need to", "let me", "let us", "let's", "wait", "alternatively", "first", "next", "finally"),
    *(
        "we know",
        "we can see",
        "check",
        "try again",
        "not correct",
        "does not work",
        "since",
        "because",
        "therefore",
        "thus",
    ),
    *("hence", "so that", "for example", "if we"),
)


@recipe(
    "noisy-rewards-rpr",
    family="policy",
    paper="arXiv:2505.22653",
    on=grpo,
    needs=Needs(answers="reward", text=True),
    helps=("noisy-judge",),
)
def noisy_rewards_rpr(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    pay: Literal["noisy", "patterns", "larger"] = "larger",  # the paper has all three
    flips: float = 0.0,  # planted noise; the paper has 0 to 0.5
    flips_by: Literal["group", "try"] = "group",  # the paper
    patterns: float = 1.0,  # weight of the reasoning patterns
    phrases: tuple[str, ...] = PHRASES,  # in lower case; ours
    enough: int = 12,  # phrases that earn all of it, half of the list as in the paper's code
) -> Recipe:
    """GRPO on a noisy reward, and on phrases of reasoning where that says no."""
    noisy = flipped(worth(task, reward), flips, by=flips_by)
    reasoned = reasoning_patterns(phrases, enough).weight(patterns)
    return paid_by(base, {"noisy": noisy, "patterns": reasoned, "larger": most(noisy, reasoned)}[pay])


@part
class reasoning_patterns(Leaf):
    r"""$\max(0, \min(1, k / enough) - s)$ with $k$ the number of `phrases` in the text and $s$ the share of its n-grams of `n`
    words that occur more than once, each counted once.

    >>> reward = reasoning_patterns(("first", "then"), enough=2, n=1)
    >>> reward("First we add, then we stop."), reward("then then")  # 1 - 1/6: "we" occurs again; 1/2 - 1/2
    (0.8333333333333334, 0.0)
    """

    phrases: tuple[str, ...]
    enough: int = knob(default=12, ge=1)
    n: int = knob(default=20, ge=1)

    def __call__(self, completion: str) -> float:
        text = completion.lower()
        counts = ngrams(text.split(), self.n)
        again = sum(count > 1 for count in counts.values()) / max(counts.total(), 1)
        return max(0.0, min(1.0, sum(phrase in text for phrase in self.phrases) / self.enough) - again)
