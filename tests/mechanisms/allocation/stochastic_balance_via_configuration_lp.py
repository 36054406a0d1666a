"""Stochastic balance: the item with the least load is tried, and the configuration program bounds what any rule can make."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from harness import Mechanism, World

from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.recipes.allocation.stochastic_balance_via_configuration_lp import (
    configuration_program,
    drawn_graph,
    matched,
)
from guerdon.training.catalog import find_recipe

NAME = "stochastic-balance-via-configuration-lp"
EDGES = [("a", "x", 0.3), ("a", "y", 0.2), ("b", "x", 0.4)]


class Dice:
    """Random numbers as written; items rank in reverse."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def permutation(self, size):
        return np.arange(size)[::-1]

    def random(self, size=None):
        numbers = [self.numbers.pop(0) for _ in range(1 if size is None else int(np.prod(size)))]
        return numbers[0] if size is None else np.reshape(numbers, size)


def best(chance, v=0, free=None):
    """The most that can be expected, by trying all that can be done at every arrival."""
    free = frozenset(range(chance.shape[1])) if free is None else free
    if v == len(chance):
        return 0.0
    waits = best(chance, v + 1, free)
    return max(
        [waits] + [p * (1 + best(chance, v + 1, free - {u})) + (1 - p) * waits for u in free if (p := chance[v, u]) > 0]
    )


def bounds():
    """The program is never below the best, nor far above it, on small graphs."""
    draw = np.random.default_rng(0)
    gaps = []
    for _ in range(12):
        chance = draw.random((4, 3)) * (draw.random((4, 3)) < 0.7)
        gaps.append(configuration_program(chance) - best(chance))
    return [min(gaps) > -1e-9, max(gaps) < 0.3]


def run(**knobs):
    return find_recipe(NAME)(**{"items": 6, "p": 0.25, "draws": 2, **knobs}).body(None, 0)


def share(rule="balance"):
    """What a rule makes of the graph on which who takes the first item wastes the one that is wanted longest."""
    return run(rule=rule, items=24, p=0.05, draws=6)["reward"]


def own(rows, **knobs):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.jsonl"
        file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        try:
            return run(graph=str(file), **knobs)
        except UserError as error:
            return str(error).split("mine.jsonl ")[-1].split(";")[0]


def line(arrival, item, p):
    return {"arrival": arrival, "item": item, "p": p}


def refused(**knobs):
    try:
        run(**knobs)
    except UserError:
        return True


def expected(graph, rule="balance", draws=2):
    """A run by hand: each graph's dice go on after it is drawn."""
    made, bound = [], []
    for n in range(draws):
        draw = np.random.default_rng(derive(0, "graph", n))
        chance = drawn_graph(graph, 6, 0.25, 0.5, draw)
        bound.append(configuration_program(chance, 4))
        made.append(int(matched(chance, 4, rule, draw).sum()))
    return {"reward": sum(made) / sum(bound), "matched": sum(made) / draws, "bound": sum(bound) / draws}


def tried(rule, *dice, chance=((0.5, 0.4, 0.0), (0.5, 0.4, 0.3)), copies=2):
    return matched(np.array(chance), copies, rule, Dice(*dice)).tolist()


mechanism = Mechanism(
    NAME,
    source="arXiv:2309.10289: the least load of probabilities tried first; sets of arrivals tried until one succeeds",
    numbers={
        # loads 0.5, 0; 0.5, 0.4; then of 0.5, 0.4, 0 the third, and of 0.5, 0.4, 0.3 the third again
        "balance": (
            lambda: [tried("balance", *d) for d in ((0.9, 0.9, 0.9, 0.2), (0.9, 0.3, 0.9, 0.9))],
            [[0, 0, 1], [0, 1, 0]],
        ),
        "what is taken is not tried again": (lambda: tried("balance", 0.1, 0.1, 0.1), [1, 1, 1]),
        "the same probability is no success": (lambda: tried("balance", 0.5, 0.4, 0.3, 0.3), [0, 0, 0]),
        "most loaded": (lambda: tried("most_loaded", 0.9, 0.9, 0.9, 0.2), [1, 0, 0]),
        "greedy": (lambda: tried("greedy", 0.45, 0.3, 0.2), [1, 1, 1]),
        "greedy, by what an arrival's own chances are": (
            lambda: tried("greedy", 0.9, 0.45, chance=((0.5, 0.4), (0.4, 0.5)), copies=1),
            [0, 1],
        ),
        "ranking": (lambda: tried("ranking", 0.9, 0.1, 0.1, 0.1), [1, 1, 1]),
        "random": (
            lambda: tried("random", 0.9, 0.1, 0.5, 0.9, 0.2, 0.1, 0.5, 0.9, 0.5, 0.4, 0.3, 0.2, 0.5, 0.4, 0.3, 0.1),
            [0, 1, 1],
        ),
        "the program": (
            lambda: [
                configuration_program(np.array([[0.5], [0.5]])),
                configuration_program(np.array([[0.5, 0.5]]), 2),
                configuration_program(np.array([[0.3, 0.2], [0.4, 0.0]])),
                configuration_program(np.array([[0.5], [0.0], [0.5]]), 3),
                configuration_program(np.zeros((2, 2))),
            ],
            [0.75, 1.0, 0.6, 1 - 0.5**6, 0.0],
        ),
        "never below the best": (bounds, [True, True]),
        "graphs": (
            lambda: [
                drawn_graph("upper", 3, 0.5, 0.1, np.random.default_rng(0)).tolist(),
                drawn_graph("random", 2, 0.5, 0.5, Dice(0.4, 0.5, 0.6, 0.1)).tolist(),
            ],
            [[[0.5, 0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.0, 0.0]], [[0.5, 0.0], [0.0, 0.5]]],
        ),
        "runs": (
            lambda: [run(), run(graph="random", density=0.5), run(rule="ranking")],
            [expected("upper"), expected("random"), expected("upper", "ranking")],
        ),
        "a probability whose inverse is no whole number": (lambda: run(items=1, p=0.3)["bound"], 1 - 0.7**3),
        "a file": (
            lambda: own([line(*edge) for edge in EDGES], draws=1)["bound"],
            0.6,
        ),
        "a file's arrivals come once, in order": (
            lambda: own([line("b", "x", 0.5), line("a", "x", 0.0), line("b", "y", 0.25)], draws=1)["bound"],
            0.5,
        ),
        "files that are refused": (
            lambda: [
                own([line("a", "x", 1.0)]),
                own([line("a", "x", "often")]),
                own([line("a", "x", -0.1)]),
                own([{"arrival": "a", "p": 0.5}]),
                own(["{"])[:8],
            ],
            [
                "line 1: p is 1.0",
                "line 1: p is 'often', not a number",
                "line 1: p is -0.1",
                'line 1: no "item"',
                "line 1: ",
            ],
        ),
        "knobs": (
            lambda: [refused(p=0.0), refused(p=1.0), refused(graph="random", density=0.0), refused(density=1.5)],
            [True] * 4,
        ),
    },
    world=World(
        says="balance keeps the item that is wanted longest, the most loaded first does not",
        measure=share,
        off={"rule": "most_loaded"},
        moves=0.1,
    ),
)
