"""Seven generated families: the contract at every level, many seeds, and text of any kind. Cases by hand are next door."""

from __future__ import annotations

import itertools
import json
import random
import re
from string import ascii_lowercase, digits

import pytest
from families import every
from hypothesis import given
from hypothesis import strategies as st
from scheduling import little_and_much

from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks.contract import check_task
from guerdon.tasks.family import read_solution

pytestmark = pytest.mark.sampled(16, "name")
NAMES = ["countdown", "equation", "boolean", "grid", "lookup", "trace", "addition"]
LEVELS = range(1, 9)
JUNK = [
    "",
    " ",
    "?",
    "=",
    "==",
    "= =",
    "x",
    "x=",
    "=x",
    "x=1/0",
    "x=x",
    "0=0",
    "1/0=0",
    "9" * 5000,
    "9" * 5000 + "=" + "9" * 5000,
    "(" * 5000,
    "-" * 5000 + "1",
    "not " * 5000 + "t",
    "(" * 60 + "t" + ")" * 60,
    "(" * 50 + "1" + ")" * 50 + "=1",
    "٣+٤=٧",
    "x=²",
    "１+１=２",
    "a=\x00",
    "🙂=5",
    "row 1:",
    "row 0: 1",
    "5 5",
    "x*x=4",
    "5-=0",
    "1\n2",
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 5, 60)
def test_the_contract_holds(name, level, problems):
    counts = check_task(load(f"{name}:{level}"), problems=problems)
    assert counts["problems"] == 2 * problems
    assert counts["near misses"] >= 4 * problems


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
@little_and_much("seeds", 100, 10_000)
def test_seeds(name, seeds):
    for seed in range(seeds):
        family = load(name, level=seed % 8 + 1)
        problem = family.make(random.Random(seed))
        found = Task(str(seed), problem.prompt, problem.answer, name, family.level, problem.meta)
        gold = family.solution(found)
        assert problem.prompt.startswith(f"{name} ") and len(gold) <= 260, gold
        assert family.check(found, gold) == 1.0
        assert family.first_wrong(found, family.steps(found)) is None
        misses = family.near_misses(found, random.Random(seed))
        assert len({miss.kind for miss in misses}) >= 2
        for miss in misses:
            steps, _ = read_solution(miss.text)
            at = family.first_wrong(found, steps)
            assert (len(steps) if at is None else at) == miss.step, miss


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
@little_and_much("count", 200, 800)
def test_there_are_many_problems_and_meta_is_json(name, count):
    for level in LEVELS:
        family = load(name, level=level)
        made = [family.make(random.Random(seed)) for seed in range(count)]
        assert len({problem.prompt for problem in made}) >= count * (3 / 8 if level == 1 else 3 / 4)
        assert all(json.loads(json.dumps(problem.meta)) == problem.meta for problem in made)


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 50, 200)
def test_solutions_grow_with_the_level(name, problems):
    def size(level):
        family = load(name, level=level)
        return sum(
            len(family.solution(family.get("train", i)) + family.get("train", i).prompt) for i in range(problems)
        )

    sizes = [size(level) for level in LEVELS]
    assert all(later > 0.97 * earlier for earlier, later in itertools.pairwise(sizes)), sizes
    assert sizes[-1] > 2 * sizes[0]


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
def test_junk_is_wrong_and_raises_nothing(name):
    for family, found in every(name, 3):
        gold = family.steps(found)
        for junk in JUNK:
            assert family.first_wrong(found, [junk]) == 0, junk
            assert family.first_wrong(found, [*gold, junk]) == len(gold), junk
            assert family.check(found, junk) == family.check(found, f"= {junk}") == 0.0, junk


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
def test_one_wrong_character_is_found_where_it_is(name):
    signs, pattern = {"boolean": ("tf", r"\b[tf]\b"), "lookup": (digits + ascii_lowercase, "[0-9a-z]")}.get(
        name, (digits, "[0-9]")
    )
    draw = random.Random(name)
    for family, found in every(name, 25):
        steps = family.steps(found)
        at = draw.randrange(len(steps))
        old = draw.choice(list(re.finditer(pattern, steps[at])))
        new = draw.choice([sign for sign in signs if sign != old[0]])
        steps[at] = steps[at][: old.start()] + new + steps[at][old.end() :]
        assert family.first_wrong(found, steps) == at, (found.prompt, steps)


PIECES = st.sampled_from([*"0123456789+-*/()=:;<> x#tfabcd", "and", "or", "not", "left", "row 1: ", "yes", "\n", "= "])
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join), st.text("0123456789+-*/()=x ", max_size=60))


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
@given(
    steps=st.lists(TEXTS, max_size=4), start=st.integers(0, 3), seed=st.integers(0, 400), level=st.sampled_from(LEVELS)
)
def test_no_text_breaks_a_checker(name, steps, start, seed, level):
    family = load(name, level=level)
    found = family.get("train", seed)
    prefix = family.steps(found)[:start]
    tried = [*prefix, *steps]
    at = family.first_wrong(found, tried)
    assert at is None or len(prefix) <= at < len(tried)
    assert family.check(found, "\n".join(steps)) in (0.0, 1.0)
    if at is not None:
        assert family.first_wrong(found, tried[: at + 1]) == at and family.first_wrong(found, tried[:at]) is None
