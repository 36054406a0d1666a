"""Rewards that are a model's own confidence in what it said: no answer, no judge and no label is asked.

They sharpen what a model already believes, right or wrong, and all three can be earned by saying little or saying it again
and again; watch them beside a reward that knows the truth. Left out: agreement between samples (`rewards/text/agreement.py`).
"""

from __future__ import annotations

from typing import ClassVar

from guerdon.core.part import part
from guerdon.rewards.asking.outcomes import outcome_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.model_reading import ModelLeaf, outcome_of_each, sample_tokens


class _Confidence(ModelLeaf):
    """The mean of a reading over the steps a sample took; given ones are not its own."""

    model: str
    reading: ClassVar[str]
    sign: ClassVar[float] = 1.0

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), self.model)
        number = tokens.read(self.model, [self.reading])[self.reading].double() * self.sign
        return outcome_of_each(tokens, self.model, lambda _, steps: outcome_of(float(number[steps].mean())))


@part
class self_certainty(_Confidence):
    r"""$\frac1T\sum_t \mathrm{KL}(U \,\|\, p_t) = -\frac{1}{T\,|V|}\sum_t\sum_{v \in V} \log(|V|\,p_t(v))$: how far from
    uniform a model's choices were (Kang, Zhao & Song 2025, arXiv:2502.18581), the reward of Intuitor (Zhao et al. 2025,
    arXiv:2505.19590).

    $p_t$ is the distribution of step $t$ at the temperature it was sampled with; what top-k and the like cut from it still
    counts, for over what has no probability the sum is infinite. Intuitor's code leaves out the constant $-\log|V|$, which
    changes no advantage within a group. `model` is a name of the run's models; it must read `certainty`, as `lm` does.

    >>> import guerdon as gd
    >>> print(gd.self_certainty("critic") + gd.low_entropy().weight(0.1))
    self_certainty + 0.1 * low_entropy
    """

    model: str = "policy"
    reading: ClassVar[str] = "certainty"


@part
class low_entropy(_Confidence):
    r"""$-\frac1T\sum_t H(p_t)$, with $H(p_t) = -\sum_v p_t(v) \log p_t(v)$: the negative mean entropy of a model's choices
    (RENT, Prabhudesai et al. 2025, arXiv:2505.22660, rewards it over the tokens of a response).

    `losses.penalties.entropy` is the opposite: a bonus in the loss for *high* entropy. $p_t$ is the distribution that was
    sampled from, cuts and all. `model` is a name of the run's models.

    >>> import guerdon as gd
    >>> print(gd.exact() + gd.low_entropy().weight(0.01))
    exact + 0.01 * low_entropy
    """

    model: str = "policy"
    reading: ClassVar[str] = "entropy"
    sign: ClassVar[float] = -1.0


@part
class likelihood(_Confidence):
    r"""$\frac1T\sum_t \log p_t(y_t)$: the mean log-prob of what was said; $-\log$ of its perplexity.

    Of the policy itself it is confidence; of another model (`model`, a name of the run's models) it is how natural that one
    finds the text. Taken over its own samples its mean is minus the entropy, so it rewards low entropy as well.

    >>> import guerdon as gd
    >>> gd.likelihood("reference")
    likelihood(model='reference')
    """

    model: str = "policy"
    reading: ClassVar[str] = "logp"
