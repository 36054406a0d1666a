"""CreAgent: creators believe by what they see, answer fast or slowly, and a recommender is judged after they have answered."""

from __future__ import annotations

import json
import tempfile
from math import log
from pathlib import Path

import numpy as np
from harness import Mechanism, World

from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.recipes.allocation.creagent import Studio, drawn_items, entropy, interests, ranked
from guerdon.recipes.house.catalogues import own_catalogue
from guerdon.training.catalog import find_recipe
from guerdon.worlds import Catalogue, Crowd

NAME = "creagent"
LINES = [
    {"creator": "ann", "category": "news", "appeal": 0.5},
    {"creator": "bob", "category": "music", "appeal": "0.25"},
    {"creator": "ann", "category": "music", "appeal": 1},
]


def studio(sees="own", patience=3, seed=7):
    """Two creators, the first with two items, of three categories."""
    items = Catalogue(np.array([0, 1, 0]), np.array([0.9, 0.3, 0.6]), np.array([0, 0, 1]), ("a", "b", "c"))
    return Studio(items, sees, patience, seed)


def taught(sees="own", rounds=((0, 0, 2, -1), (1, 2, 0, 0)), hits=((1, 0, 1, 0), (0, 0, 1, 1)), **knobs):
    """Rounds of four users, each shown an item, with what they clicked."""
    made = studio(sees, **knobs)
    shown = [
        made.learn(np.array(s)[:, None], np.array(h, bool)[:, None]).tolist() for s, h in zip(rounds, hits, strict=True)
    ]
    return made, shown


def beliefs(sees):
    made, shown = taught(sees)
    return [made.seen.tolist(), shown, made.shows.tolist(), made.clicks.tolist(), made.last.tolist(), made.round]


def leaving():
    """Who is left after each round without a click of the second creator, whose only one is in the second of six."""
    made, left = studio(), []
    for n in range(6):
        made.learn(np.array([[0], [2]]), np.array([[True], [n == 1]]))
        left.append(made.stays.tolist())
    return left


def earned():
    made, _ = taught()
    made.born[:], made.clicks = [0, 1, 0], np.array([3.0, 1.0, 1.0])
    return [list(made.earned(0)), list(made.earned(1))]


def chosen(sees="own", clicks=(3.0, 1.0, 1.0), seen=None, j=0):
    """The next category of a creator, whose newest item is the second."""
    made, _ = taught(sees)
    made.clicks, made.born = np.array(clicks), np.array([0, 1, 0])
    if seen is not None:
        made.seen[j] = seen
    return made.choice(j)


def drawn(j=0, seed=7, seen=((0, 0), (0, 4), (3, 0))):
    """The draws of a slow choice, by hand."""
    dice = np.random.default_rng(derive(seed, 2, j))
    return int(np.argmax([*dice.beta([1 + a for a, _ in seen], [1 + b for _, b in seen])]))


def hidden(sees):
    """Whether a creator chooses the same whatever comes of another's items."""
    found = set()
    for other in range(12):
        made, _ = taught(sees, hits=((1, 0, other % 2, 0), (0, 1, 0, 0)))
        made.learn(np.full((40, 1), 2), np.arange(40)[:, None] < 3 * other)
        made.clicks[:2] = 0.0
        found.add(tuple(made.seen[0].ravel().tolist()))
    return len(found) == 1


def published(**knobs):
    made, _ = taught(**knobs)
    made.stays[:] = [True, False]
    made.clicks, made.born = np.array([1.0, 5.0, 1.0]), np.array([0, 1, 0])
    made.publish()
    return [
        made.items.category.tolist(),
        made.items.appeal.tolist(),
        made.born.tolist(),
        made.clicks.tolist(),
        made.shows.tolist(),
    ]


def order(rerank="none", weight=0.3, slate=3, stays=(True, True), shows=(4.0, 0.0, 2.0)):
    made = studio()
    made.stays[:], made.shows = stays, np.array(shows)
    score = np.array([[0.9, 0.5, 0.7], [0.1, 0.2, 0.9]])
    return ranked(score, made.items, made, rerank, weight, slate).tolist()


def liked():
    """What is thought of two users' interests in three items, after clicks and showings."""
    made, _ = taught()
    crowd = Crowd(2, made.items, 0)
    crowd.clicked[:], crowd.shown[:] = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[2.0, 1.0, 0.0], [0.0, 4.0, 0.0]]
    one, two, three = 4 / 6, 1 / 3, 2 / 4  # clicks 3, 0, 1 of shows 4, 1, 2
    return (interests(crowd, made) - [[one / 2, two / 3, three / 2], [one / 2, two / 6, three / 2]]).tolist()


SMALL = {"users": 12, "creators": 4, "categories": 3, "rounds": 10, "slate": 2, "patience": 4}


def run(seed=0, **knobs):
    return find_recipe(NAME)(**{**SMALL, **knobs}).body(None, seed)


def by_hand(sees="own", rerank="none", weight=0.1, seed=0, items=None):
    """A run, round after round."""
    made = items or drawn_items(4, 3, np.random.default_rng(derive(seed, "creators")))
    crowd = Crowd(12, made, derive(seed, "users"))
    rooms = Studio(made, sees, 4, derive(seed, "choices"))
    liking, shown = [], []
    for _ in range(10):
        slates = ranked(interests(crowd, rooms), made, rooms, rerank, weight, 2)
        truth = crowd.liking()
        there = [[truth[n, i] for i in row if i >= 0] for n, row in enumerate(slates)]
        liking.append(sum(map(sum, there)) / 12)
        shown.append(
            [sum(int(made.category[i] == c) for row in slates for i in row if i >= 0) for c in range(len(made.names))]
        )
        crowd.step(slates)
        rooms.learn(slates, crowd.hits)
        rooms.publish()
        crowd.begin(crowd.done)
    return {
        "reward": sum(liking[-2:]) / 2,
        "early": sum(liking[:2]) / 2,
        "creators": sum(rooms.stays) / len(rooms.stays),
        "entropy": entropy(np.sum(shown[-2:], 0)),
    }


def own(rows):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        try:
            made = own_catalogue(str(file), ("creator", "category", "appeal"))
            hand = by_hand(items=own_catalogue(str(file), ("creator", "category", "appeal")))
            same = all(np.isclose(x, hand[name]) for name, x in run(catalogue=str(file)).items())
            return [made.creator.tolist(), made.category.tolist(), made.appeal.tolist(), made.names, same]
        except UserError as error:
            return str(error).split("mine.jsonl ")[-1].split(";")[0]


def refused(**knobs):
    try:
        find_recipe(NAME)(**knobs)
    except UserError:
        return True


def later(**knobs):
    """What users like in the end, where no creator leaves."""
    setting = {"users": 60, "creators": 8, "categories": 8, "rounds": 60, "slate": 3, "patience": 60}
    return np.mean([run(seed, **setting, **knobs)["reward"] for seed in range(2)])


mechanism = Mechanism(
    NAME,
    source="arXiv:2502.07307 as its abstract has it, with the earnings of shawnye2000/CreAgent: Beta beliefs of what is seen",
    also=[own_catalogue],
    numbers={
        # of the first creator's item of a: shown 4 times, clicked 3; of b: once; the other's item of a: twice, clicked once
        "beliefs by what is one's own": (
            lambda: beliefs("own"),
            [
                [[[3, 1], [0, 1], [0, 0]], [[1, 1], [0, 0], [0, 0]]],
                [[3, 0, 0], [3, 1, 0]],
                [4, 1, 2],
                [3, 0, 1],
                [2, 1],
                2,
            ],
        ),
        "beliefs by all": (lambda: beliefs("all")[0], [[[4, 2], [0, 1], [0, 0]]] * 2),
        "what others earn is hidden": (lambda: [hidden("own"), hidden("all")], [True, False]),
        "leaving": (leaving, [[True, True]] * 4 + [[True, False]] * 2),
        # 3 clicks in two rounds, 1 in one; 1 in two
        "earned": (earned, [[1, 1.0, 1.25], [2, 0.5, 0.5]]),
        "fast": (lambda: [chosen(clicks=(1.0, 2.0, 0.0)), chosen("none", clicks=(3.0, 0.0, 0.0))], [1, 1]),
        "slow": (
            lambda: [
                chosen(clicks=(3.0, 0.0, 0.0), seen=((0, 0), (0, 4), (3, 0))),
                chosen(clicks=(2.0, 1.0, 1.0), seen=((90, 0), (0, 90), (0, 90))),
            ],
            [drawn(), 0],
        ),
        "slow, by the creator's own dice": (
            lambda: [chosen(seen=((n, 2), (2, n), (1, 1)), j=1) for n in range(4)],
            [drawn(1, seen=((n, 2), (2, n), (1, 1))) for n in range(4)],
        ),
        "skill": (
            lambda: np.round(studio().skill, 9).tolist(),
            [[0.9, 0.3, 0.6], [0.6, 0.6, 0.6]],
        ),
        "skill is a mean": (
            lambda: Studio(
                Catalogue(np.array([0, 0]), np.array([0.2, 0.6]), np.array([0, 0])), "own", 3, 0
            ).skill.tolist(),
            [[0.4]],
        ),
        "published": (published, [[1, 1, 0], [0.3, 0.3, 0.6], [2, 1, 0], [0, 5, 1], [0, 1, 2]]),
        "ranked": (order, [[0, 2, 1], [2, 1, 0]]),
        "one place": (lambda: order(slate=1), [[0], [2]]),
        # of the first creator 4 showings, 1; of the other 2, one half: 0.6, 0.2, 0.55 and -0.2, -0.1, 0.75
        "fair": (
            lambda: [order("fair"), order("fair", 0.6), order("fair", shows=(0.0, 0.0, 0.0))],
            [[[0, 2, 1], [2, 1, 0]], [[2, 0, 1], [2, 1, 0]], [[0, 2, 1], [2, 1, 0]]],
        ),
        "fair, of one showing": (lambda: order("fair", shows=(1.0, 0.0, 0.0))[0], [2, 0, 1]),
        "mmr": (lambda: [order("mmr", 0.1), order("mmr")], [[[0, 2, 1], [2, 1, 0]], [[0, 1, 2], [2, 1, 0]]]),
        "who has left is not shown": (
            lambda: [order(stays=(False, True)), order(stays=(False, False), slate=1)],
            [[[2, -1, -1]] * 2, [[-1], [-1]]],
        ),
        "interests": (liked, [[0, 0, 0], [0, 0, 0]]),
        "entropy": (
            lambda: [entropy(np.array(x)) for x in ([2.0, 2.0], [1.0, 0.0], [0.0, 0.0], [5.0], [1.0, 1.0, 0.0])],
            [1.0, 0.0, 0.0, 0.0, log(2) / log(3)],
        ),
        "drawn": (
            lambda: [
                [
                    sorted(set(made.creator.tolist())),
                    len(made.category),
                    made.names,
                    int(made.category.max()),
                    round(float(made.appeal.mean()), 1),
                ]
                for made in [drawn_items(60, 4, np.random.default_rng(0))]
            ],
            [[list(range(60)), 180, ("0", "1", "2", "3"), 3, 0.4]],
        ),
        "runs": (
            lambda: [run(), run(sees="all", rerank="mmr", weight=0.3), run(sees="none", rerank="fair", seed=1)],
            [by_hand(), by_hand("all", "mmr", 0.3), by_hand("none", "fair", seed=1)],
        ),
        "a file": (lambda: own(LINES), [[0, 1, 0], [0, 1, 1], [0.5, 0.25, 1.0], ("news", "music"), True]),
        "a file without creators": (
            lambda: own([{"category": "a", "appeal": 1}]),
            'line 1: no "creator"',
        ),
        "files that are refused": (
            lambda: [own([{**LINES[0], "appeal": 1.5}]), own([{**LINES[0], "appeal": -1}])],
            ["line 1: appeal is 1.5", "line 1: appeal is -1"],
        ),
        "knobs": (lambda: [refused(rounds=4), refused(slate=0), refused(rounds=5, slate=1)], [True, True, None]),
    },
    equal={
        "creagent: np.sum(spread[-last:], 0) -> np.mean(spread[-last:], 0)": "shares of sums are those of means",
        "Studio.learn: own[:, :, 0].sum(1) -> own[:, :, 0].mean(1)": "both are 0 where no item was clicked",
    },
    world=World(
        says="creators who learn from their own feedback make what users like more than creators who do not",
        measure=later,
        off={"sees": "none"},
        moves=0.1,
    ),
)
