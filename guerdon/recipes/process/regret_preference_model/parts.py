"""Segments of grid worlds, what two models of preference say of them, and the reward that explains preferences under each.

After Knox et al. 2022 (arXiv:2206.02231) and their code. Left out: chance in where moves lead, and preferences of people.
Axes: M worlds, P pairs, 2 segments each, T moves, S cells, A moves, F features, N policies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from guerdon.core.seeds import generator
from guerdon.studies.grid_worlds import MOVES, Worlds

Statistic = Literal["regret", "partial_return"]
NEAR = 0.9  # of the way from random moves to the best ones: the paper's
SHARPNESS = 0.001  # of the soft maximum over policies: the authors' code


@dataclass(frozen=True)
class Segments:
    """Pairs of segments: where each move starts, which it is, where the last one ends, and the features it gathered."""

    cells: Tensor  # [M, P, 2, T]
    moves: Tensor  # [M, P, 2, T]
    end: Tensor  # [M, P, 2]
    gathered: Tensor  # [M, P, 2, F] discounted from the segment's beginning

    def __getitem__(self, pairs: slice) -> Segments:
        return Segments(self.cells[:, pairs], self.moves[:, pairs], self.end[:, pairs], self.gathered[:, pairs])


def random_segments(worlds: Worlds, pairs: int, length: int, past_end: Tensor, *path: int | str) -> Segments:
    """Segments of random moves from random open cells. Where `past_end` [M] is false, none goes on after an episode's end:
    one that would is drawn again."""
    draw = generator(*path, "segments")
    shape = (len(worlds), pairs * 2)
    cells, moves = _walk(worlds, shape, length, draw)
    for _ in range(1000):
        over = ~worlds.open.gather(1, cells[..., :-1].flatten(1)).view(*shape, length).all(2) & ~past_end[:, None]
        if not bool(over.any()):
            break
        again = _walk(worlds, shape, length, draw)
        cells, moves = (torch.where(over[..., None], new, old) for new, old in zip(again, (cells, moves), strict=True))
    return told(worlds, cells.view(len(worlds), pairs, 2, length + 1), moves.view(len(worlds), pairs, 2, length))


def told(worlds: Worlds, cells: Tensor, moves: Tensor) -> Segments:
    """Segments by the cells they pass, [M, P, 2, T + 1], and the moves they take."""
    T = moves.shape[-1]
    world = torch.arange(len(worlds)).view(-1, 1, 1, 1)
    features = worlds.features[world, cells[..., :-1], moves]
    discount = worlds.gamma ** torch.arange(T, dtype=torch.float64)
    return Segments(cells[..., :-1], moves, cells[..., -1], torch.einsum("mpktf,t->mpkf", features, discount))


def _walk(worlds: Worlds, shape: tuple[int, int], length: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    world = torch.arange(shape[0])[:, None]
    cells = [torch.multinomial(worlds.open.double(), shape[1], replacement=True, generator=draw)]
    moves = torch.randint(len(MOVES), (*shape, length), generator=draw)
    for t in range(length):
        cells.append(worlds.goes[world, cells[-1], moves[..., t]])
    return torch.stack(cells, 2), moves


def partial_return(segments: Segments, weights: Tensor) -> Tensor:
    r"""[M, P, 2] $\Sigma_\sigma r = \sum_t \gamma^t r_t$: what a segment was paid."""
    return torch.einsum("mpkf,mf->mpk", segments.gathered, weights)


def regret(segments: Segments, weights: Tensor, values: Tensor, gamma: float) -> Tensor:
    r"""[M, P, 2] $V^*(s_0) - (\Sigma_\sigma r + \gamma^T V^*(s_T))$ with `values` [M, S] as $V^*$: what a segment lost against
    best moves. Where moves lead somewhere for certain it is the sum of what each move gave away,
    $\sum_t \gamma^t [V^*(s_t) - Q^*(s_t, a_t)]$."""
    start = values.gather(1, segments.cells[..., 0].flatten(1)).view_as(segments.end)
    end = values.gather(1, segments.end.flatten(1)).view_as(segments.end)
    return start - partial_return(segments, weights) - gamma ** segments.moves.shape[-1] * end


def preferences(worlds: Worlds, segments: Segments, by: Statistic, noise: float, *path: int | str) -> Tensor:
    """[M, P] 1 where the first segment is preferred by the true reward, 0 where the second is, 1/2 where they are equal
    (noiseless) to two decimals. With noise the first is preferred with probability sigmoid(difference / noise)."""
    merit = partial_return(segments, worlds.reward)
    if by == "regret":
        values = worlds.values(worlds.best(worlds.reward), worlds.reward)
        merit = -regret(segments, worlds.reward, values, worlds.gamma)
    gap = merit[..., 0] - merit[..., 1]
    if noise == 0.0:
        return (torch.sign(torch.round(gap, decimals=2)) + 1.0) / 2.0
    chance = torch.sigmoid(gap / noise)
    return (torch.rand(chance.shape, generator=generator(*path, "noise"), dtype=torch.float64) < chance).double()


@dataclass
class RewardReader:
    """Finds weights of a reward, one row a world, under which preferences are likely by one of the models.

    The regret model needs best values of a reward that is still being learned. As in the paper they are the soft maximum over
    a set of policies of values that are linear in the weights (successor features); here the set begins with the best policies
    of `policies` random rewards, and every `every` updates the best policy of the weights by then joins it.
    """

    worlds: Worlds
    by: Statistic
    lr: float
    updates: int
    policies: int = 4
    every: int = 25
    successors: list[Tensor] = field(default_factory=list)  # [M, S, F] of each policy

    def read(self, segments: Segments, preferred: Tensor, *path: int | str) -> Tensor:
        """[M, F] the weights after so many updates of Adam on all pairs at once."""
        draw = generator(*path, "reader")
        shape = self.worlds.reward.shape
        weights = (torch.rand(shape, generator=draw, dtype=torch.float64) - 0.5).div(shape[1] ** 0.5).requires_grad_()
        optimiser, policy = torch.optim.Adam([weights], lr=self.lr), None
        if self.by == "regret":
            for _ in range(self.policies):
                self._join(10.0 * torch.randn(shape, generator=draw, dtype=torch.float64))
        for update in range(self.updates):
            if self.by == "regret" and update % self.every == 0:
                policy = self._join(weights.detach(), policy)
            optimiser.zero_grad()
            merit = self._merit(segments, weights)
            gap = merit[..., 0] - merit[..., 1]
            losses = binary_cross_entropy_with_logits(gap, preferred, reduction="none").mean(1)
            losses.sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        return weights.detach()

    def _merit(self, segments: Segments, weights: Tensor) -> Tensor:
        if self.by == "partial_return":
            return partial_return(segments, weights)
        return -regret(segments, weights, self.values(weights), self.worlds.gamma)

    def values(self, weights: Tensor) -> Tensor:
        """[M, S] the soft maximum over the policies known of what each is worth."""
        each = torch.einsum("nmsf,mf->nms", torch.stack(self.successors), weights)
        return (torch.softmax(each / SHARPNESS, 0) * each).sum(0)

    def _join(self, weights: Tensor, near: Tensor | None = None) -> Tensor:
        """Take the best policy for the weights into the set."""
        policy = self.worlds.best(weights, near)
        self.successors.append(self.worlds.successors(policy))
        return policy


def summary(earned: Mapping[int, Sequence[float]], past_end: Tensor) -> dict[str, Any]:
    """What a study of so many pairs, by what its policies earned in each world, scaled, came to: the share of worlds that are
    nearly solved, of all and of the two kinds, and the mean of what was earned, no world below -1."""
    near = {n: torch.tensor(scaled) > NEAR for n, scaled in earned.items()}
    most = max(earned)
    return {
        "near_optimal": _share(near[most]),
        "past_end": _share(near[most][past_end]),
        "to_the_end": _share(near[most][~past_end]),
        "return": float(torch.tensor(earned[most]).clamp(-1, 1).mean()),
        "curve": [{"spent": n, "value": _share(near[n])} for n in earned],
    }


def _share(holds: Tensor) -> float:
    return float(holds.double().mean())
