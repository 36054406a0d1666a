"""Solutions of several lengths: by hand, and right on every family and level."""

from __future__ import annotations

import random

import pytest
from scheduling import little_and_much

from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks.family import read_solution
from guerdon.tasks.roles import marks
from guerdon.tasks.solution_lengths import lengths, solution_forms
from guerdon.tasks.task_loading import family_names

pytestmark = pytest.mark.sampled(8, "name")


def test_forms_by_hand():
    family = load("equation:4")
    problem = family.read_problem("equation 5x+4=2x+10")
    task = Task("", problem.prompt, problem.answer, "equation", 4, problem.meta)
    drawn = [solution_forms(family, task, random.Random(seed)) for seed in range(30)]
    assert {forms["at once"] for forms in drawn} == {"= 2"}
    assert {forms["full"] for forms in drawn} == {"3x+4=10\n3x=6\nx=2\n= 2"}
    assert {forms["brief"] for forms in drawn if "brief" in forms} == {
        "x=2\n= 2",
        "3x+4=10\nx=2\n= 2",
        "3x=6\nx=2\n= 2",
    }
    assert not any("searched" in forms for forms in drawn)


def test_chains_pass_nothing_over():
    family = load("chain:4")
    for index in range(20):
        assert set(solution_forms(family, family.get("train", index), random.Random(index))) == {"at once", "full"}


@pytest.mark.parametrize("name", family_names())
@little_and_much("problems", 10, 50)
def test_every_form_is_right(name, problems):
    seen = set()
    for level in range(1, 9):
        family = load(name, level=level)
        for index in range(problems):
            task = family.get("train", index)
            forms = solution_forms(family, task, random.Random(index))
            assert lengths(family, task, random.Random(index)) in forms.values()
            for form, text in forms.items():
                assert family.check(task, text) == 1.0 and set(marks(family, task, text)) == {"+"}, (form, text)
                seen.add((form, len(read_solution(text)[0])))
    assert len({steps for _, steps in seen}) > 2
    assert ("searched" in dict(seen)) == (name == "countdown")
