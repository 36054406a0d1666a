"""The exact process reward of a family, and families in a mixture."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.tasks.stepwise import by_steps

FAMILY = gd.tasks.load("equation:2")
PROBLEM = FAMILY.get("train", 0)  # 9x+12=48


@pytest.mark.parametrize(
    ("text", "by_hand"),
    [
        ("9x=36\nx=4\n= 4", [1, 1, 1]),
        ("9x=36\nx=4\n= 5", [1, 1, 0]),
        ("9x=37\nx=4\n= 4", [0, 0, 0]),  # a right answer does not mend a wrong line
        ("9x=36\n\nx=5\n= 5\n", [1, 0, 0]),  # blank lines are none
        ("9x=36\nx=4", [1, 0]),  # no answer: the last line is where it should have been
    ],
)
def test_lines_by_hand(text, by_hand):
    assert gd.true_lines(FAMILY)(PROBLEM, text) == by_hand
    assert gd.true_lines(FAMILY, wrong=-1.0)(PROBLEM, text) == [x or -1.0 for x in by_hand]


def test_of_what_was_cut_short_the_lines_are_judged():
    nothing = np.zeros(0)
    path = [gd.Segment("policy", "", nothing, nothing, nothing, "9x=36\nx=4", end=End.CUT)]
    assert gd.true_lines(FAMILY)(PROBLEM, path[0].text, path=path) == [1.0, 1.0]
    assert gd.true_lines(FAMILY)(PROBLEM, " \n") is None
    assert gd.true_lines(FAMILY)(PROBLEM, "= 5", turns=["9x=36", "= 5"]) == [1.0, 0.0]


def test_a_sample_is_paid_the_sum_of_its_lines():
    said = [{"task": PROBLEM, "completion": text} for text in ("9x=36\nx=4\n= 4", "9x=36\nx=3\n= 3")]
    assert gd.score_samples(gd.true_lines(FAMILY), said).whole == [3.0, 1.0]


def test_a_mixture_of_families_asks_the_one_a_problem_came_from():
    mixture = gd.tasks.load("equation:1-2")
    both = by_steps(mixture)
    assert by_steps(FAMILY) is FAMILY and by_steps(both) is both and repr(both) == repr(mixture)
    for index in range(4):
        task = both.get("train", index)
        family = gd.tasks.load(task.kind)
        assert task == mixture.get("train", index) == family.get("train", index // 2)
        assert both.solution(task) == family.solution(task) and both.steps(task) == family.steps(task)
        assert gd.true_lines(mixture)(task, family.solution(task)) == [1.0] * (len(family.steps(task)) + 1)
        assert both.read_problem(task.prompt).answer == task.answer
    assert list(both.kinds()) == ["equation:1", "equation:2"]


def test_what_has_no_step_checker_is_refused_in_a_line():
    rows = gd.tasks.rows([{"prompt": "2+2?", "answer": "4"}] * 12)
    for made in (by_steps, gd.true_lines):
        with refusal(UserError):
            made(rows)
