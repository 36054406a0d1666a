"""Scores by which a problem looks as if a model had been trained on it, all of them higher the more so.

`self_critique` is Tao et al.'s (arXiv:2510.09259; detectors/self_critique.py:4-15 of
github.com/yongding-tao/RL-Data-Contamination): entropies of two greedy answers, the second asked for another way. Where
reinforcement has narrowed what the model does, both have the same shape. The others look at one answer: `perplexity`;
`min_k`, the mean log-prob of its least likely tokens (Shi et al., arXiv:2310.16789); `min_k_plus`, the same in standard
deviations from what the model expects (Zhang et al., arXiv:2404.02936); `entropy`, the mean of it. The authors' mink.py:29
gives minus the mean and calls high values suspicious, which is the opposite of Shi et al.: here a likely answer is the
suspicious one. Left out: sampled answers compared with greedy ones (CDD), recall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def self_critique(first: Numbers, second: Numbers) -> float:
    """Cosine of the two rows of entropies, the shorter one padded with zeros, times the shorter length over the longer.

    >>> import numpy as np
    >>> round(self_critique(np.array([1.0, 0.0, 2.0]), np.array([1.0, 0.0])), 4)  # 1 / sqrt(5), times 2 / 3
    0.2981
    """
    if len(first) == 0 or len(second) == 0:
        return float("nan")
    longest = max(len(first), len(second))
    one, other = (np.pad(each, (0, longest - len(each))) for each in (first, second))
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / sizes * min(len(first), len(second)) / longest if sizes > 0 else 0.0


def perplexity(logp: Numbers) -> float:
    """Minus the perplexity, -exp(-mean log-prob)."""
    return -float(np.exp(-logp.mean())) if len(logp) else float("nan")


def min_k(logp: Numbers, share: float = 0.2) -> float:
    """Mean of the lowest `share` of the numbers, of one at least."""
    return float(np.sort(logp)[: max(1, int(len(logp) * share))].mean()) if len(logp) else float("nan")


def min_k_plus(logp: Numbers, entropy: Numbers, top_logp: Numbers, share: float = 0.2) -> float:
    """`min_k` of (log-prob - mean) / deviation, both of log-probs under the model: the mean is minus the entropy, the deviation
    is of the likeliest tokens, [T, N], where the rest has next to no weight."""
    if len(logp) == 0:
        return float("nan")
    spread = (np.exp(top_logp) * top_logp**2).sum(1) - entropy**2
    return min_k((logp + entropy) / np.sqrt(np.maximum(spread, 1e-6)), share)


def mean_entropy(entropy: Numbers) -> float:
    """Minus the mean entropy."""
    return -float(entropy.mean()) if len(entropy) else float("nan")
