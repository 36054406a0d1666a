"""Kinds of problems as the arms of a bandit: what tries at a kind were worth decides how often it is drawn.

Three choices that know nothing of one another: what a try is worth (`signals.py`),
which kinds to prefer by that (`choosers.py`), and, here, drawing accordingly.
Leaves out: which problem of a kind is drawn, they come in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask, kinds_of
from guerdon.curricula.epochs import EpochSampler
from guerdon.curricula.signals import magnitude


class Chooser(Protocol):
    """A part that remembers what tries at each kind were worth, and says how often each kind is to be drawn."""

    def scores(self, kinds: Sequence[str]) -> list[float]:
        """How good it is to draw each kind now."""

    def shares(self, scores: Sequence[float], play: Play) -> list[float]:
        """The probability of each kind, by its score; they sum to 1."""

    def update(self, worth: Mapping[str, Sequence[float]], play: Play) -> None:
        """Take in a step: for every kind that was tried what its tries were worth, NaN for a try without a value."""


class Signal(Protocol):
    """A part that says what each track of a batch was worth."""

    def __call__(self, batch: Batch) -> Tensor:
        """[K], NaN where there is no value."""


@part
class bandit:
    r"""For every ask a kind of problem is drawn, with the probabilities that `choose` gives, and then the next problem of that
    kind, with `tries` tries. At the end of a step `choose` is told what each track was worth by `signal`, kind by kind.

    The batch is read as it stands after the last stage: a stage that takes tries out of it hides them from the bandit.
    A track without a value is in no mean, and counts as a try. `share/KIND` is the probability that was drawn with,
    `score/KIND` what it follows from.

    *Assumes* that problems of a kind are worth about the same. *Biased* on purpose: accuracy over what was drawn is not
    accuracy over all kinds. With `ahead=True` a step is drawn before the step before it has been seen.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> draws = gd.curricula.bandit(gd.tasks.load("countdown:1-3"), gd.curricula.ucb())
    >>> draws.choose.update({"countdown:1": [0.0] * 8, "countdown:3": [1.0] * 8}, ExamplePlay())
    >>> [ask.task.kind for ask in draws.draw(3, ExamplePlay())]  # never tried, so its bonus is the largest
    ['countdown:2', 'countdown:2', 'countdown:2']
    """

    task: Any
    choose: Any
    tries: int = knob(default=8, ge=1)
    signal: Any = knob(factory=magnitude)

    drawn: dict[str, int] = state(factory=dict)  # problems of each kind so far
    laps: dict[str, EpochSampler] | None = live()
    read_from: Any = live()

    def __post_init__(self) -> None:
        kinds = list(kinds_of(self.task))
        if len(kinds) < 2:
            raise UserError(
                f"{kinds[0]} is one kind of problem, and a bandit chooses among several: give"
                " --task a range of levels (countdown:1-6), or --data FILE with --kind COLUMN"
            )

    def draw(self, n: int, play: Play) -> list[Ask]:
        laps = self._laps()
        kinds = list(laps)
        scores = self.choose.scores(kinds)
        shares = self.choose.shares(scores, play)
        for kind, share, score in zip(kinds, shares, scores, strict=True):
            play.log(**{f"share/{kind}": share, f"score/{kind}": score})
        # the number drawn so far makes a second draw in the same step another one
        dice = play.generator("bandit", sum(self.drawn.values()))
        picked = torch.multinomial(torch.tensor(shares, dtype=torch.float64), n, replacement=True, generator=dice)
        return [self._next(laps, kinds[arm], play.seed) for arm in picked.tolist()]

    def _next(self, laps: Mapping[str, EpochSampler], kind: str, seed: int) -> Ask:
        place = self.drawn.get(kind, 0)
        self.drawn[kind] = place + 1
        return Ask(laps[kind].task(place, seed), self.tries)

    def observe(self, batch: Batch, play: Play) -> None:
        laps = self._laps()
        worth: dict[str, list[float]] = {}
        for episode, value in zip(batch.episode[batch.leaf].tolist(), self.signal(batch).tolist(), strict=True):
            kind = batch.episodes[episode].task.kind
            if kind in laps:
                worth.setdefault(kind, []).append(value)
        self.choose.update(worth, play)

    def _laps(self) -> dict[str, EpochSampler]:
        if self.laps is None or self.read_from is not self.task:
            self.laps = {kind: EpochSampler(source) for kind, source in kinds_of(self.task).items()}
            self.read_from = self.task
        return self.laps
