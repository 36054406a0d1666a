"""Kinds of problems as the arms of a bandit: what tries at a kind were worth decides how often it is drawn.

Three choices that know nothing of one another: the worth of a try, which kinds to prefer by that, and drawing accordingly.
Leaves out: which problem of a kind is drawn, they come in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError, unknown
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask, kinds_of
from guerdon.curricula.plain import EpochSampler


class Chooser(Protocol):
    """A part that remembers what tries at each kind were worth, and decides how often each kind is drawn."""

    def scores(self, kinds: Sequence[str]) -> list[float]:
        """How good it is to draw each kind now."""

    def shares(self, scores: Sequence[float], play: Play) -> list[float]:
        """The probability of each kind, by its score; they sum to 1."""

    def update(self, worth: Mapping[str, Sequence[float]], play: Play) -> None:
        """Take in a step: for every kind that was tried what its tries were worth, NaN for a try without a value."""


class Signal(Protocol):
    """A part that values each track of a batch."""

    def __call__(self, batch: Batch) -> Tensor:
        """[K], NaN where there is no value."""


@part
class magnitude:
    r"""$|\bar A|$: how large a track's number in `column` is, whichever its sign; of a step column the track's mean.

    Of group-relative advantages: how hard a try pulls on the policy. Where all tries at a problem come out alike, too easy or
    too hard, it is 0; with rewards of 0 and 1 divided by their spread, a kind that is solved with probability $p$ has a mean
    of about $2\sqrt{p(1-p)}$.

    Args:
        column: column whose size is the signal.

    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> gd.curricula.magnitude()(example_tries([[0.0, 1.0, None]], advantage=[-1.5, 0.5, 1.0])).tolist()
    [1.5, 0.5, 1.0]
    """

    column: str = "advantage"

    def __call__(self, batch: Batch) -> Tensor:
        if self.column not in batch.cols:
            raise unknown("column for a bandit to choose by", self.column, batch.cols)
        column = batch.cols[self.column]
        return torch.abs(batch.up(column.value, "track", of=column.level, by="mean"))


@part
class bandit:
    r"""For every ask a kind of problem is drawn, with the probabilities that `choose` gives, and then the next problem of that
    kind, with `tries` tries. At the end of a step `choose` receives each track's `signal`, by kind.

    The batch is read as it stands after the last stage: a stage that takes tries out of it hides them from the bandit.
    A track without a value is in no mean, and counts as a try. `share/KIND` is the probability that was drawn with,
    `score/KIND` what it follows from.

    *Assumes* that problems of a kind are worth about the same. *Biased* on purpose: accuracy over what was drawn is not
    accuracy over all kinds. With `ahead=True` a step is drawn before the step before it has been seen.

    Args:
        task: source with several kinds of problems.
        choose: turns signals into probabilities: `boltzmann` or `ucb`.
        tries: tries at each problem.
        signal: what a track was worth.

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


def softmax(scores: Sequence[float], tau: float) -> list[float]:
    """Probabilities in proportion to e^(score / tau)."""
    chances: list[float] = torch.softmax(torch.tensor(scores, dtype=torch.float64) / tau, 0).tolist()
    return chances


@part
class ucb:
    r"""Upper confidence bounds: $s_d = \bar w_d + c\,\sqrt{2 \ln(n + 1) / (n_d + 1)}$, drawn with $e^{s_d/\tau}$.

    $\bar w_d$ is the mean over the `window` latest values of a kind, 0 before there is one; $n_d$ the tries at it over the
    whole run, $n$ those at all kinds; $c$ is `explore`. A kind that has not been tried for long is tried again, even where
    it was worth nothing. DUMP (Wang et al. 2025, arXiv:2504.09710), whose code the defaults are from.

    *Assumes* values of about 1, as advantages divided by their spread are: against smaller ones the bonus decides alone.
    *Biased* as the mean lags behind what is learned, by up to `window` tries; and the bonus shrinks with all tries ever
    made, so late changes in a kind that is rarely drawn are seen late.

    Args:
        window: latest values that count.
        tau: temperature of the draw.
        explore: weight of the confidence bound.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> rule = gd.curricula.ucb(window=2)
    >>> rule.update({"easy:1": [5.0, 0.5, 0.0]}, ExamplePlay())
    >>> [round(score, 3) for score in rule.scores(["easy:1", "hard:1"])]  # 0.25 + sqrt(ln 4 / 2), and sqrt(2 ln 4)
    [1.083, 1.665]
    """

    window: int = knob(default=300, ge=1)
    tau: float = knob(default=0.1, gt=0.0)
    explore: float = knob(default=1.0, ge=0.0)

    latest: dict[str, list[float]] = state(factory=dict)
    tried: dict[str, int] = state(factory=dict)

    def scores(self, kinds: Sequence[str]) -> list[float]:
        total = sum(self.tried.get(kind, 0) for kind in kinds)
        return [self._mean(kind) + self.explore * self._bonus(kind, total) for kind in kinds]

    def _mean(self, kind: str) -> float:
        values = self.latest.get(kind, [])
        return math.fsum(values) / len(values) if values else 0.0

    def _bonus(self, kind: str, total: int) -> float:
        return math.sqrt(2 * math.log(total + 1) / (self.tried.get(kind, 0) + 1))

    def shares(self, scores: Sequence[float], play: Play) -> list[float]:
        return softmax(scores, play.at(self.tau))

    def update(self, worth: Mapping[str, Sequence[float]], play: Play) -> None:
        for kind, values in worth.items():
            # a try without a value counts: a kind that cannot be scored would else seem untried for ever
            self.tried[kind] = self.tried.get(kind, 0) + len(values)
            seen = [*self.latest.get(kind, []), *(v for v in values if not math.isnan(v))]
            self.latest[kind] = seen[-self.window :]


@part
class boltzmann:
    r"""Values by TD(0): $Q_d \leftarrow \alpha\,\bar w_d + (1 - \alpha)\,Q_d$, drawn with $e^{Q_d/\tau}$.

    $\bar w_d$ is the mean over this step's values of a kind. A kind that was not tried, or whose tries have no value, keeps
    its own; all begin at 0. SEC (Chen et al. 2025, arXiv:2505.14970).

    *Biased* as a mean over about $1/\alpha$ steps lags; and it forgets by steps, not by tries: one try in a step moves a value
    as far as a hundred do. Nothing but `tau` makes it explore.

    Args:
        alpha: weight of the newest mean.
        tau: temperature of the draw.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> rule = gd.curricula.boltzmann(alpha=0.5, tau=1.0)
    >>> for values in ([1.0, 0.0], [1.0]):
    ...     rule.update({"hard:1": values}, ExamplePlay())
    >>> rule.scores(["easy:1", "hard:1"])
    [0.0, 0.625]
    """

    alpha: float = knob(default=0.5, gt=0.0, le=1.0)
    tau: float = knob(default=1.0, gt=0.0)

    value: dict[str, float] = state(factory=dict)

    def scores(self, kinds: Sequence[str]) -> list[float]:
        return [self.value.get(kind, 0.0) for kind in kinds]

    def shares(self, scores: Sequence[float], play: Play) -> list[float]:
        return softmax(scores, play.at(self.tau))

    def update(self, worth: Mapping[str, Sequence[float]], play: Play) -> None:
        alpha = play.at(self.alpha)
        for kind, values in worth.items():
            known = [v for v in values if not math.isnan(v)]
            if known:
                mean = math.fsum(known) / len(known)
                self.value[kind] = alpha * mean + (1 - alpha) * self.value.get(kind, 0.0)
