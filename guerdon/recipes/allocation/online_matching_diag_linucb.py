"""Diag-LinUCB: a bandit over the edges of clusters and items, whose updates are sums that any number of machines can make.

Paper: Yi et al. 2023, Online Matching (arXiv:2307.15893), of which the pages without equations could be read; the formula is
that of the row of this method. A request has weights w_c over its nearest clusters. Of the items that a cluster has edges to,
one is shown by sum w_c b_cj / d_cj + alpha sqrt(sum w_c^2 / d_cj), and its reward r adds w_c^2 to d_cj, which starts at 1, and
r w_c to b_cj: the diagonal of LinUCB's matrix, so that an update is two sums. LinUCB (`rule=linucb`) keeps the matrix of every
item. Here rates of clicks are drawn for edges, or read from a file; they drift, and updates arrive `delay` requests late.
`reward` is the share of the best edges' clicks that is expected of what was shown. Different: clusters are given, a request
has the weights 1 / 2^k over `near` of them. Leaves out: the two towers that make clusters, the pruning of edges by age.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from guerdon.core.needs import Needs
from guerdon.core.recipe import Study, recipe
from guerdon.core.seeds import derive
from guerdon.data.opening import open_records
from guerdon.studies.streams import table_of

Array = npt.NDArray[np.float64]
Rule = Literal["diag_linucb", "linucb", "random"]


@recipe(
    "online-matching-diag-linucb",
    family="allocation",
    paper="arXiv:2307.15893",
    needs=Needs(world="requests of clusters; your own rates: --set rates=FILE", learns_from="clicks"),
)
def online_matching_diag_linucb(
    *,
    rates: str = "",  # a file with a row for each edge: cluster, item, rate of clicks; none: drawn
    rule: Rule = "diag_linucb",
    alpha: float = 0.3,  # of the bonus; ours
    delay: int = 100,  # requests between two updates
    requests: int = 20_000,
    clusters: int = 50,
    items: int = 1000,
    edges: int = 40,  # items of a cluster
    near: int = 2,  # clusters of a request
    drift: float = 0.2,  # of the rates that change, once, at half of the requests
) -> Study:
    """Show an item of the nearest clusters to each request, and learn their clicks."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        draw = np.random.default_rng(derive(seed, "clicks"))
        if rates:
            rate = table_of(open_records(rates, rates), ("cluster", "item", "rate"), absent=-1.0)
        else:
            rate = drawn_rates(clusters, items, edges, draw)
        learner = (FullLinUCB if rule == "linucb" else DiagLinUCB)(rate >= 0, alpha)
        made = best = 0.0
        for begin in range(0, requests, delay):
            if begin <= requests // 2 < begin + delay:
                rate = drifted(rate, drift, draw)
            weights = drawn_weights(min(delay, requests - begin), len(rate), near, draw)
            worth = weights @ np.maximum(rate, 0.0)
            score = draw.random(worth.shape) if rule == "random" else learner.scores(weights)
            reachable = (weights > 0) @ (rate >= 0)
            shown = np.where(reachable, score, -np.inf).argmax(1)
            chance = worth[np.arange(len(shown)), shown]
            learner.update(weights, shown, (draw.random(len(shown)) < chance).astype(float))
            made += float(chance.sum())
            best += float(worth.max(1).sum())
        return {"reward": made / best if best else 1.0, "rate": made / requests, "best_rate": best / requests}

    return Study(body)


class DiagLinUCB:
    """Sums of edges, [C, J]: `d` of squared weights, `b` of rewards times weights."""

    def __init__(self, edge: npt.NDArray[np.bool_], alpha: float) -> None:
        self.edge, self.alpha = edge, alpha
        self.d, self.b = np.ones(edge.shape), np.zeros(edge.shape)

    def scores(self, weights: Array) -> Array:
        """[N, C] weights of requests -> [N, J]."""
        means = weights @ np.where(self.edge, self.b / self.d, 0.0)
        return np.asarray(means + self.alpha * np.sqrt(weights**2 @ np.where(self.edge, 1 / self.d, 0.0)))

    def update(self, weights: Array, shown: npt.NDArray[np.int64], reward: Array) -> None:
        """Of requests [N] their weights [N, C], what was shown and what came of it."""
        np.add.at(self.d.T, shown, weights**2)
        np.add.at(self.b.T, shown, weights * reward[:, None])


class FullLinUCB(DiagLinUCB):
    """LinUCB with a matrix for every item, A_j = I + sum w w^T: weights of edges that an item does not have count as 0."""

    def __init__(self, edge: npt.NDArray[np.bool_], alpha: float) -> None:
        super().__init__(edge, alpha)
        C, J = edge.shape
        self.inverse = np.broadcast_to(np.eye(C), (J, C, C)).copy()

    def scores(self, weights: Array) -> Array:
        means, squares = np.zeros((len(weights), self.edge.shape[1])), np.zeros((len(weights), self.edge.shape[1]))
        for n, weight in enumerate(weights):
            some = np.flatnonzero(weight)
            own = weight[some] * self.edge.T[:, some]  # [J, near]
            near = self.inverse[:, some[:, None], some]
            squares[n] = np.einsum("jc,jcd,jd->j", own, near, own)
            means[n] = np.einsum("jc,jcd,dj->j", own, self.inverse[:, some], self.b)
        return np.asarray(means + self.alpha * np.sqrt(squares))

    def update(self, weights: Array, shown: npt.NDArray[np.int64], reward: Array) -> None:
        for weight, j, r in zip(weights, shown, reward, strict=True):
            own = weight * self.edge[:, j]
            moved = self.inverse[j] @ own
            self.inverse[j] -= np.outer(moved, moved) / (1 + own @ moved)
            self.b[:, j] += r * own


def drawn_rates(clusters: int, items: int, edges: int, draw: np.random.Generator) -> Array:
    """[C, J] rates of clicks, most of them low; -1 where a cluster has no edge to an item."""
    rate = np.full((clusters, items), -1.0)
    for row in rate:
        some = draw.choice(items, min(edges, items), replace=False)
        row[some] = draw.beta(1.0, 9.0, len(some))
    return rate


def drifted(rate: Array, share: float, draw: np.random.Generator) -> Array:
    """The rates of a share of the edges drawn again from those of all."""
    there = np.flatnonzero(rate >= 0)
    moved = draw.choice(there, round(share * len(there)), replace=False)
    after = rate.copy()
    after.flat[moved] = draw.choice(rate.flat[there], len(moved))
    return after


def drawn_weights(count: int, clusters: int, near: int, draw: np.random.Generator) -> Array:
    """[N, C] of requests over their nearest clusters: 1 / 2^k of the k-th, so that they sum to 1."""
    weights = np.zeros((count, clusters))
    falling = 0.5 ** np.arange(1, min(near, clusters) + 1)
    for row in weights:
        row[draw.choice(clusters, len(falling), replace=False)] = falling / falling.sum()
    return weights
