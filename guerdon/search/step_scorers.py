"""Step scorers: a score for each line of a search tree, and the reduction of a path's scores to one.

A scorer has `reduce_steps`, `steps(tree, lines)` (a score for each line) and `texts(tree, texts)` (a score for each whole
answer, for searches that change the prompt).
Leaves out: training them (docs/reward_models.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Protocol, cast

import torch

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.renamed import say_renamed
from guerdon.core.step_reductions import REDUCTIONS, Reduction
from guerdon.search.line_tree import LineTree, TreeLine


class StepScorer(Protocol):
    reduce_steps: Reduction

    async def steps(self, tree: LineTree, lines: Sequence[TreeLine]) -> list[float]: ...

    async def texts(self, tree: LineTree, texts: Sequence[str]) -> list[float]: ...


async def worth(scorer: StepScorer, tree: LineTree, lines: Sequence[TreeLine]) -> list[float]:
    """The score of the path to each line: lines without a score get one, and `reduce_steps` makes one number of a path's."""
    how = _reduction(scorer)
    wanted = lines if how == "last" else [each for line in lines for each in line.way]
    fresh = [line for line in dict.fromkeys(wanted) if line.step != line.step]
    for line, value in zip(fresh, await scorer.steps(tree, fresh) if fresh else (), strict=True):
        line.step = value
    take = REDUCTIONS[how]
    return [take(torch.tensor([each.step for each in line.way], dtype=torch.float64)) for line in lines]


def _reduction(scorer: StepScorer) -> Reduction:
    if not hasattr(scorer, "reduce_steps") and hasattr(scorer, "along"):
        say_renamed(f"{type(scorer).__name__}.along", "reduce_steps")
        return cast(Reduction, scorer.along)
    return scorer.reduce_steps


@part(was="headed")
class value_scorer:
    r"""$\sigma(w \cdot h + b)$ after a line's last token: the output there of a model of the run with a value head, by its
    name.

    A process reward model (Lightman et al. 2023, arXiv:2305.20050) is read where it was trained, at the ends of lines; a
    reward model of whole answers was not trained to score partial ones. `reduce_steps` reduces a path's scores to one: `min`
    for a head that saw nothing after a first error; `last` for one that predicts the outcome (Snell et al. 2024,
    arXiv:2408.03314); or `product`, `mean`, `sum`. Without `squash` scores are the head's raw outputs. As biased as the head:
    search finds what it overrates.

    Args:
        model: name of a model of the run with a value head.
        reduce_steps: how lines become one number.
        squash: return probabilities.

    >>> import guerdon as gd
    >>> gd.search.value_scorer("prm", reduce_steps="last").reduce_steps
    'last'
    """

    model: str = "scorer"
    reduce_steps: Reduction = knob(default="min", was="along")
    squash: bool = True

    async def steps(self, tree: LineTree, lines: Sequence[TreeLine]) -> list[float]:
        name = f"{self.model}.final"
        return self._told([r[name] for r in await tree.seat.read_each(name, [line.number for line in lines])])

    async def texts(self, tree: LineTree, texts: Sequence[str]) -> list[float]:
        name = f"{self.model}.final"
        return self._told([r[name] for r in await tree.seat.read_texts(name, tree.ask.shown, texts)])

    def _told(self, read: Sequence[torch.Tensor]) -> list[float]:
        values = torch.stack(list(read)).double() if read else torch.zeros(0, dtype=torch.float64)
        if values.dim() > 1:
            raise UserError(f"{self.model!r} says {values.shape[1]} numbers at a place, and a search needs one")
        return list((torch.sigmoid(values) if self.squash else values).tolist())


@part
class log_ratio:
    r"""$\beta \sum_t \log \frac{\pi(y_t \mid x, y_{<t})}{\pi_{ref}(y_t \mid x, y_{<t})}$ over a line's tokens: the reward
    of the step that a model trained by DPO, or on outcomes alone, implies (Rafailov et al. 2024, arXiv:2404.12358; Yuan et al.
    2024, arXiv:2412.01981).

    Both are models of the run, by name, that read text as the one that is sampled does. `reduce_steps` is the `sum` unless
    set otherwise: with it a way is worth its own log-ratio, which grows with its length.

    Args:
        model: name of the trained model.
        reference: name of the reference model.
        reduce_steps: how lines become one number.

    >>> import guerdon as gd
    >>> gd.search.log_ratio("prm", "reference", beta=0.1).reduce_steps
    'sum'
    """

    model: str = "prm"
    reference: str = "reference"
    beta: float = knob(default=0.05, gt=0.0)  # PRIME's, arXiv:2502.01456
    reduce_steps: Reduction = knob(default="sum", was="along")

    def __post_init__(self) -> None:
        if self.model == self.reference:
            raise UserError(f"log_ratio compares two models, and both are {self.model!r}: the ratio would always be 1")

    @property
    def want(self) -> list[str]:
        return [f"{self.model}.logp", f"{self.reference}.logp"]

    async def steps(self, tree: LineTree, lines: Sequence[TreeLine]) -> list[float]:
        return self._told(await tree.seat.read_each(self.want, [line.number for line in lines], said=True))

    async def texts(self, tree: LineTree, texts: Sequence[str]) -> list[float]:
        return self._told(await tree.seat.read_texts(self.want, tree.ask.shown, texts))

    def _told(self, read: Sequence[dict[str, torch.Tensor]]) -> list[float]:
        ours, theirs = self.want
        return [self.beta * float((r[ours].double() - r[theirs].double()).sum()) for r in read]


@part(was="played_out")
class monte_carlo_scorer:
    r"""$\frac1n \sum_{i=1}^{n} v(y_i)$: the mean value of `tries` continuations of a line, by `by`: a task, whose check decides
    which are right (the labels of Math-Shepherd, Wang et al. 2023, arXiv:2312.08935, for training and never for an
    exam); or a scorer, read at their ends.

    All that is played out is sampled and counted, and stands in the tree. Unbiased for the model's own success rate from
    there, with a standard error of up to $1/(2\sqrt{n})$. A finished way gets no rollouts.

    Args:
        by: task whose check scores the rollouts, or a scorer.
        tries: rollouts from each line.
        reduce_steps: how lines become one number.

    >>> import guerdon as gd
    >>> gd.search.monte_carlo_scorer(gd.tasks.load("chain:2"), tries=8).reduce_steps
    'last'
    """

    by: Any
    tries: int = knob(default=4, ge=1)
    reduce_steps: Reduction = knob(default="last", was="along")

    def __post_init__(self) -> None:
        if not (hasattr(self.by, "check") or hasattr(self.by, "steps")):
            raise UserError(
                f"monte_carlo_scorer goes by a task or a scorer, such as value_scorer('prm'), not by {self.by!r}"
            )

    async def steps(self, tree: LineTree, lines: Sequence[TreeLine]) -> list[float]:
        going = [line for line in lines if not line.over]
        ends = await tree.grow([line for line in going for _ in range(self.tries)], whole=True)
        last = [*ends, *(line for line in lines if line.over)]
        for line, value in zip(last, await self._judged(tree, last), strict=True):
            line.step = value
        played = {line: ends[i * self.tries : (i + 1) * self.tries] for i, line in enumerate(going)}
        return [fmean(end.step for end in played[line]) if line in played else line.step for line in lines]

    async def texts(self, tree: LineTree, texts: Sequence[str]) -> list[float]:
        if hasattr(self.by, "check"):
            return [float(self.by.check(tree.ask.task, text) or 0.0) for text in texts]
        return list(await self.by.texts(tree, texts))

    async def _judged(self, tree: LineTree, lines: Sequence[TreeLine]) -> list[float]:
        if hasattr(self.by, "check"):
            return [float(self.by.check(tree.ask.task, line.text) or 0.0) for line in lines]
        return list(await self.by.steps(tree, lines)) if lines else []
