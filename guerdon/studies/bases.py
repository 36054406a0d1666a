"""Base models of different abilities out of one, and the problems that fit a base: what studies across models need.

Left out: models of other sizes and families, which are loaded by name.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch

from guerdon.core.model import Model


def blunted(model: Model, share: float, seed: int = 0) -> Model:
    """A copy with noise on every weight matrix, of `share` of its own standard deviation: a model that knows the same, worse.
    Gains and biases (vectors) stay as they are."""
    made = copy.deepcopy(model)
    made.start(seed, {})
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in made.weights.parameters():
            if weight.dim() > 1:
                noise = torch.randn(weight.shape, generator=dice).to(weight)
                weight.add_(noise, alpha=share * float(weight.std()))
    return made


def fitting(rates: Mapping[str, float], hard: bool = False) -> list[str]:
    """Half of the kinds (rounded up) by a model's rate of success at each: those nearest to 1/2, or the `hard` ones, those that
    it solves least. Of equals the first, and in the order given.

    >>> rates = {"a:1": 1.0, "a:2": 0.7, "a:3": 0.3, "a:4": 0.0}
    >>> fitting(rates), fitting(rates, hard=True)
    (['a:2', 'a:3'], ['a:3', 'a:4'])
    """
    order = sorted(rates, key=lambda kind: rates[kind] if hard else abs(rates[kind] - 0.5))
    best = set(order[: (len(order) + 1) // 2])
    return [kind for kind in rates if kind in best]
