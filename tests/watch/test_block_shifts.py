"""Changes between blocks of steps: numbers done by hand, and scipy's."""

from __future__ import annotations

import math
import random

import pytest

from guerdon.watch.block_shifts import from_zero, mean, shift, windows


def test_a_shift_by_hand():
    change = shift([1.0, 2.0, 3.0], [4.0, 6.0, 8.0])
    assert change is not None
    assert (change.before, change.after, change.by, change.freedom) == (2.0, 6.0, 4.0, 4)
    assert change.error == pytest.approx(math.sqrt(1 / 3 + 4 / 3))  # variances 1 and 4, three values each
    assert change.chance_of_rise() + change.chance_of_fall() == pytest.approx(1.0)


def test_blocks_without_spread():
    up, same = shift([1.0] * 3, [2.0] * 3), shift([1.0] * 3, [1.0] * 3)
    assert up is not None and same is not None
    assert (up.chance_of_rise(), up.chance_of_fall()) == (0.0, 1.0)
    assert (same.chance_of_rise(), same.chance_of_fall(), same.at_most(0.95)) == (1.0, 1.0, 0.0)


def test_too_few_values_say_nothing():
    assert shift([1.0, 2.0], [3.0, 4.0, 5.0]) is None and shift([], []) is None
    assert mean([]) == 0.0


def test_the_chance_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    dice = random.Random(3)
    for n in (3, 4, 8, 40):
        a, b = [dice.gauss(0, 1) for _ in range(n)], [dice.gauss(0.5, 1) for _ in range(n)]
        change = shift(a, b)
        assert change is not None
        theirs = stats.ttest_ind(b, a, alternative="greater")  # of blocks of one size the pooled t is ours
        assert change.chance_of_rise() == pytest.approx(theirs.pvalue, rel=1e-9)
        assert change.at_most(0.95) == pytest.approx(-stats.ttest_ind(a, b).confidence_interval(0.90).low, rel=1e-6)


def test_a_mean_against_zero():
    change = from_zero([1.0, 2.0, 3.0])  # t = 2 / (1 / sqrt(3)), two degrees of freedom
    assert change is not None and (change.by, change.freedom) == (2.0, 2) and from_zero([1.0, 2.0]) is None
    assert change.error == pytest.approx(3**-0.5) and change.chance_of_rise() == pytest.approx(0.0370899, rel=1e-5)


def test_windows_grow_by_half():
    assert [*windows(11, 256)] == []
    assert [*windows(100, 256)] == [12, 16, 24, 32, 48, 64, 96]
    assert [*windows(1000, 256)][-2:] == [192, 256] and [*windows(1000, 20)] == [12, 16]
