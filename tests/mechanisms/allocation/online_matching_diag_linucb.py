"""Diag-LinUCB: sums of squared weights and weighted rewards of edges, which is LinUCB where requests have one cluster."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from harness import Mechanism, World

from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.data.opening import open_records
from guerdon.recipes.allocation.online_matching_diag_linucb import (
    DiagLinUCB,
    FullLinUCB,
    drawn_rates,
    drawn_weights,
    drifted,
)
from guerdon.studies.streams import number_in, rows_with, table_of
from guerdon.training.catalog import find_recipe

NAME = "online-matching-diag-linucb"
EDGE = np.array([[True, True, False], [True, False, True]])
WEIGHTS = np.array([[0.8, 0.6], [0.6, 0.8], [1.0, 0.0]])
SHOWN, REWARD = np.array([0, 0, 1]), np.array([1.0, 0.0, 1.0])
TABLE = [{"v": v, "u": u, "p": p} for v, u, p in (("a", "x", 0.1), ("a", "y", 0.2), ("b", "y", 0.3), ("b", "z", 0.4))]
ROWS = [{"cluster": "a", "item": 1, "rate": 0.5}, {"cluster": "b", "item": 2, "rate": "0.25"}]


def taught(kind=DiagLinUCB, alpha=0.5, weights=WEIGHTS, shown=SHOWN, reward=REWARD):
    learner = kind(EDGE, alpha)
    learner.update(weights, shown, reward)
    return learner


def diagonal():
    """Item 0 has two edges: d = 1 + 0.64 + 0.36 = 2 each, b = 0.8 and 0.6; item 1 has one, d = 2 and b = 1; item 2 nothing."""
    one = 0.5 * (0.8 * 0.8 / 2 + 0.6 * 0.6 / 2) / 0.5 + 0.5 * (1 / 2) ** 0.5
    return [[one, 0.8 * 0.5 + 0.5 * (0.64 / 2) ** 0.5, 0.5 * 0.6]]


def whole():
    """Item 0 with A = I + w w' + v v' of the two requests, by inversion; the others have one edge each."""
    w, v = WEIGHTS[0], WEIGHTS[1]
    inverse = np.linalg.inv(np.eye(2) + np.outer(w, w) + np.outer(v, v))
    return [[w @ inverse @ w + 0.5 * (w @ inverse @ w) ** 0.5, 0.4 + 0.5 * 0.32**0.5, 0.3]]


def one_cluster():
    """Where every request has one cluster both are the same, whatever was shown."""
    draw = np.random.default_rng(0)
    edge = np.ones((3, 4), bool)
    one, other = DiagLinUCB(edge, 0.7), FullLinUCB(edge, 0.7)
    for _ in range(3):
        weights = np.eye(3)[draw.integers(3, size=9)]
        shown, reward = draw.integers(4, size=9), draw.integers(2, size=9).astype(float)
        one.update(weights, shown, reward)
        other.update(weights, shown, reward)
    return float(abs(one.scores(np.eye(3)) - other.scores(np.eye(3))).max())


def sharded():
    """Updates in another order, by two machines whose sums are added, come to the same."""
    weights, shown, reward = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2]), np.array([1.0, 0, 1, 1, 0, 1])
    whole = taught(weights=weights, shown=shown, reward=reward)
    parts = [taught(weights=weights[i], shown=shown[i], reward=reward[i]) for i in ([5, 0, 3], [2, 4, 1])]
    same = [np.array_equal(whole.d, sum(x.d - 1 for x in parts) + 1), np.array_equal(whole.b, sum(x.b for x in parts))]
    return all(same)


def run(seed=0, **knobs):
    return find_recipe(NAME)(**{**SIZES, **knobs}).body(None, seed)


SIZES = {"requests": 30, "clusters": 4, "items": 12, "edges": 5, "near": 2, "delay": 4}


def by_hand(rule="diag_linucb", alpha=0.3, drift=0.2, rate=None, requests=30, delay=4, near=2):
    """A run in plain loops, with the dice of the recipe."""
    draw = np.random.default_rng(derive(0, "clicks"))
    rate = drawn_rates(4, 12, 5, draw) if rate is None else rate
    learner = (FullLinUCB if rule == "linucb" else DiagLinUCB)(rate >= 0, alpha)
    made = best = 0.0
    for begin in range(0, requests, delay):
        if begin == requests // 2 - requests // 2 % delay:
            rate = drifted(rate, drift, draw)
        weights = drawn_weights(min(delay, requests - begin), len(rate), near, draw)
        worth = np.array(
            [[sum(w * max(r, 0) for w, r in zip(row, column, strict=True)) for column in rate.T] for row in weights]
        )
        score = draw.random(worth.shape) if rule == "random" else learner.scores(weights)
        shown = []
        for n, row in enumerate(weights):
            able = [
                j for j in range(rate.shape[1]) if any(w > 0 and r >= 0 for w, r in zip(row, rate[:, j], strict=True))
            ]
            shown.append(max(able, key=lambda j: score[n, j]))
        chance = worth[range(len(shown)), shown]
        learner.update(weights, np.array(shown), (draw.random(len(shown)) < chance) * 1.0)
        made, best = made + chance.sum(), best + worth.max(1).sum()
    return {"reward": made / best, "rate": made / requests, "best_rate": best / requests}


def own(rows, **knobs):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.jsonl"
        file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        try:
            return run(rates=str(file), **{"near": 1, "drift": 0.0, **knobs})
        except UserError as error:
            return str(error).split("mine.jsonl ")[-1].split(";")[0]


def drawn():
    """Shapes of what is drawn: edges of a cluster, weights of a request, and which rates move."""
    draw = np.random.default_rng(1)
    rate = drawn_rates(3, 8, 5, draw)
    moved = drifted(rate, 0.4, draw)
    weights = drawn_weights(2, 4, 3, draw)
    return [
        (rate >= 0).sum(1).tolist(),
        sorted({float(x) for x in rate[rate < 0]}),
        [bool((moved != rate).sum() <= 6), bool((moved != rate).any()), set(moved.flat) <= set(rate.flat)],
        np.sort(weights, axis=1).tolist(),
        (drawn_rates(1, 3, 5, draw) >= 0).sum(1).tolist(),
        drawn_weights(1, 1, 2, draw).tolist(),
        [round(float(x), 2) for x in (drawn_rates(1, 4000, 4000, draw).mean(), drawn_rates(1, 4000, 4000, draw).std())],
    ]


mechanism = Mechanism(
    NAME,
    source="arXiv:2307.15893 in the formula of its row: d += w^2, b += r w, sum w b / d + alpha sqrt(sum w^2 / d)",
    also=[table_of, rows_with, number_in],
    numbers={
        "sums": (
            lambda: [taught().d.tolist(), taught().b.tolist()],
            [[[2, 2, 1], [2, 1, 1]], [[0.8, 1, 0], [0.6, 0, 0]]],
        ),
        "scores": (lambda: taught().scores(WEIGHTS[:1]).tolist(), diagonal()),
        "LinUCB": (lambda: taught(FullLinUCB).scores(WEIGHTS[:1]).tolist(), whole()),
        "LinUCB's sums": (lambda: taught(FullLinUCB).b.tolist(), [[0.8, 1, 0], [0.6, 0, 0]]),
        "one cluster a request": (one_cluster, 0.0),
        "any order, any machine": (sharded, True),
        "what is drawn": (
            drawn,
            [
                [5, 5, 5],
                [-1.0],
                [True, True, True],
                [[0, 1 / 7, 2 / 7, 4 / 7]] * 2,
                [3],
                [[1.0]],
                [0.1, 0.09],
            ],
        ),
        "runs": (
            lambda: [run(), run(rule="linucb", alpha=0.1), run(rule="random", drift=1.0), run(requests=8, near=1)],
            [by_hand(), by_hand("linucb", 0.1), by_hand("random", drift=1.0), by_hand(requests=8, near=1)],
        ),
        "a file": (
            lambda: own(ROWS),
            by_hand(rate=np.array([[0.5, -1.0], [-1.0, 0.25]]), near=1, drift=0.0),
        ),
        "files that are refused": (
            lambda: [
                own([{"cluster": "a", "item": 1, "rate": 1.5}]),
                own([{"cluster": "a", "item": 1, "rate": -0.5}]),
                own([{"cluster": "a", "item": 1, "rate": "high"}]),
                own([{"cluster": "a", "rate": 0.5}]),
                own(["{"])[:7],
                own([])[-11:],
            ],
            [
                "line 1: rate is 1.5",
                "line 1: rate is -0.5",
                "line 1: rate is 'high', not a number",
                'line 1: no "item"',
                "line 1:",
                "has no rows",
            ],
        ),
        "edges that are never clicked are tried": (
            lambda: own([{"cluster": "a", "item": n, "rate": n / 2} for n in (0, 1)], alpha=1.0, delay=1),
            by_hand(rate=np.array([[0.0, 0.5]]), near=1, drift=0.0, alpha=1.0, delay=1),
        ),
        "and drift": (
            lambda: any(
                (drifted(np.array([[0.0, 0.5]]), 1.0, np.random.default_rng(n)) != [[0, 0.5]]).any() for n in range(9)
            ),
            True,
        ),
        "no edge is ever clicked": (lambda: own([{"cluster": "a", "item": 1, "rate": 0}])["reward"], 1.0),
        "a table": (
            lambda: table_of(open_records(TABLE, "mine"), ("v", "u", "p"), absent=-1.0).tolist(),
            [[0.1, 0.2, -1.0], [-1.0, 0.3, 0.4]],
        ),
        "rates of 0 and 1": (lambda: own([{"cluster": "a", "item": n, "rate": n} for n in (0, 1)])["best_rate"], 1.0),
    },
    equal={
        "online_matching_diag_linucb: draw.random(len(shown)) < chance -> draw.random(len(shown)) <= chance": "a draw "
        "that is the rate itself has no probability"
    },
    world=World(
        says="a bonus for edges that were seldom shown finds better ones than the best so far",
        measure=lambda **knobs: run(requests=900, clusters=6, items=60, edges=20, delay=30, drift=0.0, **knobs)[
            "reward"
        ],
        off={"alpha": 0.0},
        moves=0.1,
    ),
)
