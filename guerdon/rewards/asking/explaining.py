"""`explain`: how one sample's score comes about, for a reward and a text without a run."""

from __future__ import annotations

from typing import Any

from guerdon.rewards.asking.token_ids import with_token_ids
from guerdon.rewards.formula.reward import as_reward


def explain(reward: Any, *, tokenizer: str | Any = None, **sample: Any) -> str:
    """How one sample's score comes about, a line for the whole and each part.

    The sample is its fields: completion, answer, prompt, whatever the reward asks for. A `tokenizer` (a model's name or folder,
    a tokenizer.json, a tokenizer) counts the completion's tokens for rewards that measure in them.

    Args:
        reward: the reward.
        tokenizer: counts the completion's tokens for rewards that need them.
        sample: fields of the sample by name.

    >>> import guerdon as gd
    >>> print(gd.explain(gd.exact() + gd.length(3, margin=4).weight(0.5), completion="4 5 6", answer="4", tokenizer="sprig"))
    blend: 0.25   = exact + 0.5 * length
      exact: 0
      length: 0.5
    """
    fields = sample if tokenizer is None else with_token_ids([sample], tokenizer)[0]
    return as_reward(reward).explain(**fields)
