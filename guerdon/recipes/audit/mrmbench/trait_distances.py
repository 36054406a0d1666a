"""Inference-time probing, the other half of MRMBench's paper: which traits a reward model leans on for one answer, and how far
its reward can be trusted there. No recipe; the claim does not use it.

Paper: Wang et al. 2025 (arXiv:2511.12464), by summaries of it; the released code has the probes alone. Answers whose traits are
known give every trait its centres, one for each label; the nearer a new answer's hidden state is to one of a trait's centres,
the more the reward leans on that trait. Where it is near none the reward is not to be trusted, and the paper's PPO leaves such
tries out (d > 140 there: a limit has to be found for each model).
Departs: a centre is the mean of a label's answers, where the paper has k-means: traits are drawn for the same answers here,
whose clusters without labels would be the same for every trait. Leaves out: PPO; `nearest(...)[1] <= limit` says what to learn
from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.recipes.audit.mrmbench.parts import Has, Rows, TraitAnswer, hidden_of
from guerdon.recipes.audit.mrmbench.trait_pool import ranked
from guerdon.recipes.audit.scorer_pool import said_of


def centres_of(hidden: Rows, has: Sequence[Has]) -> dict[str, Rows]:
    """By trait, [2, E]: the mean hidden state of the answers without it and of those with it."""
    centres = {}
    for trait in has[0]:
        there = np.array([each[trait] for each in has])
        if there.all() or not there.any():
            raise UserError(f"no answer is {'without' if there.all() else 'with'} {trait}: give answers of both kinds")
        centres[trait] = np.stack([hidden[~there].mean(0), hidden[there].mean(0)])
    return centres


def distances(hidden: Rows, centres: dict[str, Rows]) -> dict[str, Rows]:
    r"""By trait, [N]: $\min_i\lVert h - c_i\rVert_2$ over the trait's centres; small where the reward leans on the trait."""
    return {
        trait: np.linalg.norm(hidden[:, None, :] - places[None], axis=2).min(1) for trait, places in centres.items()
    }


def nearest(by_trait: dict[str, Rows]) -> tuple[list[str], Rows]:
    """Of every answer the trait that it is nearest to, the first of equals, and how near: the less, the more to be trusted."""
    traits, every = list(by_trait), np.stack(list(by_trait.values()))
    return [traits[i] for i in every.argmin(0)], every.min(0)


def leaned_on(scorer: Model, known: Sequence[TraitAnswer], asked: Sequence[TraitAnswer]) -> tuple[list[str], Rows]:
    """What `nearest` says of the answers `asked` for, by a reward model's hidden states of answers whose traits are known."""
    there, here = (hidden_of(scorer, [(each.prompt, each.text) for each in some]) for some in (known, asked))
    return nearest(distances(here, centres_of(there, [each.has for each in known])))


def trusted_ranking(
    scorer: Model, known: Sequence[TraitAnswer], pairs: Sequence[tuple[TraitAnswer, TraitAnswer]], share: float = 0.5
) -> dict[str, float]:
    """How often a reward model ranks pairs rightly: the `share` of them it is to be trusted with most, by the farther answer of
    each (`near`), and the others (`far`)."""
    _, far = leaned_on(scorer, known, [each for pair in pairs for each in pair])
    order = np.argsort(far.reshape(-1, 2).max(1), kind="stable").tolist()
    cut = round(share * len(pairs))
    parts = {"near": order[:cut], "far": order[cut:]}
    return {name: ranked(partial(said_of, scorer), [pairs[i] for i in some]) for name, some in parts.items() if some}
