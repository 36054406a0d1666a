"""Which steps of a track a learner learns from: selections for `Learn(on=...)` that mute single steps."""

from __future__ import annotations

import dataclasses
import math

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns
from guerdon.core.part import knob, part
from guerdon.core.play import Play


@part
class unlikely(FieldColumns):
    r"""The steps that were sampled with a probability under `below`: $\pi_{old}(a_t|s_t) < \rho$. All others are muted, in no
    sum and no denominator; their tracks stay.

    SPO's probability mask (Guo et al. 2025, arXiv:2505.23564; 0.9 is the paper's): a step that could hardly have gone otherwise
    decided nothing, and a segment's advantage is for those that did. Steps that were recited, and have no probability, are
    kept. Biased where many unlikely alternatives would together have changed the outcome: what is always said is never
    unlearned. Logs `unlikely_share`.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.unlikely()(example_tries([[1.0]], steps=2), ExamplePlay()).muted.tolist()  # sampled with probability 1
    [True, True]
    """

    below: float = knob(default=0.9, gt=0.0, le=1.0)

    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        likely = batch.logp >= math.log(play.at(self.below))
        play.log(unlikely_share=1 - float(likely.double().mean()) if batch.S else 0.0)
        return dataclasses.replace(batch, muted=batch.muted | likely)
