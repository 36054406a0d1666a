"""False discoveries by hand, against scipy, and that evidence never takes one away."""

from __future__ import annotations

import itertools
import random

from scipy import stats

from guerdon.loop.proof.discoveries import discoveries, settled
from guerdon.loop.proof.verdict import LOOKS, compare_values


def test_false_discoveries_by_hand():
    # m = 5 at 5 %: bounds 0.01, 0.02, 0.03, 0.04, 0.05. 0.021 fails its own (0.02), but 0.03 passes the third
    assert discoveries([0.5, 0.03, 0.001, 0.021, 0.2]) == [False, True, True, True, False]
    assert discoveries([0.02, 0.9, 0.9, 0.9, 0.9]) == [False] * 5
    assert discoveries([]) == []


def test_a_claim_without_evidence_counts():
    assert discoveries([0.03]) == [True]
    assert discoveries([0.03, None]) == [False, False]  # the bound is 0.025
    assert discoveries([0.02, None]) == [True, False]


def test_false_discoveries_as_scipy_finds_them():
    draw = random.Random(1)
    for _ in range(50):
        p = [draw.random() ** 3 for _ in range(draw.randint(1, 30))]
        assert discoveries(p) == [bool(q <= 0.05) for q in stats.false_discovery_control(p)]


def test_lower_p_values_take_no_discovery_away():
    """Every batch of four claims with p-values from a list, and every one of them lowered in every way."""
    grid = [None, 0.05, 0.03, 0.025, 0.0125, 0.001]  # from high to low
    for places in itertools.combinations_with_replacement(range(len(grid)), 4):
        before = discoveries([grid[i] for i in places])
        for lower in itertools.product(*(range(i, len(grid)) for i in places)):
            after = discoveries([grid[i] for i in lower])
            assert all(now for was, now in zip(before, after, strict=True) if was), (places, lower)


def test_more_seeds_never_change_a_word():
    """Batches of six claims, whose evidence comes in any order: what has a word keeps it."""
    draw = random.Random(2)
    words_said = 0
    for _ in range(20):
        claims = [[draw.gauss(m, 0.012) for _ in range(32)] for m in draw.choices((0.0, 0.02, 0.03, -0.04), k=6)]
        seeds, known, before = [0] * 6, [None] * 6, ["not known"] * 6
        for i in draw.sample([i for i in range(6) for _ in LOOKS], 18):
            seeds[i] = next(n for n in LOOKS if n > seeds[i])
            known[i] = compare_values(claims[i][: seeds[i]], 0.02)
            kept = discoveries([c.p if c else None for c in known])
            after = [settled(c.alone, k) if c else "not known" for c, k in zip(known, kept, strict=True)]
            assert all(was in ("not known", now) for was, now in zip(before, after, strict=True))
            before = after
        words_said += sum(word != "not known" for word in before)
    assert 40 < words_said < 120


def test_only_discoveries_keep_their_word():
    assert [settled(word, True) for word in ("better", "worse", "equal")] == ["better", "worse", "equal"]
    assert [settled(word, False) for word in ("better", "worse", "equal")] == ["not known"] * 3
    assert settled("not testable here", False) == "not testable here"
    assert settled("not known", False) == "not known"
