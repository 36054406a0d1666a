"""What a text is worth to a model that must say the answer after reading it. Left out: hidden answers, which it would show."""

from __future__ import annotations

from guerdon.core.column import Reason
from guerdon.core.part import part
from guerdon.models.probing import probe
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.outcomes import outcome_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, too_long


@part
class perplexity_gain(ModelLeaf):
    r"""$\frac1T\sum_t \log p(a_t \mid x, y, a_{<t}) - \frac1T\sum_t \log p(a_t \mid x, a_{<t})$: how much the completion $y$
    raises a model's mean log-prob of the answer $a$; the logarithm of the factor by which its perplexity falls.

    The model is shown the prompt, and the prompt, `between` and the completion, and made to say the answer each time.
    Quiet-STaR (Zelikman et al. 2024, arXiv:2403.09629) rewards thoughts by how much they raise the likelihood of the text to
    come; its baseline is the mean over thoughts, here it is no thought at all. A completion that states the answer earns most,
    so where the policy sees the answer it learns to copy. Without an answer it does not apply; what is too long for the model
    failed.

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
