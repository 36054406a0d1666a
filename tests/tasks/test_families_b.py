"""Sorting, list and string operations, units, bases, modular arithmetic, clock: the contract, many seeds, fuzz, detours."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduling import examples, little_and_much

from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks.contract import check_task
from guerdon.tasks.families.clock_times import clock
from guerdon.tasks.families.list_operations import lists
from guerdon.tasks.families.modular_arithmetic import modular
from guerdon.tasks.families.number_bases import bases
from guerdon.tasks.families.number_sorting import sorting
from guerdon.tasks.families.pipeline import DIGITS
from guerdon.tasks.families.string_operations import strings
from guerdon.tasks.families.unit_conversion import FACTORS, below, units
from guerdon.tasks.family import read_solution, write_solution

pytestmark = pytest.mark.sampled(16, "family")
FAMILIES = (sorting, lists, strings, units, bases, modular, clock)
LEVELS = range(1, 9)


# --- every family -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("family", FAMILIES)
@little_and_much("problems", 5, 60)
def test_contract(family, level, problems):
    counts = check_task(family(level=level), problems=problems)
    assert counts["problems"] == 2 * problems and counts["near misses"] >= 4 * problems


@pytest.mark.sampled(3, "family")
@little_and_much("seeds", 160, 10_000)
@pytest.mark.parametrize("family", FAMILIES)
def test_many_seeds_raise_nothing_and_stay_short(family, seeds):
    for seed in range(seeds):
        level = 1 + seed % 8
        source, draw = family(level=level), random.Random(seed)
        made = source.make(draw)
        task = Task(str(seed), made.prompt, made.answer, source.name, level, made.meta)
        steps, answer = read_solution(source.solution(task))
        assert answer == made.answer and source.read_problem(made.prompt) == made
        assert source.first_wrong(task, steps) is None
        assert source.first_wrong(task, [*steps, "?"]) == len(steps)
        assert len(source.solution(task)) <= 260 and made.prompt.startswith(source.name + " ")
        assert len({miss.kind for miss in source.blunders(task, draw)}) >= 3
        misses = source.near_misses(task, draw)
        assert len({miss.kind for miss in misses}) >= 2
        for miss in misses:
            wrong, _ = read_solution(miss.text)
            found = source.first_wrong(task, wrong)
            assert miss.step == (len(wrong) if found is None else found), (task.prompt, miss)


@pytest.mark.sampled(3, "family")
@pytest.mark.parametrize("family", FAMILIES)
@little_and_much("count", 150, 1500)
def test_there_are_many_problems_and_levels_get_longer(family, count):
    lengths = []
    for level in LEVELS:
        source, draw = family(level=level), random.Random(level)
        made = [source.make(draw) for _ in range(count)]
        assert len({p.prompt for p in made}) > (count / 5 if level == 1 else count * 2 / 3)
        assert all(re.fullmatch(r"[a-z0-9 :,+*^/-]+", p.prompt) for p in made)
        lengths.append(sum(len(source.solution(Task("", p.prompt, p.answer, "", level, p.meta))) for p in made))
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_load_by_name(family):
    assert isinstance(load(f"{family.__name__}:3"), family)


# --- text that models write ---------------------------------------------------------------------------------------------

GARBAGE = st.one_of(
    st.text(max_size=40),
    st.text("0123456789+-*/=^: rhmindwskcabelvot,", max_size=40),
    st.sampled_from(
        ("", "=", ":", "+", "1" * 5000, "9" * 5000 + "=1", "1/0=0 r 0", "٣: ٢", "²*2=4", "=" * 99, "+" * 5000)
    ),
)
SOURCES = {family.__name__: [(family(level=n), family(level=n).get("train", n)) for n in LEVELS] for family in FAMILIES}


@pytest.mark.sampled(3, "family")
@pytest.mark.parametrize("family", FAMILIES)
@given(level=st.sampled_from(LEVELS), keep=st.integers(0, 8), steps=st.lists(GARBAGE, min_size=1, max_size=6))
@examples(2)
def test_no_text_makes_a_checker_fail(family, level, keep, steps):
    source, task = SOURCES[family.__name__][level - 1]
    gold = source.steps(task)[:keep]
    found = source.first_wrong(task, [*gold, *steps])
    assert found is None or len(gold) <= found < len(gold) + len(steps)
    assert source.check(task, write_solution([*gold, *steps], steps[0])) in (0.0, 1.0)
    assert source.check(task, "\n".join(steps)) in (0.0, 1.0)


@pytest.mark.parametrize("family", FAMILIES)
@given(level=st.sampled_from(LEVELS), data=st.data())
def test_a_gold_line_with_one_character_changed_is_wrong(family, level, data):
    source, task = SOURCES[family.__name__][level - 1]
    gold = source.steps(task)
    at = data.draw(st.integers(0, len(gold) - 1))
    spot = data.draw(st.integers(0, len(gold[at]) - 1))
    changed = gold[at][:spot] + data.draw(st.sampled_from("0123456789abcd+-*= ")) + gold[at][spot + 1 :]
    assert source.first_wrong(task, [*gold[:at], changed]) == (None if changed == gold[at] else at)


@pytest.mark.parametrize("family", FAMILIES)
@given(level=st.sampled_from(LEVELS), data=st.data())
def test_a_changed_prompt_is_no_problem_or_a_sound_one(family, level, data):
    source, task = SOURCES[family.__name__][level - 1]
    spot = data.draw(st.integers(0, len(task.prompt)))
    text = task.prompt[:spot] + data.draw(GARBAGE | st.sampled_from("0123456789abc ")) + task.prompt[spot + 1 :]
    found = source.read_problem(text)
    if found is not None:
        assert found.prompt == text
        other = Task("", text, found.answer, "", level, found.meta)
        assert (
            source.check(other, source.solution(other)) == 1.0 and len(source.near_misses(other, random.Random(0))) > 1
        )


@pytest.mark.sampled(3, "family")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_problem_belongs_to_its_level(family):
    prompts = {level: [family(level=level).get("train", i).prompt for i in range(50)] for level in LEVELS}
    for level, other in ((1, 5), (2, 6), (3, 7), (4, 8), (5, 1), (6, 2), (7, 3), (8, 4)):
        assert not any(family(level=level).read_problem(prompt) for prompt in prompts[other])


# --- other ways to the answer -------------------------------------------------------------------------------------------


@pytest.mark.sampled(5, "level")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("family", [lists, strings, clock])
def test_every_order_the_checker_accepts_ends_in_the_answer(family, level):
    source, draw = family(level=level), random.Random(level)
    detours = 0
    for i in range(60):
        task = source.get("train", i)
        value, left, steps = task.meta["start"], list(task.meta["ops"]), []
        while left:
            draw.shuffle(left)
            op = next(
                op for op in left if source.first_wrong(task, [*steps, f"{op}: {source.apply(value, op)}"]) is None
            )
            left.remove(op)
            value = source.apply(value, op)
            steps.append(f"{op}: {value}")
        assert value == task.answer, (task.prompt, steps)
        detours += steps != source.steps(task)
    assert detours >= (5 if level > 1 else 0)


@pytest.mark.parametrize("level", LEVELS)
def test_units_may_be_converted_and_added_in_any_order(level):
    source, draw = units(level=level), random.Random(level)
    for i in range(60):
        task = source.get("train", i)
        to, terms, steps = task.meta["to"], list(task.meta["terms"]), []
        while len(terms) > 1 or terms[0].lstrip(DIGITS) != to:
            term = terms.pop(draw.randrange(len(terms)))
            unit = term.lstrip(DIGITS)
            number = int(term.removesuffix(unit))
            mates = [t for t in terms if t.lstrip(DIGITS) == unit]
            if mates and draw.random() < 0.7:
                terms.remove(mates[0])
                terms.append(f"{number + int(mates[0].removesuffix(unit))}{unit}")
                steps.append(f"{mates[0]}+{term}={terms[-1]}")
            elif unit != to:
                terms.append(f"{number * FACTORS[unit]}{below(unit)}")
                steps.append(f"{term}={terms[-1]}")
            else:
                terms.append(term)
        assert terms == [task.answer] and source.first_wrong(task, steps) is None


@pytest.mark.parametrize("level", LEVELS)
def test_bases_may_go_by_powers_in_any_order(level):
    source, draw = bases(level=level), random.Random(level)
    for i in range(60):
        task = source.get("train", i)
        digits, base = task.meta["digits"], task.meta["from"]
        if base != 10:
            steps = [f"{d}*{base**p}={int(d) * base**p}" for p, d in enumerate(reversed(digits)) if d != "0"]
            draw.shuffle(steps)
            parts = [step.partition("=")[2] for step in steps]
            if len(parts) > 1:
                steps.append(f"{'+'.join(parts)}={int(digits, base)}")
            whole = [*steps, *source.steps(task)[len(digits) - 1 :]]
            assert source.first_wrong(task, whole) is None, (task.prompt, whole)


@pytest.mark.parametrize("level", LEVELS[1:])
def test_modular_powers_may_grow_one_by_one(level):
    source = modular(level=level)
    for i in range(60):
        task = source.get("train", i)
        base, power, mod = task.meta["base"], task.meta["power"], task.meta["mod"]
        value, steps = base, []
        for exponent in range(2, power + 1):
            steps.append(f"^{exponent}: {value}*{base}={value * base}={value * base % mod}")
            value = value * base % mod
        assert source.first_wrong(task, [*steps, *source.steps(task)[-2:]]) is None
