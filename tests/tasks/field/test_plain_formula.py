"""The checker of formulas without a package: it says what Math-Verify says, on a table and on GSM8K."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.tasks.answer_checks import find_check
from guerdon.tasks.field.plain_formula import plainly_equal
from guerdon.tasks.slow_comparisons import same_formula

GSM8K = Path(__file__).parents[4] / "shared" / "data" / "gsm8k_train.jsonl"
TABLE = (
    (r"1/2", r"\frac{1}{2}"),
    (r"0.5", r"\frac{1}{2}"),
    (r"\frac12", r"0.5"),
    (r"\dfrac{3}{4}", r"\frac{6}{8}"),
    (r"\frac{-1}{3}", r"-\frac{1}{3}"),
    (r"1,080", r"1080"),
    (r"1080", r"1081"),
    (r"3.0", r"3"),
    (r"3", r"-3"),
    (r"2^{10}", r"1024"),
    (r"2^10", r"1024"),
    (r"\sqrt{8}", r"2\sqrt{2}"),
    (r"\sqrt{2}", r"1.41421356"),
    (r"\sqrt{2}", r"1.41"),
    (r"\sqrt[3]{27}", r"3"),
    (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}"),
    (r"\pi", r"3.14159265"),
    (r"2\pi", r"\pi+\pi"),
    (r"\frac{\pi}{2}", r"\pi/2"),
    (r"x^2+2x+1", r"(x+1)^2"),
    (r"x^2-1", r"(x-1)(x+1)"),
    (r"x+1", r"x-1"),
    (r"2x", r"x+x"),
    (r"x", r"y"),
    (r"xy", r"yx"),
    (r"\frac{x}{2}", r"0.5x"),
    (r"x=5", r"5"),
    (r"x = 5", r"x=5"),
    (r"(1,2)", r"(1,2)"),
    (r"(1,2)", r"(2,1)"),
    (r"(1,2)", r"(1,3)"),
    (r"\{1,2,3\}", r"\{3,2,1\}"),
    (r"\{1,2\}", r"\{1,2,3\}"),
    (r"\{1,2\}", r"\{1,3\}"),
    (r"[0,1]", r"[0,1]"),
    (r"[0,1)", r"[0,1]"),
    (r"(0,1)", r"[0,1]"),
    (r"[0,\infty)", r"[0,\infty)"),
    (r"(-\infty,2)\cup(3,\infty)", r"(-\infty, 2) \cup (3, \infty)"),
    (r"(-\infty,2)\cup(3,\infty)", r"(3,\infty)\cup(-\infty,2)"),
    (r"(-\infty,2)\cup(3,\infty)", r"(-\infty,2)\cup(4,\infty)"),
    (r"(-\infty,2]", r"(-\infty,2)"),
    (r"\frac{1}{x+1}", r"(x+1)^{-1}"),
    (r"e^{2}", r"e*e"),
    (r"e^{x}", r"e^x"),
    (r"\sin(x)", r"\sin x"),
    (r"\sin^2", r"3"),
    (r"\cos(0)", r"1"),
    (r"\ln(e)", r"1"),
    (r"\frac{2}{3}", r"0.666667"),
    (r"\frac{2}{3}", r"0.6667"),
    (r"\frac{2}{3}", r"0.67"),
    (r"1.5", r"\frac{3}{2}"),
    (r"-2.5", r"-\frac{5}{2}"),
    (r"10\%", r"10"),
    (r"50\%", r"0.5"),
    (r"5\text{ cm}", r"5"),
    (r"90^\circ", r"90"),
    (r"3!", r"6"),
    (r"5!", r"120"),
    (r"|{-3}|", r"3"),
    (r"2+3i", r"3i+2"),
    (r"2+3i", r"2-3i"),
    (r"\frac{1+\sqrt{5}}{2}", r"1.6180339887"),
    (r"\frac{1+\sqrt{5}}{2}", r"\frac{1-\sqrt{5}}{2}"),
    (r"x^3", r"x^2"),
    (r"a+b", r"b+a"),
    (r"a-b", r"b-a"),
    (r"3x+2y", r"2y+3x"),
    (r"\frac{a}{b}", r"\frac{b}{a}"),
    (r"2(x+3)", r"2x+6"),
    (r"x(x+1)", r"x^2+x"),
    (r"12", r"12.0000001"),
    (r"12", r"12.1"),
    (r"100", r"10^2"),
    (r"1000000", r"10^6"),
    (r"0.1", r"1/10"),
    (r"\frac{22}{7}", r"\pi"),
    (r"7", r"07"),
    (r"-0", r"0"),
    (r"\frac{0}{5}", r"0"),
    (r"(3,4,5)", r"(3,4,5)"),
    (r"(3,4,5)", r"(3,4,6)"),
    (r"\left(\frac{1}{2},3\right)", r"(0.5,3)"),
    (r"\left[1,2\right]", r"[1,2]"),
    (r"2\cdot3", r"6"),
    (r"2\times 3", r"6"),
    (r"6\div 2", r"3"),
    (r"n(n+1)/2", r"\frac{n^2+n}{2}"),
    (r"\frac{n(n+1)}{2}", r"\frac{n^2-n}{2}"),
    (r"x^{1/2}", r"\sqrt{x}"),
    (r"\sqrt{x^2+1}", r"x+1"),
    (r"4x^2-9", r"(2x-3)(2x+3)"),
    (r"\log(100)", r"2"),
    (r"\ln 2", r"0.693147"),
    (r"3\sqrt{2}", r"\sqrt{18}"),
    (r"5\sqrt{3}", r"3\sqrt{5}"),
    (r"\frac{5\pi}{6}", r"150"),
    (r"\frac{17}{3}", r"5\frac{2}{3}"),
)


def boxed(text: str) -> str:
    return f"$\\boxed{{{text}}}$"


def final(row) -> str:
    return row["answer"].rpartition("####")[2].strip()


@pytest.mark.parametrize("every", [25, pytest.param(1, marks=pytest.mark.slow)])
def test_it_says_what_math_verify_says_on_a_table(every):
    pytest.importorskip("math_verify")
    for left, right in TABLE[5::every]:
        for given, answer in ((left, right), (right, left)):
            assert plainly_equal(boxed(given), answer) == same_formula(boxed(given), answer), (given, answer)


@pytest.mark.skipif(not GSM8K.exists(), reason="GSM8K is not here")
def test_it_finds_the_answers_of_gsm8k():
    rows = [json.loads(line) for line in GSM8K.read_text().splitlines()[::5]]
    wrong = [row for row in rows if plainly_equal(row["answer"], final(row)) != 1.0]
    assert not wrong
    assert not any(plainly_equal(row["answer"], f"{final(row)}1") for row in rows)


@pytest.mark.slow
@pytest.mark.skipif(not GSM8K.exists(), reason="GSM8K is not here")
def test_it_says_what_math_verify_says_on_gsm8k():
    pytest.importorskip("math_verify")
    rows = [json.loads(line) for line in GSM8K.read_text().splitlines()]
    for number in range(0, len(rows), 20):
        answer, other = final(rows[number]), final(rows[number - 1])
        texts = (
            rows[number]["answer"],
            f"The answer is {answer}.",
            boxed(answer),
            f"No: {boxed(other)}",
            f"It is {other}",
        )
        for text in texts:
            plain, real = plainly_equal(text, answer), same_formula(text, answer)
            # Math-Verify does not know the mark ####, and takes a number with a percent sign above it instead
            assert plain == real or (plain == 1.0 and "####" in text and "%" in text), (text, answer)


HOSTILE = [
    "10^{10^{10^{10}}}",
    "(" * 3000,
    "\\frac" * 800,
    "9" * 5000,
    "x^" * 900 + "2",
    "\\{" * 900,
    "170!!!",
    "|" * 99,
]


@pytest.mark.parametrize("text", [*HOSTILE, "1/0", "0^{-1}", "\\sqrt[0]{2}", "(-1)!", "\\infty-\\infty"], ids=range(13))
def test_nothing_that_a_model_writes_raises(text):
    assert plainly_equal(boxed(text), "5") == 0.0 and plainly_equal(text, "5") == 0.0


def test_it_is_a_check_and_a_reward():
    source = gd.tasks.rows([{"question": "?", "answer": "$\\frac{1}{2}$"}] * 2, check_by="plain_maths")
    assert source.check(source.get("train", 0), boxed("0.5")) == gd.plain_maths()(boxed("0.5"), "1/2") == 1.0
    assert gd.plain_maths()("5", "") is None


def test_without_math_verify_the_plain_one_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(gd.UserError, match="--check plain_maths"):
        find_check("math")
