"""Verdicts in prose: what replies of models that follow instructions say, each read by hand first."""

from __future__ import annotations

import random

import pytest

from guerdon.text.verdicts import read_after, read_line, read_number, read_side, read_verdict

VERDICTS = [
    ("Verdict: yes", "yes"),
    ("Verdict: no", "no"),
    ("**Verdict:** Yes.", "yes"),
    ("**Verdict: No**", "no"),
    ("verdict: NO!", "no"),
    ("Final verdict: yes", "yes"),
    ("## Verdict\nYes", "yes"),
    ("The sum is 4.\nVerdict: yes\nI hope this helps!", "yes"),
    ("Verdict: yes\nWait, 2+2 is 5?\nVerdict: no", "no"),
    ("Yes", "yes"),
    ("No.", "no"),
    ("Yes, the answer is right.", "yes"),
    ("The answer is correct.", "yes"),
    ("The answer is not correct.", "no"),
    ("The answer isn't right.", "no"),
    ("The solution is incorrect because 3*4 is 12.", "no"),
    ("The first step is correct. The final answer is wrong.", "no"),
    ("Verdict: Correct", "yes"),
    ("Verdict: not correct", "no"),
    ("Verdict: \\boxed{no}", "no"),
    ("My verdict is yes.", "yes"),
    ("- Verdict: **yes**", "yes"),
    ('"Verdict: yes"', "yes"),
    ('So my verdict is "Verdict: no".', "no"),
    ("Verdict: the answer is wrong", "no"),
    ("Verdict: No, it is wrong.", "no"),
    ("Therefore, no.", "no"),
    ("= no", "no"),
    # the candidate's own words, which are quoted, are not the verdict
    ('It says "Verdict: yes". I find that it is wrong.', "no"),
    ('The answer ends on "Verdict: yes".', None),
    # an echo of the form is followed by a statement
    ("The answer is correct\n\nVerdict: yes or no\n", "yes"),
    # neither, both, something else, cut short
    ("", None),
    ("Hm.", None),
    ("Verdict: yes or no", None),
    ("Verdict: yes/no", None),
    ("Verdict: maybe", None),
    ("Verdict:", None),
    ("Verdict: yes in part, but wrong at the end", None),
    ("The answer is 5.", None),
    ("The first step is correct.", None),
    ("Is the answer right?", None),
    ("I would say the answer could be right", None),
    ("It is wrong to divide here", None),
    ("No problem! Let me check the sum.", None),
]
SIDES = [
    ("Better: A", "a"),
    ("**Better:** B", "b"),
    ("better: b.", "b"),
    ("Better: answer B", "b"),
    ("Better: A, since B is wrong", "a"),
    ("Better: A is better than B", "a"),
    ("I prefer answer A.", "a"),
    ("Answer B is better than answer A.", "b"),
    ("The second answer is better.", "b"),
    ("The better answer is B", "b"),
    ("A", "a"),
    ("A is not better.", None),
    ("Better: A or B", None),
    ("Better: A/B", None),
    ("Better: neither", None),
    ("Both are good.", None),
    ("A good question.", None),
]
SCORES = [
    ("Score: 7", 7),
    ("Score: 7/10", 7),
    ("**Score:** 7 of 10", 7),
    ("score: 7 out of 10.", 7),
    ("I'd give it 8/10", 8),
    ("Score: 10/10!", 10),
    ("7", 7),
    ("Score: 3\nOn second thought: Score: 4 of 10", 4),
    ("Score: 7.5", None),
    ("Score: 11", None),
    ("Score: 0", None),
    ("Score: -3", None),
    ("Score: N of 10", None),
    ("Score: 7-8", None),
    ("6 or 7/10", None),
    ("70/100", None),
    ("7.5/10", None),
    ("Score: seven", None),
    ("It was made on 7/10/2020", None),
    ("1. It is right\n2", None),
]
LINES = [
    ("First wrong line: 3", 3),
    ("**First wrong line:** line 2", 2),
    ("First wrong line is 4.", 4),
    ("First wrong line: none", "none"),
    ("first wrong line: No wrong line.", "none"),
    ('The first wrong line is "First wrong line: none"', "none"),
    ("First wrong line: 2 or 3", None),
    ("First wrong line: 0", None),
    ("Line 3 is odd", None),
]


@pytest.mark.parametrize(("reply", "said"), VERDICTS)
def test_yes_or_no(reply, said):
    assert read_verdict(reply) == said


@pytest.mark.parametrize(("reply", "said"), SIDES)
def test_one_of_two(reply, said):
    assert read_side(reply) == said


@pytest.mark.parametrize(("reply", "said"), SCORES)
def test_a_number_on_a_scale(reply, said):
    assert read_number(reply, 1, 10) == said


@pytest.mark.parametrize(("reply", "said"), LINES)
def test_a_line(reply, said):
    assert read_line(reply) == said


def test_what_follows_a_label():
    assert read_after("It goes so.\n**Problem:** chain 4 *5.", "problem") == "chain 4 *5"
    assert read_after("No problem here.", "problem") is None


def test_thinking_before_a_labelled_verdict_does_not_change_it():
    thoughts = [reply for reply, said in VERDICTS if "erdict" not in reply and "=" not in reply]
    for reply, said in (("Verdict: yes", "yes"), ("**Verdict:** No.", "no")):
        assert {read_verdict(f"{thought}\n{reply}") for thought in thoughts} == {said}


def test_no_text_is_an_error():
    dice = random.Random(0)
    pieces = [
        "Verdict:",
        "yes",
        "no",
        "**",
        "\n",
        " ",
        "7/10",
        "A",
        "=",
        '"',
        "better",
        "\\boxed{",
        "}",
        "first wrong line:",
    ]
    for _ in range(300):
        text = "".join(dice.choice(pieces) for _ in range(dice.randrange(12)))
        assert read_verdict(text) in ("yes", "no", None) and read_side(text) in ("a", "b", None)
        assert read_number(text, 1, 10) in (None, *range(1, 11)) and not isinstance(read_line(text), float)
