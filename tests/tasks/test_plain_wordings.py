"""Other wordings of one problem: in the family's notation, and in plain words that are worked out again here."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest
from scheduling import little_and_much

import guerdon as gd
from guerdon.tasks.families.arithmetic import linear
from guerdon.tasks.family import Problem

FAMILIES = ("chain", "equation", "lookup", "trace")


def worked_out(text: str) -> str:
    """The answer of a problem in plain words, from the words alone."""
    if text.startswith("Start with "):
        value, *steps = text.removeprefix("Start with ").partition(". What")[0].split(", ")
        total = int(value)
        for step in steps:
            verb, number = step.rsplit(" ", 1)
            total = {"add": total + int(number), "subtract": total - int(number), "multiply by": total * int(number)}[
                verb
            ]
        return str(total)
    if text.startswith("For which x"):
        left, right = re.fullmatch(r"For which x is (.+) equal to (.+)\?", text).groups()
        (a, b), (c, d) = linear(left, "x"), linear(right, "x")
        return str(Fraction(d - b, a - c))
    if text.startswith("The arrows"):
        pairs, start, count = re.fullmatch(
            r"The arrows go from (.+)\. Start at (\w+) and follow the arrows for (one|\d+) steps?\. Where are you\?",
            text,
        ).groups()
        table = dict(pair.split(" to ") for pair in pairs.split(", "))
        for _ in range(1 if count == "one" else int(count)):
            start = table[start]
        return start
    _, *lines, last = text.split("\n")
    values: dict[str, int] = {}
    for line in lines:
        run(line, values)
    return str(values[re.fullmatch(r"What is (\w) at the end\?", last)[1]])


def run(line: str, values: dict[str, int]) -> None:
    if loop := re.fullmatch(r"repeat (\d) times: (.+)", line):
        for _ in range(int(loop[1])):
            for action in loop[2].split(" then "):
                run(action, values)
    elif branch := re.fullmatch(r"if (.+?): (\S+)(?: else (\S+))?", line):
        action = branch[2] if eval(branch[1], {}, values) else branch[3]
        if action:
            run(action, values)
    else:
        exec(line, {}, values)


@pytest.mark.parametrize("name", FAMILIES)
@little_and_much("count", 5, 100)
def test_plain_words_have_the_same_answer(name, count):
    for level in range(1, 9):
        family = gd.tasks.load(f"{name}:{level}")
        for index in range(count):
            task = family.get("train", index)
            other = gd.tasks.paraphrase(family, task, random.Random(0), gd.tasks.in_plain_words).task
            assert other is not None and other.prompt != task.prompt and name not in other.prompt
            assert worked_out(other.prompt) == task.answer == other.answer
            assert family.check(other, family.solution(task)) == 1.0 == family.check(task, family.solution(other))
            assert family.same_problem(task, family.get("train", index + 500).prompt) is None
            stranger = gd.tasks.in_plain_words(family.get("train", index + 500).prompt)
            assert stranger == other.prompt or family.same_problem(task, stranger) is None


@pytest.mark.parametrize("name", ["equation", "lookup", "trace"])
@little_and_much("count", 5, 100)
def test_their_own_notation_always_has_another_wording(name, count):
    for level in range(1, 9):
        family = gd.tasks.load(f"{name}:{level}")
        for index in range(count):
            task = family.get("train", index)
            other = gd.tasks.paraphrase(family, task, random.Random(index)).task
            assert other is not None and other.prompt != task.prompt and other.answer == task.answer
            assert worked_out(gd.tasks.in_plain_words(other.prompt)) == task.answer
            problem, same = (Problem(each.prompt, each.answer, each.meta) for each in (task, other))
            assert family.holds_out(problem) == family.holds_out(same)


def test_a_chain_without_another_order_is_refused_with_a_way_out():
    family = gd.tasks.load("chain:1")
    task = gd.Task("x", "chain 9 -3 *2", "12", "chain", 1, {"start": 9, "ops": ["-3", "*2"]})
    assert "give reword=" in gd.tasks.paraphrase(family, task, random.Random(0)).reason
    assert gd.tasks.paraphrase(family, task, random.Random(0), gd.tasks.in_plain_words).task is not None


def test_a_wording_that_changes_the_answer_is_refused():
    family = gd.tasks.load("chain:2")
    task = family.get("train", 0)

    def careless(prompt: str) -> str:
        return str(gd.tasks.in_plain_words(prompt)).replace("multiply by 2", "multiply by 3")

    assert "is not the same problem" in gd.tasks.paraphrase(family, task, random.Random(0), careless).reason


@pytest.mark.parametrize(
    "text", ["", "chain", "chain x", "chain 3", "lookup a:b", "trace a=1", "equation x", "sorting 3 1"]
)
def test_other_texts_have_no_plain_words(text):
    assert gd.tasks.in_plain_words(text) is None
