"""Crome: a reward model that learns what makes an answer better from copies with one thing changed.

Paper: Srivastava et al. 2025, Robust Reward Modeling via Causal Rubrics (arXiv:2506.16507). Causal augmentations are pairs that
differ in one thing that makes an answer better or worse, with d = r(better) - r(worse) and the loss -log sigma(d); neutral
augmentations differ only in what should not matter and are ties, -(log sigma(d) + log sigma(-d)) / 2. Both stand beside the
preferences of the data.
Different: changes are rules (a wrong last number; spaces around signs). In the paper a language model writes causal pairs along
rubrics, and neutral pairs are answers to unrelated questions. Left out: filtering by the model's uncertainty.
"""

import re
from collections.abc import Callable

import guerdon as gd
from guerdon.recipes.house.reward_model import reward_model


def miscounted(text: str) -> str | None:
    """The answer with its last number one higher; None where it has no number."""
    *_, last = [None, *re.finditer(r"\d+", text)]
    return None if last is None else f"{text[: last.start()]}{int(last[0]) + 1}{text[last.end() :]}"


def respaced(text: str) -> str:
    """The answer with spaces around the signs inside its lines: it says the same."""
    return re.sub(r"(?<=\w)[-+*/](?=\w)", lambda sign: f" {sign[0]} ", text)


@gd.recipe("crome-example", family="judges", paper="arXiv:2506.16507", on=reward_model)
def crome(
    base: gd.Recipe, *, causal: Callable[[str], str | None] = miscounted, neutral: Callable[[str], str] = respaced
) -> gd.Recipe:
    """A reward model of preferences, of right answers against spoiled copies, and of ties with harmless copies."""
    worse = gd.select.changed_copies(causal)
    alike = gd.select.changed_copies(neutral, "neither", least=0.0)
    return base.but(after={"paired": [worse, alike]})
