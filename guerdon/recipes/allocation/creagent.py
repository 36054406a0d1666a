"""CreAgent: recommenders are judged after the creators have answered to them, who see the feedback on their own items alone.

Paper: Ye et al. 2025 (arXiv:2502.07307), of which the abstract could be read; of the released simulator (shawnye2000/CreAgent,
simulator/simulator.py) what a creator earns: the clicks of its newest item over the rounds since. A creator believes of each
category that an item is clicked with probability theta ~ Beta(1 + clicks, 1 + shows - clicks), over the feedback that it sees:
on its own items (`sees=own`), on all (`all`), or none, and then it changes nothing. Each round it replaces its oldest item. It
thinks fast, and stays with the category of its newest item, if that earns more clicks a round than its items on average; else
slowly: it draws theta for each category and takes the highest. After `patience` rounds without a click it leaves. The platform
shows slates by estimated interest, re-ranked by how little a creator's items were shown (fair), or against categories that are
in the slate (mmr). `reward` is what users like a step in the last fifth of the rounds, `early` in the first, `creators` who is
left, `entropy` that of categories shown. Different: users are simulated (`gd.worlds.Crowd`), creators are tables. Leaves out:
language models as creators, and PPO on what they earn.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.recipe import Study, recipe
from guerdon.core.seeds import derive
from guerdon.recipes.house.catalogues import own_catalogue
from guerdon.studies.streams import Array
from guerdon.worlds.crowds import Catalogue, Crowd, Whole

COLUMNS = ("creator", "category", "appeal")
Sees = Literal["own", "all", "none"]
Rerank = Literal["none", "fair", "mmr"]


@recipe(
    "creagent",
    family="allocation",
    paper="arXiv:2502.07307",
    needs=Needs(world="a feed with creators; your own items: --set catalogue=FILE", learns_from="clicks"),
)
def creagent(
    *,
    catalogue: str = "",  # a file with a row for each item: creator, category, appeal (0 to 1); none: drawn, three a creator
    sees: Sees = "own",  # the feedback that creators act on
    rerank: Rerank = "none",
    weight: float = 0.1,  # of what is re-ranked by; interests are from 0 to 1
    users: int = 200,  # this and the next two: of the check that the method's row names
    creators: int = 20,
    rounds: int = 50,
    categories: int = 10,
    slate: int = 5,
    patience: int = 5,  # rounds
) -> Study:
    """Let creators answer to a recommender for many rounds, and see what users like then."""
    if rounds < 5 or slate < 1:
        raise UserError("creagent runs for 5 rounds or more, with slates of 1 item or more")

    def body(run: Any, seed: int) -> dict[str, Any]:
        draw = np.random.default_rng(derive(seed, "creators"))
        items = own_catalogue(catalogue, COLUMNS) if catalogue else drawn_items(creators, categories, draw)
        crowd = Crowd(users, items, derive(seed, "users"))
        studio = Studio(items, sees, patience, derive(seed, "choices"))
        liked, spread = [], []
        for _ in range(rounds):
            slates = ranked(interests(crowd, studio), items, studio, rerank, weight, slate)
            before = crowd.liked.copy()
            crowd.step(slates)
            liked.append(float((crowd.liked - before).mean()))
            crowd.begin(crowd.done)
            spread.append(studio.learn(slates, crowd.hits))
            studio.publish()
        last = rounds // 5
        return {
            "reward": float(np.mean(liked[-last:])),
            "early": float(np.mean(liked[:last])),
            "creators": float(studio.stays.mean()),
            "entropy": entropy(np.sum(spread[-last:], 0)),
        }

    return Study(body)


class Studio:
    """Creators, their items and what they believe. `shows` and `clicks` [I] are of items, `seen` [J, C, 2] of beliefs."""

    def __init__(self, items: Catalogue, sees: Sees, patience: int, seed: int) -> None:
        self.items, self.sees, self.patience, self.seed = items, sees, patience, seed
        J, C, count = int(items.creator.max()) + 1, len(items.names), len(items.category)
        self.skill = np.full((J, C), items.appeal.mean())  # what a creator's items of a category are worth
        for j, c in zip(items.creator, items.category, strict=True):
            self.skill[j, c] = items.appeal[(items.creator == j) & (items.category == c)].mean()
        self.shows, self.clicks, self.born = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
        self.seen, self.last, self.stays, self.round = np.zeros((J, C, 2)), np.zeros(J, np.int64), np.ones(J, bool), 0

    def learn(self, slates: Whole, hits: npt.NDArray[np.bool_]) -> Array:
        """What a round taught, and who had no click for too long; [C] how often categories were shown."""
        there, count = slates >= 0, len(self.shows)
        shows, clicks = (np.bincount(slates[there], each, count) for each in (None, hits[there]))
        self.shows, self.clicks, self.round = self.shows + shows, self.clicks + clicks, self.round + 1
        own = np.zeros_like(self.seen)
        np.add.at(own, (self.items.creator, self.items.category), np.stack([clicks, shows - clicks], 1))
        self.seen += own if self.sees == "own" else own.sum(0)
        self.last[own[:, :, 0].sum(1) > 0] = self.round
        self.stays &= self.round - self.last < self.patience
        return np.asarray(own.sum((0, 2)))

    def earned(self, j: int) -> tuple[int, float, float]:
        """The newest item of a creator, its clicks a round, and those of its items on average."""
        mine = np.flatnonzero(self.items.creator == j)
        rate = self.clicks[mine] / (self.round - self.born[mine])
        newest = int(self.born[mine].argmax())
        return int(mine[newest]), float(rate[newest]), float(rate.mean())

    def choice(self, j: int) -> int:
        """The category of a creator's next item."""
        newest, rate, usual = self.earned(j)
        if rate > usual or self.sees == "none":
            return int(self.items.category[newest])
        dice = np.random.default_rng(derive(self.seed, self.round, j))
        return int(dice.beta(1 + self.seen[j, :, 0], 1 + self.seen[j, :, 1]).argmax())

    def publish(self) -> None:
        """A new item of each creator in place of its oldest."""
        for j in np.flatnonzero(self.stays).tolist():
            c, mine = self.choice(j), np.flatnonzero(self.items.creator == j)
            oldest = int(mine[self.born[mine].argmin()])
            self.items.category[oldest], self.items.appeal[oldest] = c, self.skill[j, c]
            self.shows[oldest], self.clicks[oldest], self.born[oldest] = 0.0, 0.0, self.round


def interests(crowd: Crowd, studio: Studio) -> Array:
    """[N, I] estimates of clicks: of the user's category lately, times the item's."""
    near = (1 + crowd.clicked) / (2 + crowd.shown)
    return np.asarray(near[:, crowd.items.category] * (1 + studio.clicks) / (2 + studio.shows))


def ranked(score: Array, items: Catalogue, studio: Studio, rerank: Rerank, weight: float, slate: int) -> Whole:
    """[N, K] items by score, each once; -1 where no more creators are left."""
    score = np.where(studio.stays[items.creator], score, -np.inf)
    if rerank == "fair":
        shown = np.bincount(items.creator, studio.shows)
        score = score - weight * (shown / max(shown.max(), 1.0))[items.creator]
    row, slates = np.arange(len(score)), []
    for _ in range(slate):
        best = score.argmax(1)
        slates.append(np.where(score[row, best] > -np.inf, best, -1))
        score[row, best] = -np.inf
        if rerank == "mmr":
            score = score - weight * (items.category[None, :] == items.category[best][:, None])
    return np.stack(slates, 1)


def entropy(counts: Array) -> float:
    """Of shares, over that of equal ones; 0 for one category or nothing shown."""
    p = counts[counts > 0] / max(counts.sum(), 1.0)
    return float(abs((p * np.log(p)).sum()) / np.log(max(len(counts), 2)))


def drawn_items(creators: int, categories: int, draw: np.random.Generator) -> Catalogue:
    """Three items a creator, of any category."""
    count, names = 3 * creators, tuple(map(str, range(categories)))
    return Catalogue(draw.integers(categories, size=count), draw.beta(2.0, 3.0, count), np.arange(count) // 3, names)
