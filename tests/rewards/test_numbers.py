"""Numbers in text: read as models write them, compared as fractions, every gold answer of GSM8K right."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from guerdon.rewards.text.answers import (
    numeric,
)
from guerdon.text.answers import number

PROBLEMS = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k_train.jsonl"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("72", "72"),
        ("It is 72.", "72"),
        ("$1,080.50", "2161/2"),
        ("109,200,000", "109200000"),
        (r"1,\!080", "1080"),
        ("1{,}080", "1080"),
        ("1\u202f080", "1080"),
        ("1'000'000", "1000000"),
        ("-5", "-5"),
        ("−5", "-5"),
        ("–$5", "-5"),
        (r"-\$5", "-5"),
        ("+5", "5"),
        (".5", "1/2"),
        ("3/4", "3/4"),
        ("-3 / 4", "-3/4"),
        ("1 1/2", "3/2"),
        (r"\frac{3}{4}", "3/4"),
        (r"-\dfrac{ 3 }{4}", "-3/4"),
        (r"\frac{-3}{4}", "-3/4"),
        (r"2\tfrac{1}{2}", "5/2"),
        (r"\frac12", "1/2"),
        ("1e3", "1000"),
        ("2.5E-1", "1/4"),
        ("6.02 × 10^23", "602000000000000000000000"),
        (r"3 \times 10^{-4}", "3/10000"),
        ("3*10^2", "300"),
        ("2^{10}", "1024"),
        ("-2^2", "-4"),
        ("10^6", "1000000"),
        ("**42**", "42"),
        ("答案是42。", "42"),
        ("Rs.50", "50"),
        ("25%", "25"),
        (r"25\%", "25"),
    ],
)
def test_a_number_is_read(text, value):
    found = number(text, last=True)
    assert found is not None and str(found.value) == value


@pytest.mark.parametrize(
    "text", ["", "no", "CO2", "x_1", "cm^2", "x^{-2}", "1/0", "0^{-1}", "1e99999", "9" * 401, "½", r"\frac{1}{0}"]
)
def test_what_is_no_number(text):
    assert number(text) is None and number(text, last=True) is None


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("48/2 = 24 in May, 48+24 = 72.\n#### 72", "72"),
        ("#### 72 clips, 24 of them in May", "72"),
        ("The total is $1,080", "1080"),
        ("so 5 - 3 = 2", "2"),
        ("10-7=3", "3"),
        ("The area is 50 cm^2", "50"),
        ("It emits 50 g of CO2", "50"),
        (r"first \boxed{3}, then \boxed{4} since 3 < 4 < 5", "4"),
        ("Answer: 7 (I checked it 2 times)", "7"),
        ("**Answer:** 7", "7"),
        (r"\boxed{12}" + "\nAnswer: see above", "12"),
        ("x = -5", "-5"),
        ("0.50", "1/2"),
        ("75%", "75"),
        ("7", "The answer is 7"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_right_numbers(completion, answer):
    assert numeric()(completion, answer) == 1.0


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("#### 73", "72"),
        ("72\n#### 73", "72"),
        ("72\n#### none", "72"),
        ("-5", "5"),
        ("5", "-5"),
        ("1.080", "1080"),
        ("1,08", "108"),
        ("0.333", "1/3"),
        ("12345678901234567891", "12345678901234567890"),
        ("10000000001", "10000000000"),
        ("75%", "0.75"),
        ("seven", "7"),
        ("", "0"),
        ("1/0", "1"),
        ("4/3", "3/4"),
        ("1e3", "1e4"),
    ],
)
def test_wrong_numbers(completion, answer):
    assert numeric()(completion, answer) == 0.0


def test_numbers_by_knob():
    assert numeric(absolute=0.3)("1.3", "1") == 1.0  # 0.3 is 3/10 here, and 1.3 - 1 is that exactly
    assert numeric(absolute=0.3)("1.31", "1") == 0.0
    assert numeric(relative=0.01)("101", "100") == 1.0 and numeric(relative=0.01)("99", "100") == 1.0
    assert numeric(relative=0.01)("101.01", "100") == 0.0 and numeric(relative=0.01)("-100", "100") == 0.0
    by_hundred = numeric(percent="hundredth")
    assert by_hundred("75%", "0.75") == 1.0 and by_hundred("75%", "75%") == 1.0 and by_hundred("75%", "75") == 0.0
    assert numeric(fallback=False)("it is 7", "7") == 0.0 and numeric(fallback=False)("#### 7", "7") == 1.0
    assert numeric(marks="=>")("7 => 8, 9", "8") == 1.0  # one mark need not be a tuple
    assert numeric(marks=())("#### 7, 8", "8") == 1.0
    assert numeric()("7", "") is None and numeric()("7", "unknown") is None


@pytest.mark.skipif(not PROBLEMS.exists(), reason="GSM8K is not here")
@pytest.mark.slow
def test_every_gold_answer_of_gsm8k_is_right():
    part = numeric()
    for line in PROBLEMS.read_text().splitlines():
        solution = json.loads(line)["answer"]
        work, _, answer = solution.rpartition("####")
        assert part(solution, answer) == 1.0, solution
        assert part(solution, solution) == 1.0, solution
        off = str(int(answer.replace(",", "")) + 1)
        assert part(solution, off) == 0.0 and part(f"{work}#### {off}", answer) == 0.0, solution


@pytest.mark.parametrize(
    "piece", ["1", "1,", "1,000", "-", "1/", "1 ", "1e1", "^{1", r"\frac{", "1.1.", r"\boxed{", "10^1"]
)
def test_reading_a_number_takes_linear_time(piece):
    began = time.process_time()
    numeric()(piece * 20_000, "5")
    assert time.process_time() - began < 2.0  # a few hundredths; a quadratic reader takes minutes
