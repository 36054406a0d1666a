"""Shared words: by hand, and as sacreBLEU and rouge-score count them."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards.text.answers import (
    bleu,
    rouge_l,
    token_f1,
)
from guerdon.rewards.text.overlap import bleu_tokens, longest_common, rouge_tokens

LATEX = st.text(alphabet="0123456789.,-−+/%$eE^{}()[]\\ \n#<>|\"'xab×_:", max_size=40)


@pytest.mark.parametrize(
    ("completion", "answer", "value"),
    [
        ("The cat, sat!", "a cat sat", 1.0),
        ("the cat sat", "A cat sat down.", 0.8),  # 2 of 2 and 2 of 3
        ("cat cat", "cat", 2 / 3),
        ("dog", "cat", 0.0),
        ("", "cat", 0.0),
        ("an", "the", 1.0),  # nothing is left of either
        ("cat", "the", 0.0),
        ("theatre", "the", 0.0),
        ("cat", "", None),
    ],
)
def test_token_f1(completion, answer, value):
    found = token_f1()(completion, answer)
    assert found == value if value is None else found == pytest.approx(value)


def test_bleu_by_hand():
    wanted, said = "the cat sat on the mat", "the cat sat on a mat"
    # 1-grams 5/6, 2-grams 3/5, 3-grams 2/4, 4-grams 1/3; as long as the answer
    assert bleu()(said, wanted) == pytest.approx((5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert bleu(2)(said, wanted) == pytest.approx((5 / 6 * 3 / 5) ** 0.5)
    # "the cat": one 1-gram pair and one 2-gram, each right; brevity exp(1 - 6/2)
    assert bleu()("the cat", wanted) == pytest.approx(math.exp(-2))
    # "cat the mat": 3/3, 1/2, then 3-grams 0 of 1, taken as half a match
    assert bleu()("cat the mat", wanted) == pytest.approx(math.exp(-1) * (1 * 1 / 2 * 0.5 / 1) ** (1 / 3))
    assert bleu(smooth="none")("cat the mat", wanted) == 0.0
    assert bleu()("dog", wanted) == 0.0 and bleu()("", wanted) == 0.0 and bleu()("x", "") is None
    assert bleu()(wanted, wanted) == 1.0 and bleu()(wanted.upper(), wanted) == 0.0
    assert bleu(casefold=True)(wanted.upper(), wanted) == 1.0


def test_bleu_against_several_references_by_hand():
    """Papineni's example: seven times `the`, which one reference has twice and the other once."""
    first, second = "the cat is on the mat", "there is a cat on the mat"
    assert bleu(1)(" ".join(["the"] * 7), answers=[first, second]) == pytest.approx(2 / 7)
    assert bleu(1)(" ".join(["the"] * 7), answers=[second]) == pytest.approx(1 / 7)
    assert bleu()(second, answers=[first, second]) == 1.0 and bleu()(first, second, [first]) == 1.0
    closest = bleu(1)("the cat", answers=["the", "the cat sat", "a dog ran far away"])  # of 1 and 3 words the shorter
    assert closest == 1.0 and bleu(1)("the cat", answers=["the cat sat on it", "a dog"]) == 1.0
    assert bleu(1)("the cat", answers=["the cat sat on"]) == pytest.approx(math.exp(-1))
    assert bleu()("x", answers=["", " "]) is None and bleu(1)("x", "x", ["", "x y"]) == pytest.approx(math.exp(-1))


def test_rouge_l_by_hand():
    assert rouge_l()("police killed the gunman", "police kill the gunman") == pytest.approx(0.75)
    assert rouge_l()("the gunman police killed", "police kill the gunman") == pytest.approx(0.5)
    assert rouge_l()("", "a") == 0.0 and rouge_l()("a", "") is None and rouge_l()("猫", "猫") == 0.0


def sentences(seed, count=150):
    """Pairs of sentences that share words, with punctuation and numbers in them."""
    rng = random.Random(seed)
    words = [
        "the",
        "cat",
        "sat",
        "on",
        "a",
        "mat,",
        "3.5",
        "1,000",
        "well-known",
        "(so)",
        "it's",
        "&amp;",
        "end.",
        "É",
        "x-\ny",
        "2-3",
    ]
    return [
        (" ".join(rng.choices(words, k=rng.randint(1, 12))), " ".join(rng.choices(words, k=rng.randint(1, 12))))
        for _ in range(count)
    ]


@pytest.mark.sampled(2, "smooth")
@pytest.mark.parametrize("smooth", ["exp", "floor", "add-k", "none"])
def test_bleu_agrees_with_sacrebleu(smooth):
    sacre = pytest.importorskip("sacrebleu.metrics").BLEU(smooth_method=smooth, effective_order=True)
    for said, wanted in sentences(1):
        if smooth == "add-k" and len(bleu_tokens(said)) < 4:
            continue  # it takes orders above the length for fully right, which would pay for being short
        assert bleu(smooth=smooth)(said, wanted) == pytest.approx(sacre.sentence_score(said, [wanted]).score / 100)
        both = [wanted, f"{said} {wanted}"]
        assert bleu(smooth=smooth)(said, answers=both) == pytest.approx(sacre.sentence_score(said, both).score / 100)


@given(st.one_of(st.text(max_size=60), LATEX))
def test_tokens_agree_with_sacrebleu(text):
    tokenizer = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a()
    assert bleu_tokens(text) == tokenizer(text.rstrip()).split()


def test_rouge_l_agrees_with_rouge_score():
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], use_stemmer=False)
    for said, wanted in sentences(2):
        assert rouge_l()(said, wanted) == pytest.approx(scorer.score(wanted, said)["rougeL"].fmeasure)


@given(st.text(max_size=60))
def test_tokens_agree_with_rouge_score(text):
    tokenize = pytest.importorskip("rouge_score.tokenize").tokenize
    assert rouge_tokens(text) == tokenize(text, None)


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_longest_common_subsequence_is_that_of_the_table(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    assert longest_common(a, b) == table[-1][-1]
