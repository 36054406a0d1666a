"""Users of a feed who get bored and leave: any number at once, as arrays; what they like is known exactly.

A user likes an item by its taste for the item's category, the item's appeal, and how bored it is of the category by now. What
bores is being shown; boredom fades. A user whose mood is low may leave, users of some groups sooner. Creators own items and
may replace them. Numbers are ours, in the shape of published simulators of feeds; nothing is fitted to people.

Axes: N users, I items, C categories, K items of a slate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
RECENT = 0.8  # of what was clicked and shown, what still counts a step later


@dataclass(eq=False)
class Catalogue:
    """Items: their category, their appeal from 0 to 1, and who made them.

    Args:
        category: [I] the number of each item's category.
        appeal: [I] how much of a taste for its category an item meets.
        creator: [I] who made it; without, each has a creator of its own.
        names: what categories are called; without, their numbers.

    >>> import guerdon as gd
    >>> items = gd.worlds.Catalogue.drawn(items=6, categories=3, seed=0)
    >>> items.category.tolist(), items.creator.tolist()
    ([0, 1, 2, 0, 1, 2], [0, 1, 2, 3, 4, 5])
    """

    category: Whole  # [I]
    appeal: Array  # [I]
    creator: Whole = field(default_factory=lambda: np.zeros(0, np.int64))  # [I]
    names: tuple[str, ...] = ()  # of categories

    def __post_init__(self) -> None:
        if not len(self.category) or len(self.category) != len(self.appeal):
            raise UserError("a catalogue has items, each with a category and an appeal")
        if not len(self.creator):
            self.creator = np.arange(len(self.category))
        self.names = self.names or tuple(str(n) for n in range(int(self.category.max()) + 1))

    @classmethod
    def drawn(cls, items: int, categories: int, seed: int) -> Catalogue:
        """As many items of each category as of any other, most of them of little appeal."""
        if not 1 <= categories <= items:
            raise UserError(f"a catalogue of {items} items has 1 to {items} categories, not {categories}")
        return cls(np.arange(items) % categories, np.random.default_rng(seed).beta(2.0, 3.0, items))


class Crowd:
    """So many users in the middle of their sessions.

    `step` shows each a slate: an item is clicked with the probability `liking`, taste x appeal x exp(-fatigue boredom). Mood
    moves by a fifth towards the mean liking of what was shown; under `floor` a user leaves with probability
    churn (1 - mood / floor), of its group. Who left, or has had `length` steps, is done and earns nothing. `liked` is
    the sum of likings so far: clicks without their noise; `hits` [N, K] is what was clicked in the last step.

    >>> import guerdon as gd, numpy as np
    >>> crowd = gd.worlds.Crowd(2, gd.worlds.Catalogue.drawn(4, 2, seed=0), seed=0)
    >>> crowd.step(np.array([[0], [1]])).shape, crowd.bored.round(1).tolist()
    ((2,), [[1.0, 0.0], [0.0, 1.0]])
    """

    floor = 0.35  # of mood, below which users leave

    def __init__(
        self,
        users: int,
        catalogue: Catalogue,
        seed: int,
        fatigue: float = 0.7,  # how much boredom costs
        fades: float = 0.8,  # of boredom, what is left a step later
        churn: Sequence[float] = (0.1, 0.5),  # of each group; users are of groups in turn
        length: int = 40,  # steps of a session
        first: int = 0,  # group of the first user
    ) -> None:
        self.items, self.fatigue, self.fades, self.length = catalogue, fatigue, fades, length
        self.group = (first + np.arange(users)) % len(churn)
        self.churn = np.asarray(churn, float)
        self.random = np.random.default_rng(seed)
        self.begin(np.ones(users, bool))

    def begin(self, who: npt.NDArray[np.bool_]) -> None:
        """New users in place of some, [N], each with a few categories that it likes."""
        N, C = len(who), len(self.items.names)
        if not hasattr(self, "taste"):
            self.taste, self.bored, self.clicked, self.shown = (np.zeros((N, C)) for _ in range(4))
            self.mood, self.liked = np.zeros(N), np.zeros(N)
            self.steps, self.done = np.zeros(N, np.int64), np.zeros(N, bool)
        taste = self.random.random((int(who.sum()), C)) ** 2
        self.taste[who] = taste / taste.max(1, keepdims=True)
        for each in (self.bored, self.clicked, self.shown, self.liked, self.steps, self.done):
            each[who] = 0
        self.mood[who] = 0.5

    def liking(self) -> Array:
        """[N, I] the probability that each item would be clicked now: the truth, which no recommender is shown."""
        of = self.taste * np.exp(-self.fatigue * self.bored)
        return np.asarray(of[:, self.items.category] * self.items.appeal)

    def view(self) -> Array:
        """[N, G + 2C + 1] what a recommender sees: its group, recent clicks and showings by category, how far it is."""
        group = np.eye(len(self.churn))[self.group]
        return np.concatenate([group, self.clicked, self.shown, self.steps[:, None] / self.length], 1)

    def step(self, slates: Whole) -> Array:
        """[N, K] items, -1 for none -> [N] clicks."""
        there, row = ~self.done, np.arange(len(slates))[:, None]
        kind, empty = self.items.category[slates], slates < 0
        liking = self.taste[row, kind] * np.exp(-self.fatigue * self.bored[row, kind]) * self.items.appeal[slates]
        liking = np.where(empty, 0.0, liking)
        self.liked = self.liked + liking.sum(1) * there
        clicks = (self.random.random(slates.shape) < liking) & there[:, None]
        count, clicked = np.zeros_like(self.bored), np.zeros_like(self.bored)
        np.add.at(count, (row, kind), ~empty & there[:, None])
        np.add.at(clicked, (row, kind), clicks)
        self.hits, self.bored = clicks, self.fades * self.bored + count
        self.shown, self.clicked = RECENT * self.shown + count, RECENT * self.clicked + clicked
        self.mood = np.where(there, 0.8 * self.mood + 0.2 * liking.mean(1), self.mood)
        leaves = self.churn[self.group] * np.maximum(1 - self.mood / self.floor, 0.0)
        self.steps = self.steps + there
        self.done = self.done | (self.random.random(len(slates)) < leaves) | (self.steps >= self.length)
        return np.asarray(clicks.sum(1), float)

    def gold(self, slate: int = 1) -> Whole:
        """[N, K] what who knows tastes and boredom shows: the best item of each category, what is liked most first."""
        kinds = np.arange(len(self.items.names))[:, None] == self.items.category
        best = np.where(kinds, self.items.appeal, -1.0)  # [C, I]
        liking = self.taste * np.exp(-self.fatigue * self.bored) * best.max(1)
        return np.asarray(best.argmax(1)[np.argsort(-liking, axis=1, kind="stable")[:, :slate]])

    def publish(self, item: int, category: int, appeal: float) -> None:
        """A creator's new item takes the place of an old one."""
        self.items.category[item], self.items.appeal[item] = category, appeal


def played(crowd: Crowd, choose: Callable[[Crowd], Whole]) -> Array:
    """The clicks, [N], of whole sessions.

    Args:
        crowd: users at the beginning of their sessions.
        choose: what is shown to a crowd: slates [N, K].

    >>> import guerdon as gd
    >>> crowd = gd.worlds.Crowd(8, gd.worlds.Catalogue.drawn(20, 5, seed=0), seed=0)
    >>> int(gd.worlds.played(crowd, gd.worlds.Crowd.gold).sum()) > 16
    True
    """
    total = np.zeros(len(crowd.done))
    while not crowd.done.all():
        total += crowd.step(choose(crowd))
    return total
