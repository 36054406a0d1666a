"""Plan-RewardBench: pairs of a tool user's trajectories, one with a single fault, by how long they are."""

from __future__ import annotations

import random
from types import SimpleNamespace
from unittest.mock import patch

from harness import Mechanism, World, made, small_model
from pools import HandRun

from guerdon.recipes.audit.plan_rewardbench import parts, recipe
from guerdon.recipes.audit.plan_rewardbench.parts import (
    FAULTS,
    TracePair,
    accuracies,
    by_last_step,
    by_length,
    operations,
    tabled,
    task_prompt,
    trace_pair,
    trace_pairs,
    trajectory,
    worked,
)

TODO = [("+", 5), ("*", 3), ("-", 9)]
PAIRS = [TracePair("p", "aa", "a", "dropped", 2), TracePair("q", "b", "b", "ignored", 2), TracePair("r", "c", "cc", "dropped", 3)]


def lines(fault="", at=1, failing=(0,)):
    return trajectory(7, TODO, failing, fault, at).split("\n")


def drawn(length=40):
    """Whether results stay within bounds, and which numbers and signs are drawn."""
    values, numbers, signs, starts = [], set(), set(), set()
    for seed in range(30):
        value, todo = operations(length, random.Random(seed))
        starts.add(value)
        for each in todo:
            value = worked(value, each)
            values.append(value)
        numbers |= {n for _, n in todo}
        signs |= {sign for sign, _ in todo}
    inside = min(values) == 0 and 900 < max(values) <= 999
    return [inside, sorted(numbers), sorted(signs), min(starts) >= 2 and max(starts) <= 20, len(todo)]


def checked(pair):
    """Whether a trajectory is worked out from its prompt, whatever fails at first."""
    _, start, *todo = pair.prompt.removesuffix(" tools: call").split(" ")
    todo = [(each[0], int(each[1:])) for each in todo]
    wanted = trajectory(int(start), todo, []).split("\n")
    kept = [line for n, line in enumerate(pair.good.split("\n")) if line != "error" and pair.good.split("\n")[n - 1] != "error"]
    return kept == wanted and len(todo) == pair.length


def faults(number=200):
    """Of many pairs: good ones worked out, bad ones within bounds, those ignored failing in both, and the share of failed calls."""
    pairs = [trace_pair(6, FAULTS[n % 4], "seed", n) for n in range(number)]
    ignored = [pair for pair in pairs if pair.fault == "ignored"]
    results = [int(line) for pair in pairs for line in pair.bad.split("\n") if line.lstrip("-").isdigit()]
    failed = [pair.good.count("error") / 6 for pair in pairs if pair.fault != "ignored"]
    return [
        all(map(checked, pairs)),
        0 <= min(results) and max(results) <= 999,
        all("error" in pair.good and "error" in pair.bad for pair in ignored),
        0.1 < sum(failed) / len(failed) < 0.2,
        len({pair.prompt for pair in pairs}) == number,
    ]
