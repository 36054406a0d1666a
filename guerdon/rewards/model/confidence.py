"""Rewards that are a model's own confidence: in all it wrote, in a part of it, or in the right answer after reading a text.

Confidence sharpens what a model already believes, right or wrong, and every kind can be earned by short or repeated texts;
log them beside a reward that knows the truth. Left out: agreement between samples (`rewards/text/agreement.py`), and hidden
answers, which the perplexity of the answer would show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.models.probing import probe
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, outcome_of_each, sample_tokens, too_long
from guerdon.text.answers import EVERY_MARK, Span, answer_in, mark_place


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


Reading = Literal["probability", "logp", "entropy"]
READ: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {  # what a model reads, and what is made of it
    "probability": ("logp", torch.exp),
    "logp": ("logp", lambda number: number),
    "entropy": ("entropy", lambda number: number),
}


@part
class span_mean(ModelLeaf):
    r"""$\frac{1}{|A|}\sum_{t \in A} x_t$: the mean of a reading over the tokens of a part $A$ of the generated text.

    The default is the mean probability of the tokens of the final answer, after all that was written before it: CRew, a score
    for best-of-N and filtering that needs no training (Confidence as a Reward, Du et al. 2025, arXiv:2510.13501). Entropies
    before and after a mark are the phases of PEAR (Huang et al. 2025, arXiv:2510.08026).

    The answer is what `majority` counts as one: the number, or the text, that follows the last place of the first of `marks`
    that occurs; without one it is the last number, or the whole text, unless `fallback` is off. `over="before"` and `"after"`
    are cut at that place; the mark belongs to neither. A token that spells any character of a part is of that part, so ends
    of turns are of none. The text is that of the last turn, and given actions are not counted. Probabilities are of the
    distributions that were sampled from. Where the mark is missing, the part has no token, or there is no answer, it does
    not apply: never 0. `model` is a name of the run's models; of another than the player it is what that one makes of the text.

    Args:
        reading: what is averaged: the probability or log-prob of the tokens, or the entropy of their distributions.
        over: the tokens of the answer, or those before or after the mark.
        answer: what an answer is: a number, or text.
        marks: the answer follows the last place of the first that occurs.
        fallback: without a mark take the last number, or the whole text, as the answer.
        model: name of a model of the run.

    >>> import guerdon as gd
    >>> phase = gd.rewards.span_mean("entropy", over="before", marks=("</think>",))
    >>> print(gd.exact() + phase.weight(-0.1))
    exact - 0.1 * span_mean
    """

    reading: Reading = "probability"
    over: Literal["answer", "before", "after"] = "answer"
    answer: Literal["number", "text"] = "number"
    marks: tuple[str, ...] = EVERY_MARK
    fallback: bool = True
    model: str = "policy"

    def __post_init__(self) -> None:
        check_plain(self)
        if not self.marks or not all(isinstance(mark, str) and mark for mark in self.marks):
            raise UserError(f"span_mean.marks holds texts to look for, like ('####',), not {self.marks!r}")

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), self.model)
        name, made = READ[self.reading]
        number = made(tokens.read(self.model, [name])[name].double())

        def mean(track: int, _: Tensor) -> Outcome:
            turn = tokens.spelled(track, self.model)
            span = self.span(turn.text)
            steps = turn.within(*span) if span is not None else []
            if not steps:
                return Outcome(Reason.NOT_APPLICABLE, detail={"why": self._missing(span)})
            return outcome_of(float(number[steps].mean()))

        outcomes = outcome_of_each(tokens, self.model, mean)
        if samples.play is not None and outcomes and not any(each.reason is Reason.VALUE for each in outcomes):
            why = next((each.detail["why"] for each in outcomes if each.detail and "why" in each.detail), "")
            samples.play.warn(f"{self.name} applied to no sample{f': {why}' if why else ''}: see its marks")
        return outcomes

    def span(self, text: str) -> Span | None:
        """Where the part stands in a text."""
        if self.over == "answer":
            given = answer_in(text, self.answer, self.marks, self.fallback)
            return None if given is None else given.span
        place = mark_place(text, self.marks)
        if place is None:
            return None
        return (0, place[0]) if self.over == "before" else (place[1], len(text))

    def _missing(self, span: Span | None) -> str:
        if span is None:
            return "no answer" if self.over == "answer" else f"none of the marks {self.marks!r}"
        return f"no token of its own {'in the answer' if self.over == 'answer' else f'{self.over} the mark'}"


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
