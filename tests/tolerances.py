"""How far apart two ways to compute the same number may end: a bound from the arithmetic, the same on every machine.

A sum of n terms, in any order, with or without fused operations, errs by at most n·u·Σ|x| to first order, where u = eps/2
(Higham 2002, Accuracy and Stability of Numerical Algorithms, section 4.2): two such sums lie at most n·eps·Σ|x| apart. Through
a network, `terms` counts the additions one after the other on the way to an output, and `scale` is the largest output. That
leaves out what the weights of a network amplify; but roundings of both signs cancel, to about the square root of their number,
which is many times more than what is left out.
"""

from __future__ import annotations

import math

import torch
from small import small_config
from torch import Tensor

from guerdon.models.config import DecoderConfig


def rounding(terms: float, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> float:
    """n·eps·scale: what two sums of `terms` terms, whose absolute values add up to `scale`, may differ by."""
    return terms * torch.finfo(dtype).eps * scale


def wandering(terms: float, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> float:
    """8·√n·eps·scale, for networks of so many additions that n·eps says little: roundings whose signs are as good as random
    add up to about the square root of their number (Higham 2002, section 2.8), and eight times that is not seen by chance."""
    return 8 * math.sqrt(terms) * torch.finfo(dtype).eps * scale


def decoder_terms(config: DecoderConfig, positions: int) -> int:
    """The additions one after the other from a token to a logit, where the longest attention is over `positions`.

    A layer, without the norms that some families add: a norm and a product over `hidden` twice, scores over a head, the mix
    over positions, the product over all heads, and the product over `ff`. In the end a norm and a product over `hidden`.
    """
    head = config.head_dim
    layer = 4 * config.hidden + head + positions + config.heads * head + config.ff
    return config.layers * layer + 2 * config.hidden


LM_TERMS = decoder_terms(small_config(), positions=64)  # the small models of these tests, and what they are shown


def assert_rounded(found: Tensor, expected: Tensor, terms: float, scale: float = 1.0) -> None:
    """`found` is `expected` up to the rounding of `terms` additions, at the scale of the largest number expected.

    `scale` is the least that this is taken to be: a log-prob near 0 is a difference of larger numbers.
    """
    largest = float(expected.detach().abs().max()) if expected.numel() else 0.0
    atol = rounding(terms, max(scale, largest), expected.dtype)
    torch.testing.assert_close(found, expected, atol=atol, rtol=0.0)
