"""Problems that are one and the same but for an order, a name or a side are on one side of the split."""

import random
import re

import pytest
from scheduling import little_and_much, mostly_slow

from guerdon.tasks import load
from guerdon.tasks.family import Problem
from guerdon.tasks.task_loading import family_names

# a problem, the same in other words, and another one
ALIKE = {
    "countdown:3": ("countdown 7 6 4 make 17", "countdown 4 7 6 make 17", "countdown 7 6 5 make 18"),
    "addition:1": ("addition 93+35", "addition 35+93", "addition 93-35"),
    "sorting:4": ("sorting 5 2 9 1 9", "sorting 9 9 1 2 5", "sorting down 5 2 9 1 9"),
    "lookup:1": ("lookup a:b b:a c:a d:a ; a 1 hop", "lookup d:a c:a b:a a:b ; a 1 hop", "lookup a:b b:a c:a d:a ; b 1 hop"),
    "units:3": ("units 2h 35min 4s + 4h 1s in s", None, None),
    "modular:1": ("modular 7*4+3 mod 9", "modular 4*7+3 mod 9", "modular 7*3+4 mod 9"),
    "modular:2": ("modular 3^2*4+2 mod 8", None, "modular 4^2*3+2 mod 8"),
    "equation:5": ("equation 3x+4=2x+7", "equation 2x+7=3x+4", "equation 3x+7=2x+4"),
    "grid:1": ("grid 1 2 / 3 4", "grid 1 3 / 2 4", "grid 2 1 / 3 4"),
    "grid:2": ("grid 1 2 3 / 4 5 6", "grid 6 5 4 / 3 2 1", "grid 1 2 4 / 3 5 6"),
    "boolean:1": ("boolean t and f or t", "boolean t or f and t", "boolean t and (f or t)"),
    "chain:3": ("chain 7 +5 *3 *2", "chain 5 +7 *2 *3", "chain 7 *3 +5 *2"),
    "clock:2": ("clock mon: -1d, +5d", "clock mon: +5d, -1d", "clock mon: +1d, -5d"),
    "lists:2": ("lists 3 1 4 8: rev, +2", "lists 3 1 4 8: +2, rev", None),
    "strings:2": ("strings abca: rev, swap a b", "strings abca: swap a b, rev", "strings abca: rot 1, rev"),
    "trace:2": ("trace d=6; c=5; d+=c; print d", "trace a=5; b=6; b+=a; print b", "trace d=5; c=6; d+=c; print d"),
    "bases:8": ("bases 213 from 4 to 5", None, "bases 312 from 4 to 5"),
}  # fmt: skip


def form(source, prompt):
    problem = source.read_problem(prompt)
    return None if problem is None else source.canonical(problem)


def readers(name):
    """Levels of a family, any of which may read a prompt."""
    return [load(f"{name.partition(':')[0]}:{level}") for level in range(1, 9)]


def form_at_any_level(name, prompt):
    return next((f for f in (form(source, prompt) for source in readers(name)) if f is not None), None)


@pytest.mark.parametrize("name", ALIKE)
def test_forms_by_hand(name):
    one, same, other = ALIKE[name]
    base = form_at_any_level(name, one)
    if same is not None:
        assert base is not None and base == form_at_any_level(name, same)
    if other is not None:
        assert base != form_at_any_level(name, other)


def in_any_order(prompt):
    """The words before the question sorted, and the question."""
    shown, *asked = re.split(" (?:make|;) ", prompt)
    return f"{sorted(shown.split())} {asked}"


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(["countdown", "sorting", "lookup"], "countdown"))
@little_and_much("problems", 500, 1500)
def test_no_exam_problem_is_a_training_problem_in_another_order(name, problems):
    """By the words of prompts alone, without the families' own forms."""
    for level in (1, 2, 3, 5):
        source = load(f"{name}:{level}")
        train, test = (
            {in_any_order(source.get(split, i).prompt) for i in range(problems)} for split in ("train", "test")
        )
        assert not train & test


@pytest.mark.sampled(6, "name")
@pytest.mark.parametrize("name", family_names())
@little_and_much("problems", 200, 2000)
def test_problems_of_one_form_have_one_answer_or_the_same_checker(name, problems):
    """A form never joins problems that are answered differently."""
    for level in (1, 3):
        source, answers = load(f"{name}:{level}"), {}
        draw = random.Random(level)
        for _ in range(problems):
            problem = source.make(draw)
            first = answers.setdefault(source.canonical(problem), problem)
            task = source.get("train", 0)
            twin = type(task)(problem.prompt, problem.prompt, problem.answer, name, level, problem.meta)
            assert source.right(twin, first.answer)


def test_a_family_without_a_word_on_it_is_split_by_its_prompts():
    from guerdon.tasks.family import Family

    assert Family.canonical(load("chain:1"), Problem("a prompt", "1", {})) == "a prompt"
