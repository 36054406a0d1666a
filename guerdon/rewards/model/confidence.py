"""Rewards that are a model's own confidence: in its answer, or in the right answer after reading a text.

Confidence sharpens what a model already believes, right or wrong, and all three kinds can be earned by short or repeated texts;
log them beside a reward that knows the truth. Left out: agreement between samples (`rewards/text/agreement.py`), and hidden
answers, which the perplexity of the answer would show.
"""

from __future__ import annotations

from typing import ClassVar

from guerdon.core.column import Reason
from guerdon.core.part import part
from guerdon.models.probing import probe
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, outcome_of_each, sample_tokens, too_long


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

    Args:
        model: name of a model of the run.

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

    Args:
        model: name of a model of the run.

    >>> import guerdon as gd
    >>> print(gd.exact() + gd.low_entropy().weight(0.01))
    exact + 0.01 * low_entropy
    """

    model: str = "policy"
    reading: ClassVar[str] = "entropy"
    sign: ClassVar[float] = -1.0


@part
class likelihood(_Confidence):
    r"""$\frac1T\sum_t \log p_t(y_t)$: the mean log-prob of the generated text; $-\log$ of its perplexity.

    Of the policy itself it is confidence; of another model (`model`, a name of the run's models) it is how natural that one
    finds the text. Taken over its own samples its mean is minus the entropy, so it rewards low entropy as well.

    Args:
        model: name of a model of the run.

    >>> import guerdon as gd
    >>> gd.likelihood("reference")
    likelihood(model='reference')
    """

    model: str = "policy"
    reading: ClassVar[str] = "logp"


@part
class perplexity_gain(ModelLeaf):
    r"""$\frac1T\sum_t \log p(a_t \mid x, y, a_{<t}) - \frac1T\sum_t \log p(a_t \mid x, a_{<t})$: how much the completion $y$
    raises a model's mean log-prob of the answer $a$; the logarithm of the factor by which its perplexity falls.

    The model is shown the prompt, and the prompt, `between` and the completion, and the answer is teacher-forced each time.
    Quiet-STaR (Zelikman et al. 2024, arXiv:2403.09629) rewards thoughts by how much they raise the likelihood of the text to
    come; its baseline is the mean over thoughts, here no thought. A completion that states the answer earns most,
    so where the policy sees the answer it learns to copy. Without an answer it does not apply; what is too long for the model
    failed.

    Args:
        model: name of a model of the run.
        between: text between prompt and completion.

    >>> import guerdon as gd
    >>> print(gd.perplexity_gain("reader").clip(-1, 1))
    clip(perplexity_gain, -1, 1)
    """

    model: str = "policy"
    between: str = "\n\n"

    def __post_init__(self) -> None:
        check_plain(self)

    async def score(self, samples: Samples) -> list[Outcome]:
        model = model_of(self.play_of(samples), self.model)
        asked: list[tuple[str, str, str] | None] = []  # (prompt, prompt with the completion, answer)
        for fields in samples.fields:
            prompt, said, answer = (str(fields.get(name) or "") for name in ("prompt", "completion", "answer"))
            asked.append((prompt, prompt + self.between + said, answer) if answer.strip() else None)
        turns = [(view, one[2]) for one in asked if one for view in one[:2]]
        readings = probe(model, [((), *turn) for turn in turns], ["logp"])
        mean = {turn: float(r["logp"].double().mean()) for turn, r in zip(turns, readings, strict=True) if r}
        return [self._gain(one, mean) for one in asked]

    def _gain(self, asked: tuple[str, str, str] | None, mean: dict[tuple[str, str], float]) -> Outcome:
        if asked is None:
            return Outcome(Reason.NOT_APPLICABLE)
        before, after = (mean.get((view, asked[2])) for view in asked[:2])
        return too_long(self.model) if before is None or after is None else outcome_of(after - before)
