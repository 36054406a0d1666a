"""Dual mirror descent: prices follow use, so that budgets last for a stream and go to what is worth most."""

from __future__ import annotations

import json
import tempfile
from math import exp, inf
from pathlib import Path

import numpy as np
from harness import Mechanism, World

from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.data.opening import open_records
from guerdon.recipes.allocation.dual_mirror_descent import Priced, chooser, own_stream
from guerdon.studies.streams import NONE, Requests, drawn_requests, dual, hindsight, requests_of, serve, slope
from guerdon.training.catalog import find_recipe

# two options of one resource, which lasts for 4 of 8; rho = 1
VALUE = np.array([[3.0, 2.0], [1.0, 2.0], [0.5, -1.0], [4.0, 1.0]])
USE = np.array([[[2.0], [0.5]], [[2.0], [1.0]], [[2.0], [0.5]], [[2.0], [1.0]]])
SMALL = Requests(VALUE, USE, np.array([4.0]), ("views",))
LONGER = drawn_requests("iid", 64, 2, 2, 0.2, np.random.default_rng(1))
PAIR = Requests(np.array([[1.0], [3.0]]), np.ones((2, 1, 1)), np.array([0.8]))
LAST = Requests(np.array([[3.0, 2.0], [0.0, -1.0]]), np.array([[[2.0], [0.5]]] * 2), np.array([1.5]))
TWO = Requests(np.array([[1.0]]), np.array([[[2.0, 0.0]]]), np.array([1.0, 1.0]))
ROWS = [
    {"request": "a", "value": "3", "views": "2"},
    {"request": "a", "value": "2", "views": "0.5"},
    {"request": 7, "value": 1, "views": 2},
]


def walked(requests=SMALL, mirror="euclidean", prices="mirror", rate=1.0, start=0.0):
    """What is taken of each request, and the prices after the last."""
    rule = chooser(requests, prices, mirror, rate, start)
    return [serve(requests, rule).tolist(), rule.prices.tolist()]


def tenth(requests):
    return chooser(requests, "first_tenth", "euclidean", 1.0, 0.0).prices.tolist()


def row(stream="iid", seed=0, **knobs):
    """A run of the recipe on small streams."""
    study = find_recipe("dual-mirror-descent")(stream=stream, **{"horizon": 64, "draws": 2, **knobs})
    return study.body(None, seed)


def kept(prices="mirror", **knobs):
    """The share of the linear program that is made of streams that become better late."""
    return row("drift", horizon=320, draws=2, resources=2, share=0.2, prices=prices, **knobs)["reward"]


def refused(make):
    try:
        make()
    except UserError as error:
        return str(error).split(": ", 1)[-1].split(";")[0]


def by_hand(kind, mirror="euclidean", start=0.0, rate=3.0, made=(5, 3, 0.2), horizon=64):
    """What a run of two streams comes to: the method in plain loops, and the program."""
    gained, lost = [], []
    for n in range(2):
        whole = drawn_requests(kind, horizon, *made, np.random.default_rng(derive(0, "stream", n)))
        for size in (horizon // 8, horizon // 4, horizon // 2, horizon):
            rho, price, got = whole.budget / horizon, [start] * made[1], 0.0
            left = rho * size
            for value, use in zip(whole.value[:size], whole.use[:size], strict=True):
                worth = [
                    v - sum(p * u for p, u in zip(price, row, strict=True)) for v, row in zip(value, use, strict=True)
                ]
                taken = max(range(len(worth)), key=worth.__getitem__) if max(worth) > 0 else None
                cost = use[taken] if taken is not None else 0 * rho
                if taken is not None and all(cost <= left):
                    got, left = got + value[taken], left - cost
                pull = rate / size**0.5 * (rho - cost)
                price = [
                    p * exp(-x) if mirror == "entropy" else max(p - x, 0.0) for p, x in zip(price, pull, strict=True)
                ]
            best = hindsight(whole.first(size)).worth
            lost.append(best - got)
        gained.append(got / best)
    regret = np.array(lost).reshape(2, 4).mean(0)
    sizes = [horizon // 8, horizon // 4, horizon // 2, horizon]
    return {
        "reward": sum(gained) / 2,
        "regret": regret[-1] / horizon**0.5,
        "slope": float(np.polyfit(np.log(sizes), np.log(regret), 1)[0]),
        "requests": horizon,
    }


def read(rows=ROWS):
    return requests_of(open_records(rows, "mine"), {"views": 4.0})


def own(lines, **knobs):
    """A run on a user's file, or the line that refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines))
        study = find_recipe("dual-mirror-descent")(stream=str(file), budgets="views=16", **knobs)
        try:
            return study.body(None, 0)
        except UserError as error:
            return str(error).split("mine.jsonl ")[-1]


LONG = [json.dumps({"request": n, "value": 1 + n % 3, "views": 1 + n % 2}) for n in range(20)]


def bounds():
    """The dual of any prices is never below the program, and that of its own prices is equal to it."""
    stream = drawn_requests("iid", 40, 3, 2, 0.2, np.random.default_rng(0))
    best, draw = hindsight(stream), np.random.default_rng(1)
    above = [dual(stream, draw.random(2) * 2) >= best.worth for _ in range(8)]
    return [all(above), dual(stream, best.prices) - best.worth]


def within():
    """Budgets hold in drawn streams of every kind, under every rule."""
    draw = np.random.default_rng(2)
    for n in range(30):
        stream = drawn_requests(("iid", "drift", "adversarial")[n % 3], 12, 3, 2, 0.05 + draw.random() / 2, draw)
        chosen = serve(stream, Priced(stream, draw.random(2), draw.random()))
        if (stream.used(chosen) > stream.budget + 1e-12).any():
            return n
    return True


def scale(input):
    """Mean values and uses of the first and the second half of a stream, and what its budget lasts for."""
    stream = drawn_requests(input, 4000, 1, 1, 0.3, np.random.default_rng(3))
    halves = [np.round(part.mean(), 1) for x in (stream.value, stream.use) for part in (x[:2000], x[2000:])]
    return [*map(float, halves), round(float(stream.budget[0] / stream.use.sum()), 6)]


FIXED = by_hand("iid", start=0.5, rate=0.0)
mechanism = Mechanism(
    "dual-mirror-descent",
    source="arXiv:2011.10124, algorithm 1: x = argmax f - mu b, g = rho - b(x), mu <- max(mu - eta g, 0) or mu exp(-eta g)",
    also=[Requests, hindsight, dual, serve, slope, drawn_requests, requests_of],
    numbers={
        # mu 0: the first option, which uses 2: mu = (2 - 1) / 2; then 1 - 1 = 0 against 2 - 0.5, and g = 0; 0.5 - 1 < 0, none:
        # mu = 0; the first again, which would use 2 of 1 that is left, is not served, yet moves the price
        "euclidean": (walked, [[0, 1, NONE, NONE], [0.5]]),
        "a smaller rate": (lambda: walked(rate=0.5)[1], [0.25]),
        "entropy": (
            lambda: walked(mirror="entropy", start=1.0),
            [[1, 1, NONE, 0], [exp(0.5 * (-0.5 + 0.0 - 1.0 + 1.0))]],
        ),
        "fixed": (lambda: walked(prices="fixed", start=1.0), [[1, 1, NONE, 0], [1.0]]),
        "greedy": (lambda: walked(prices="greedy", start=1.0), [[0, 1, NONE, NONE], [0.0]]),
        "prices of several resources": (
            lambda: walked(TWO, rate=0.5, start=0.25),
            [[NONE], [0.75, 0.0]],
        ),
        # the second option of the first two and the first of the last use 3.5; half a unit more is worth 1 / 1.5 in the first
        "the program": (
            lambda: [hindsight(SMALL).worth, hindsight(SMALL).prices.tolist(), hindsight(SMALL.first(2)).worth],
            [2 + 2 + 4 + 1 / 3, [2 / 3], 2 + 2 + 1 / 3],
        ),
        "a part of an option": (lambda: hindsight(TWO).worth, 0.5),
        "a program without solution": (
            lambda: refused(lambda: hindsight(Requests(np.array([[1.0]]), np.array([[[1e308]]]), np.array([1.0])))),
            "give values, uses and budgets in units in which they are nearer to 1",
        ),
        "nothing worth serving": (
            lambda: [
                hindsight(Requests(-abs(VALUE), USE, SMALL.budget)).worth,
                walked(Requests(-abs(VALUE), USE, SMALL.budget))[0],
            ],
            [0.0, [NONE] * 4],
        ),
        "prices of the first tenth, or of one request, which stay": (
            lambda: [
                tenth(LONGER),
                tenth(PAIR),
                walked(LONGER, prices="first_tenth")[1],
            ],
            [hindsight(LONGER.first(6)).prices.tolist(), [1.0], tenth(LONGER)],
        ),
        "a request that is worth nothing at the end": (lambda: hindsight(LAST).worth, 2 + 2 / 3),
        "a budget that is used up": (
            lambda: [serve(SMALL, lambda t, left: 0).tolist(), SMALL.used(np.array([0, 0, NONE, NONE])).tolist()],
            [[0, 0, NONE, NONE], [4.0]],
        ),
        "the first of two requests is the early half": (
            lambda: [
                int(10 * x)
                for x in drawn_requests("adversarial", 2, 400, 1, 0.5, np.random.default_rng(0)).value.max(1)
            ],
            [4, 9],
        ),
        # of six requests in a row the third, fifth and sixth are worth more than they use: 8 for 4 views, and the rest 1 a view
        "a file": (
            lambda: own(LONG, prices="fixed", start=1.0),
            {
                "reward": 24 / 28,
                "regret": 4 / 20**0.5,
                "slope": float(np.polyfit(np.log([2, 5, 10, 20]), np.log([1.6, 2, 3, 4]), 1)[0]),
                "requests": 20,
            },
        ),
        "a file of two requests": (
            lambda: own(LONG[:2], prices="fixed", start=5.0),
            {"reward": 0.0, "regret": 3 / 2**0.5, "slope": float(np.log2(3)), "requests": 2},
        ),
        "a file that cannot be read": (lambda: own([*LONG, "{"])[:8], "line 21:"),
        "weak duality": (bounds, [True, 0.0]),
        "budgets hold": (within, True),
        "streams": (
            lambda: [scale(x) for x in ("iid", "drift", "adversarial")],
            [[0.5, 0.5, 0.5, 0.5, 0.3], [0.4, 0.6, 0.5, 0.5, 0.3], [0.2, 0.5, 0.7, 0.5, 0.3]],
        ),
        "budgets of dear options": (
            lambda: float(drawn_requests("iid", 500, 9, 2, 0.5, np.random.default_rng(0)).share[0]),
            drawn_requests("iid", 500, 9, 2, 0.5, np.random.default_rng(0)).use.max(1).mean() / 2,
        ),
        "slope": (lambda: [slope([2, 4, 8], [0.5, 1, 2]), slope([2, 4], [4, 1])], [1.0, -2.0]),
        "no slope": (lambda: [repr(slope([2, 4], [0, 1])), repr(slope([2], [1]))], ["nan", "nan"]),
        "rows of a file": (
            lambda: [x.tolist() for x in (read().value, read().use, read().budget, read().share)],
            [[[3.0, 2.0], [1.0, -inf]], [[[2.0], [0.5]], [[2.0], [0.0]]], [4.0], [2.0]],
        ),
        "rows that are refused": (
            lambda: [
                refused(lambda: read([*ROWS, {"request": "a", "value": 1, "views": 1}])),
                refused(lambda: read([{"request": "a", "value": 1}])),
                refused(lambda: read([{"request": "a", "value": "much", "views": 1}])),
                refused(lambda: read([{"request": "a", "value": 1, "views": -1}])),
                refused(lambda: read([{"request": "a", "value": "nan", "views": 1}])),
                refused(lambda: read([])),
                refused(lambda: drawn_requests("steady", 4, 1, 1, 0.5, np.random.default_rng(0))),
            ],
            [
                "request a again",
                'no "views"',
                "value is 'much', not a number",
                "views is -1",
                "value is 'nan'",
                "mine has no rows",
                "there is iid, drift, adversarial, and a file needs its budgets: --set budgets=views=1000",
            ],
        ),
        "values below 0": (
            lambda: read([{"request": "a", "value": -1, "views": 0}]).value.tolist(),
            [[-1.0]],
        ),
        "budgets": (
            lambda: [
                refused(lambda: own_stream("mine.csv", "views")),
                refused(lambda: own_stream("mine.csv", "views=0")),
                refused(lambda: own_stream("mine.csv", "views=inf")),
                refused(lambda: own_stream("mine.csv", "views=nan")),
                refused(lambda: find_recipe("dual-mirror-descent")(mirror="entropy")),
            ],
            [
                "'views' is not a resource with its limit, as views=1000",
                *["views must be more than 0, and finite"] * 3,
                "--set start=0.5, or what a unit is worth",
            ],
        ),
        "a run": (
            lambda: [row(), row("drift", mirror="entropy", start=0.5, rate=1.0, share=0.5, options=2, resources=1)],
            [by_hand("iid"), by_hand("drift", "entropy", 0.5, 1.0, (2, 1, 0.5))],
        ),
        "other rules": (
            lambda: [row(prices="greedy"), row(prices="fixed", start=0.5)],
            [by_hand("iid", rate=0.0), FIXED],
        ),
    },
    equal={
        "hindsight: requests.value > 0 -> requests.value >= 0": "what is worth 0 adds nothing",
    },
    world=World(
        says="of streams that become better late more is made than by greed, which spends its budgets early",
        measure=kept,
        off={"prices": "greedy"},
        moves=0.3,
    ),
)
