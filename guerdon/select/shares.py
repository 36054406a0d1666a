"""A share of all that was tried: the best of it by some score, or any.

Leaves out: the best of each problem (`filters.best`).
"""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch
from guerdon.core.part import knob, part
from guerdon.core.play import Play


@part
class top_share:
    r"""Of all tracks the share `share` that scores highest in `column`, rounded up, of equals the first; or with
    `column=""` as many by lot. One without a score is not kept.

    How reward models choose traces to imitate: ReasonFlux-PRM (Zou et al. 2025, arXiv:2506.18896) keeps the highest
    thousand of 59,000 with no regard to the problem. *Biased* towards problems whose tries score high, easy ones; `best`
    takes of every problem its own. Each step's batch is chosen from by itself.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.top_share("reward", 0.4)(example_tries([[0.0, 2.0, 1.0], [None, 3.0]]), ExamplePlay())["reward"].tolist()
    [2.0, 3.0]
    """

    column: str = "reward"
    share: float = knob(default=0.2, gt=0.0, le=1.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.column,) if self.column else ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if self.column:
            score = batch.track_column(self.column, "top_share").value.double()
        else:
            score = torch.rand(batch.K, generator=play.generator("top_share"), dtype=torch.float64)
        score = score.masked_fill(batch.failed_K, float("nan"))
        size = -(-round(self.share * batch.K * 1e6) // 1_000_000)
        order = torch.argsort(torch.nan_to_num(score, nan=float("-inf")), descending=True, stable=True)[:size]
        kept = torch.zeros(batch.K, dtype=torch.bool)
        kept[order] = ~score[order].isnan()
        return batch.take(kept)
