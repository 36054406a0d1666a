"""Kinds of problems in fixed proportions: what a run is made of, decided beforehand.

Leaves out: proportions that follow what is learned (`bandits.py`), and finding good ones.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask, kinds_of
from guerdon.curricula.plain import EpochSampler


@part(name="blended", aliases=("proportions",))
class proportions:
    """Problems of the kinds of `task` in proportion to `weights`, `tries` tries each.

    A weight is a kind's (`"countdown:3"`), or a family's (`"countdown"`), which its kinds without one of their own share
    evenly; what has none is not drawn. Nothing is left to chance: the next problem is always of the kind that is furthest
    behind its share of all drawn so far (of equals the first), so that numbers follow the weights from the first steps on.
    Notes `share/KIND`, what each kind was of a draw.

    Nemotron-CrossThink (Akter et al. 2025, arXiv:2504.13941) compares such blends.

    Args:
        task: source with several kinds of problems.
        weights: weight of each kind or family.
        tries: tries at each problem.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> draws = gd.curricula.proportions(gd.tasks.load("countdown:1-2+chain:1"), {"countdown": 2.0, "chain": 1.0})
    >>> [ask.task.kind for ask in draws.draw(6, ExamplePlay())]
    ['countdown:1', 'countdown:2', 'chain:1', 'countdown:1', 'countdown:2', 'chain:1']
    """

    task: Any
    weights: dict[str, float]
    tries: int = knob(default=8, ge=1)

    drawn: dict[str, int] = state(factory=dict)  # problems of each kind so far
    laps: dict[str, EpochSampler] | None = live()

    def __post_init__(self) -> None:
        self.shares()

    def shares(self) -> dict[str, float]:
        """The proportion of every kind that is drawn; they sum to 1."""
        kinds = list(kinds_of(self.task))
        families: dict[str, list[str]] = {}
        for kind in kinds:
            if kind not in self.weights:
                families.setdefault(kind.rpartition(":")[0], []).append(kind)
        weight_of: dict[str, float] = {}
        for name, weight in self.weights.items():
            if name not in kinds and name not in families:
                raise unknown(f"kind or family of problems in {self.task.name}", name, [*kinds, *families])
            if not 0 <= weight < float("inf"):
                raise UserError(f"blended: the weight of {name} must be a number of at least 0, not {weight}")
            of = [name] if name in kinds else families[name]
            weight_of |= {kind: weight / len(of) for kind in of}
        whole = sum(weight_of.values())
        if not whole:
            raise UserError("blended needs a weight above 0, or there is nothing to draw")
        return {kind: weight_of[kind] / whole for kind in kinds if weight_of.get(kind)}

    def draw(self, n: int, play: Play) -> list[Ask]:
        shares = self.shares()
        if self.laps is None:
            self.laps = {kind: EpochSampler(source) for kind, source in kinds_of(self.task).items()}
        asks = []
        for _ in range(n):
            total = sum(self.drawn.values()) + 1
            kind = max(shares, key=lambda k: round(shares[k] * total - self.drawn.get(k, 0), 9))
            place = self.drawn.get(kind, 0)
            self.drawn[kind] = place + 1
            asks.append(Ask(self.laps[kind].task(place, play.seed), self.tries))
        play.log(**{f"share/{kind}": sum(ask.task.kind == kind for ask in asks) / max(n, 1) for kind in shares})
        return asks
