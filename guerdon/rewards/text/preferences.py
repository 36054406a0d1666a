"""How likely a sample is preferred to others of its group, where a function of two answers says which is better.

Leaves out: judges that compare two (`judges/compare.py`), and the order that a reward of single answers gives (`agreement.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from guerdon.core.column import Reason
from guerdon.core.part import part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Against, Samples, check_against, opponents
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.formula.scores import Outcome

TIE = 0.5
Asked = tuple[int, Any, Any]  # a group, and two texts in their order


@part
class preferred(Leaf):
    r"""$\frac{1}{|J_i|}\sum_{j \in J_i} P(y_i \succ y_j)$: how likely a sample is preferred to others of its group.

    `prefers(first, second)` returns the probability, 0 to 1, that the first of two completions is the better one. Beside
    `first` and `second` it may ask for what any reward may: prompt, answer, task. It need not rank: preferences may go in a
    circle. Each pair is asked about in both orders, $\frac12[P(i, j) + 1 - P(j, i)]$, so that a function which prefers what
    stands first prefers nothing. Equal completions tie unasked, and are asked about once in a group.

    `against` is whom a sample meets ($J_i$): "all", a number that each draws, or "one", which the group draws for all and which
    is itself *not applicable*, as a sample that is alone is. Where the function breaks, or returns no probability, the pair is
    left out; a sample without a pair left has *failed*.

    The reward of SPO within a batch (Swamy et al. 2024, arXiv:2401.04056). *Assumes* that the group is a fair sample of the
    policy it is compared with. For a judge take `pairwise`.

    Args:
        prefers: the function, or a reward of the fields `first` and `second`.
        against: number of opponents of each sample, "all", or "one" that the group draws for all.

    >>> import guerdon as gd
    >>> @gd.reward(isolate=False)
    ... def shorter(first, second):
    ...     return float(len(first) < len(second))
    >>> gd.score_samples(gd.preferred(shorter), [{"completion": text} for text in ("a", "bb", "bb")]).whole
    [1.0, 0.25, 0.25]
    """

    prefers: Any
    against: Against = "all"

    alone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.prefers = as_reward(self.prefers)
        check_against("preferred", self.against)

    @property
    def waits(self) -> bool:
        return bool(self.prefers.waits)

    async def score(self, samples: Samples) -> list[Outcome]:
        texts, group = [fields.get("completion") for fields in samples.fields], samples.group.tolist()
        met = [Counter(texts[j] for j in others) for others in opponents(samples, self.against)]
        asked: dict[Asked, int] = {}  # both orders of each pair of texts in a group, and a sample that has them
        for i, others in enumerate(met):
            for other in others:
                for order in ((texts[i], other), (other, texts[i])) if texts[i] != other else ():
                    asked.setdefault((group[i], *order), i)
        questions = [
            {**samples.fields[i], "meta": {**samples.fields[i]["meta"], "first": first, "second": second}}
            for (_, first, second), i in asked.items()
        ]
        of = [*asked.values()]
        pairs = Samples.of(questions, [samples.seeds[i] for i in of], [group[i] for i in of], samples.seed)
        said = dict(zip(asked, map(_probability, await self.prefers.score(pairs) if of else []), strict=True))
        return [self._outcome(group[i], text, met[i], said) for i, text in enumerate(texts)]

    def _outcome(self, group: int, text: Any, met: Counter[Any], said: Mapping[Asked, Outcome]) -> Outcome:
        if not met:
            return Outcome(Reason.NOT_APPLICABLE)
        points, count, broken = 0.0, 0, list[Outcome]()
        for other, times in met.items():
            both = [said[group, text, other], said[group, other, text]] if other != text else []
            wrong = [each for each in both if each.reason is not Reason.VALUE]
            broken += wrong
            if not wrong:
                points += times * (0.5 + (both[0].value - both[1].value) / 2 if both else TIE)
                count += times
        return Outcome(Reason.VALUE, points / count) if count else broken[0]


def _probability(said: Outcome) -> Outcome:
    """What the function returned, *failed* where it is no probability."""
    if said.reason is Reason.VALUE and not 0 <= said.value <= 1:
        error = f"ValueError: a preference is a probability, 0 to 1, not {said.value:g}"
        return Outcome(Reason.FAILED, detail={"error": error})
    return said
