"""The judge of anyprefer, before any training: with tools it tells right from wrong answers at least as well as without."""

from __future__ import annotations

import random

import pytest

import guerdon as gd
from guerdon.recipes.house.tool_judging import tool_assisted


def pair_accuracy(reward, pairs):
    """How often the right one of two answers is worth more; a tie is a half."""
    tried = [{"prompt": task.prompt, "completion": text} for task, *both in pairs for text in both]
    worth = gd.score_samples(reward, tried).whole
    assert None not in worth
    each = zip(worth[::2], worth[1::2], strict=True)
    return sum(1.0 if right > wrong else 0.5 * (right == wrong) for right, wrong in each) / len(pairs)


def planted(name, size):
    """A worked solution and a near-miss of each held-out problem."""
    family, draw = gd.tasks.load(name), random.Random(0)
    tasks = [family.get("test", number) for number in range(size)]
    return [(task, family.solution(task), draw.choice(family.near_misses(task, draw)).text) for task in tasks]


def judged(name, size):
    judge, pairs = gd.judge(gd.local("sprig", cache=False), scale="yes", sure=True), planted(name, size)
    return pair_accuracy(judge, pairs), pair_accuracy(tool_assisted(judge), pairs), judge.total


@pytest.mark.slow
def test_calls_of_tools_are_counted():
    without, assisted, total = judged("chain:1", 2)
    assert assisted >= without
    assert (total["asked"], total["calls"], total["unanswered"]) == (8, 4, 0)


@pytest.mark.slow
def test_tools_lose_none_of_500_planted_pairs():
    without, assisted, total = judged("chain:8", 500)
    print(f"pair accuracy {without:.3f} without tools, {assisted:.3f} with {total['calls']:.0f} calls")
    assert assisted >= without
    assert total["calls"] >= 500
