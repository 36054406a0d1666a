"""Which kinds of problems to draw, by what tries at them were worth: the rules that a `bandit` chooses with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from guerdon.core.part import knob, part, state
from guerdon.core.play import Play


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
