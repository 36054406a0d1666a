"""Contrast instructions: neighbours, consistency, hulls and fusion by hand, and the whole study of a tiny model."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from small import small_lm

import guerdon as gd
from guerdon.recipes.audit.reward_consistency_contrast_instructions.parts import (
    Contrast,
    augmented,
    consistency,
    contrast,
    corners,
    counts,
    fused,
    hull,
    spelled,
)

PAIR = Contrast(("a", "b"), ("x", "y"))


def says(table):
    return lambda texts: [table[text] for text in texts]


@pytest.mark.parametrize("task", ["chain:2", "equation:6-7", "modular:2"])
def test_a_neighbour_differs_in_one_digit_and_in_its_answer(task):
    source = gd.tasks.load(task)
    for i in range(6):
        mine = source.get("test", i)
        made = contrast(source, mine, random.Random(i))
        if made is None:
            continue
        a, b = made.prompts
        assert a == mine.prompt and len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1
        assert source.check(mine, made.solutions[0]) == 1.0 and source.check(mine, made.solutions[1]) == 0.0


def test_consistency_by_hand():
    blind = says({("a", "x"): 2.0, ("b", "x"): 2.0, ("a", "y"): 1.0, ("b", "y"): 1.0})  # reads the solution alone
    assert consistency(blind, [PAIR]) == {"responses": 0.5, "instructions": 0.5, "contrast": 0.5}
    keen = says({("a", "x"): 2.0, ("b", "x"): 0.0, ("a", "y"): 1.0, ("b", "y"): 3.0})
    assert consistency(keen, [PAIR])["contrast"] == 1.0
    # x is always liked better, and each better under its own: of solutions one is right, of instructions both
    half = says({("a", "x"): 5.0, ("b", "x"): 4.0, ("a", "y"): 1.0, ("b", "y"): 2.0})
    assert consistency(half, [PAIR]) == {"responses": 0.5, "instructions": 1.0, "contrast": 0.75}


def test_hulls_are_scipys():
    draw = np.random.default_rng(0)
    for n in (4, 10, 50):
        points = draw.normal(size=(n, 2))
        assert sorted(hull(points)) == sorted(ConvexHull(points).vertices.tolist())
    assert hull(np.zeros((3, 2))) and sorted(hull(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))) == [0, 2]


def test_spellings_say_the_same():
    text = "7-1=6\n6*3=18\n= 18"
    draw = random.Random(0)
    for _ in range(20):
        assert spelled(text, draw, 0.5).replace(" ", "") == text.replace(" ", "")
    assert spelled(text, draw, 1.0) == "7 - 1 = 6\n6 * 3 = 18\n= 18" and spelled(text, draw, 0.0) == text
    assert corners(["p", "p", "q"]) == ["p", "q"]


def test_rows_are_told_again_in_corners():
    rows = [{"prompt": f"q{i}", "chosen": "7-1=6\n6*3=18\n= 18", "rejected": "= 5"} for i in range(4)]
    more = augmented(rows, seed=0)
    assert len(more) > len(rows) and all(row in more for row in rows)
    assert all(row["chosen"].replace(" ", "") == "7-1=6\n6*3=18\n=18" for row in more)
    assert more == augmented(rows, seed=0)


def test_alike_texts_are_counted_alike():
    a, b, c = counts(["abcdef", "abcdef", "uvwxyz"])
    assert (
        a @ b == pytest.approx(1.0) and a @ c == pytest.approx(0.0, abs=0.3) and np.linalg.norm(a) == pytest.approx(1.0)
    )


def test_fusion_by_hand():
    """Of `q x` there is a twin among the known ones, worth 4; `zzzz` is like nothing."""
    say = says({("q", "x12345"): 1.0, ("other", "thing"): 9.0, ("zz", "zzzz"): 3.0})
    known = [("q", "x12345"), ("other", "thing")]
    assert fused(say, known)([("zz", "zzzz")]) == [3.0]
    assert fused(say, known)([("q", "x12345")]) == [pytest.approx(1.0)]  # with itself
    worth = {("q", "x12345"): 4.0, ("q", "x1234567890"): 1.0}
    alike = float(counts(["q\nx12345"])[0] @ counts(["q\nx1234567890"])[0])
    merged = fused(says(worth), [("q", "x12345")], least=0.5)([("q", "x1234567890")])
    assert merged == [pytest.approx((1.0 + alike * 4.0) / (1.0 + alike))]
    assert fused(says(worth), [("q", "x12345")], least=0.99)([("q", "x1234567890")]) == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("mend", ["none", "both"])
def test_the_study_runs_to_its_end(mend, tmp_path):
    small_lm(tmp_path / "m")
    tiny = {"problems": 8, "prompts": 4, "steps": 2, "tries": 2, "max_tokens": 8, "mend": mend}
    name = "reward-consistency-contrast-instructions"
    run = gd.train(name, task="chain:1", model=str(tmp_path / "m"), settings=tiny, out=tmp_path / "run")
    assert 0 <= run.result["contrast"] <= 1 and run.result["contrasts"] > 0 and run.spent["steps"] == 2
