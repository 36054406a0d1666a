"""CodeBLEU's three parts on programs that can be counted by hand."""

from __future__ import annotations

import math

import pytest

from guerdon.rewards.text.overlap import TOKENS, bleu_of, code_bleu, shapes, subtrees_met


def test_words_numbers_and_signs_are_tokens():
    assert TOKENS.findall("x_1 += a**2 // 10 != [b]") == ["x_1", "+=", "a", "**", "2", "//", "10", "!=", "[", "b", "]"]


def test_bleu_by_hand():
    given, wanted = ["return", "x", "+", "y"], ["return", "x", "-", "y"]
    # 3 of 4 words; of pairs only (return, x); no triple and no four, a tenth of one each
    assert bleu_of(given, wanted) == pytest.approx((3 / 4 * 1 / 3 * 0.1 / 2 * 0.1 / 1) ** 0.25)
    # `return` counts five times: 7 of 8
    assert bleu_of(given, wanted, 5.0) == pytest.approx((7 / 8 * 1 / 3 * 0.1 / 2 * 0.1 / 1) ** 0.25)


def test_a_short_program_is_cut_down():
    assert bleu_of(["return", "x"], ["return", "x", "+", "y"]) == pytest.approx(math.exp(1 - 4 / 2))


def test_nothing_in_common_and_nothing_at_all():
    assert bleu_of(["a"], ["b"]) == bleu_of([], ["b"]) == 0.0


def test_subtrees_are_counted_as_often_as_they_are_there():
    # x + 1 - (y + 2): an Expr, a BinOp with a minus, and twice (BinOp (Name) (Add) (Constant))
    assert sum(shapes("x + 1 - (y + 2)").values()) == 4
    assert subtrees_met("x + 1", "x + 1 - (y + 2)") == 1 / 4
    assert subtrees_met("x +", "x + 1") == 0.0, "no program"


def test_names_and_constants_change_words_and_not_shapes():
    one, other = "def f(x):\n return x + 1", "def f(x):\n return x + 2"
    assert subtrees_met(one, other) == 1.0
    assert 0.5 < code_bleu(one, other) < 1.0 == code_bleu(one, one)


def test_it_is_the_mean_of_three():
    given, wanted = "return x", "return y"  # no program at its top, but for ast: `return` outside of a function parses
    parts = [bleu_of(given.split(), wanted.split(), heavy) for heavy in (1.0, 5.0)] + [subtrees_met(given, wanted)]
    assert code_bleu(given, wanted) == pytest.approx(sum(parts) / 3)
