"""BiPRM's own parts: solutions that are told in order and from their end, labels for both, and a loss of what the two say.

Leaves out: the reward that a model so taught is (`rewards/model/reward_models.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play, Seats, players, seats_alone
from guerdon.core.task import Ask
from guerdon.losses.reduce import average, numbers, reduce
from guerdon.losses.terms import Term
from guerdon.rewards.model.model_reading import SampleTokens
from guerdon.rewards.model.reward_models import backwards

SECOND = "second"  # the role of the second stream


@part
class told_twice:
    """`side_by_side`, where every solution, recited or tried, is then recited once more by a second role: from its last
    line to its first, or with `order="forward"` as it was. The second telling counts as the first does.
    """

    tries: int = knob(default=0, ge=0)
    order: Literal["backward", "forward"] = "backward"

    roles = ("policy", SECOND)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        told = [seats["policy"].teacher_force(ask.shown, text, fresh=True).text for text in ask.note["say"]]
        for _ in range(self.tries):  # one after the other, so that their order is always the same
            told.append((await seats["policy"].act(ask.shown, fresh=True)).text)
        for text in told:
            seats[SECOND].teacher_force(ask.shown, backwards(text) if self.order == "backward" else text, fresh=True)
        return seats.episode()


@part
class labels_for_both(FieldColumns):
    """The labels of `target` on the same lines of the second telling, and `line`: a number that a line's two tellings
    share, and no other line has. A second telling that the model cuts into other lines has no labels.
    """

    target: Needs = "labels"
    order: Literal["backward", "forward"] = "backward"
    line_to: Gives = "line"

    shelf = "scores"

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.target, self.line_to)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        label, line = batch.cols[self.target].value.clone(), torch.full((batch.S,), float("nan"))
        tokens = SampleTokens(play, batch, torch.arange(batch.K), own=True)
        steps, names = tokens.steps(), players(batch, play)
        second, lines = batch.tracks_of([SECOND]).tolist(), 0
        once, again = ([k for k in range(batch.K) if bool(second[k]) == later] for later in (False, True))
        for one, k in zip(once, again, strict=True):  # both kinds of tracks come in the order they were told in
            there = [piece[-1] for piece in tokens.cut(steps[one], "line", names[one])]
            here = [piece[-1] for piece in tokens.cut(steps[k], "line", names[k])]
            here = here[::-1] if self.order == "backward" else here
            if len(there) != len(here):
                play.warn("a solution has other lines when it is told again, and is taught by its first telling alone")
                here = []
            for n, place in enumerate(there):
                line[place] = lines + n
            for n, (place, same) in enumerate(zip(there, here, strict=False)):
                line[same], label[same] = lines + n, label[place]
            lines += len(there)
        line = torch.where(label.isnan(), label, line)
        reason = torch.where(label.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.target: Column("step", label, reason), self.line_to: Column("step", line, reason)})


@part
class two_way_labels(Term):
    r"""$-[y\log\bar p + (1-y)\log(1-\bar p)]$, or with `kind="square"` $(\bar p-y)^2$, for every line that has a label
    $y$, with $\bar p$ the mean of $\sigma(v)$ over its two tellings; the mean over lines.

    The two streams of a bidirectional process reward model learn from what they say together (Zhang et al. 2025,
    arXiv:2508.01682): where one of them is sure and right, the other is hardly moved. `good` weighs lines labelled 1.
    With one telling a line it is `step_labels`. Assumes both tellings in one episode, which no micro-batch splits. Biased
    for either stream by itself: neither is taught to be right alone. Notes `step_accuracy`.

    >>> import torch
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0]], steps=2, labels=[1.0, 1.0], line=[0.0, 0.0])
    >>> read = {"after": torch.logit(torch.tensor([0.9, 0.3]))}
    >>> round(float(two_way_labels()(batch, read)[0]), 4)  # -log 0.6
    0.5108
    """

    target: Needs = "labels"
    line: Needs = "line"
    kind: Literal["logistic", "square"] = "logistic"
    good: float = knob(default=1.0, gt=0.0)

    wants = ("after",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        label, chance = numbers(batch, self.target), torch.sigmoid(live["after"].float())
        weighs = batch.weight > 0
        _, line = torch.unique(torch.where(weighs, numbers(batch, self.line), -1.0), return_inverse=True)
        both = gather_up(chance, line, int(line.max()) + 1, "mean")[line] if len(line) else chance
        both = both.clamp(1e-6, 1 - 1e-6)
        entropy = -label * both.log() - (1 - label) * (1 - both).log()
        loss = (both - label).square() if self.kind == "square" else entropy
        loss = torch.where(label > 0.5, self.good * loss, loss)
        right = ((both > 0.5) == (label > 0.5)).float()
        return reduce(loss, batch), {"step_accuracy": average(right, batch)}
