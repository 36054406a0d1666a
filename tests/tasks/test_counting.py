"""Counting numbers that meet conditions: cases by hand, and every condition against its words."""

from __future__ import annotations

import random

import pytest
from families import by_hand

from guerdon.tasks.families.number_counting import CONDITIONS, KINDS, LEVELS, counting, numbers_in

FAMILY = counting(level=3)
SEVENS = by_hand(
    "counting",
    "10 to 60: divisible by 7, even digit sum, how many",
    "3",
    start="10 to 60",
    ops=["divisible by 7", "even digit sum", "how many"],
)


def test_a_problem_by_hand():
    gold = ["divisible by 7: 14 21 28 35 42 49 56", "even digit sum: 28 35 42", "how many: 3"]
    assert FAMILY.steps(SEVENS) == gold and FAMILY.check(SEVENS, FAMILY.solution(SEVENS)) == 1.0
    assert FAMILY.first_wrong(SEVENS, [gold[0].replace(" 49", ""), *gold[1:]]) == 0
    assert FAMILY.first_wrong(SEVENS, [gold[0], "how many: 7"]) == 1  # counted before the last condition
    evens = [n for n in range(10, 61) if (n // 10 + n % 10) % 2 == 0]
    other = [f"even digit sum: {' '.join(map(str, evens))}", "divisible by 7: 28 35 42", "how many: 3"]
    assert FAMILY.first_wrong(SEVENS, other) is None  # conditions may be taken in any order
    assert FAMILY.first_wrong(SEVENS, [*gold, gold[-1]]) == 3


@pytest.mark.parametrize(("goal", "answer"), [("how many", "3"), ("sum", "105"), ("largest", "42"), ("smallest", "28")])
def test_what_is_asked_of_the_numbers_left(goal, answer):
    assert FAMILY.apply("28 35 42", goal) == answer


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ("divisible by 12", "12 24 36"), ("not divisible by 2", "1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 31 33 35 37 39"),
        ("ends in 0", "10 20 30 40"), ("has digit 3", "3 13 23 30 31 32 33 34 35 36 37 38 39"),
        ("digit sum 11", "29 38"), ("prime", "2 3 5 7 11 13 17 19 23 29 31 37"), ("square", "1 4 9 16 25 36"),
        ("palindrome", "1 2 3 4 5 6 7 8 9 11 22 33"),
        ("odd digit sum", "1 3 5 7 9 10 12 14 16 18 21 23 25 27 29 30 32 34 36 38"),
    ],
)  # fmt: skip
def test_conditions_by_hand(condition, numbers):
    assert FAMILY.apply("1 to 40", condition) == numbers


def test_conditions_that_are_each_others_opposite_share_out_all_numbers():
    for one, other in (
        ("even digit sum", "odd digit sum"),
        *((f"has digit {d}", f"no digit {d}") for d in range(1, 10)),
    ):
        halves = [numbers_in(FAMILY.apply("1 to 1999", each)) for each in (one, other)]
        assert sorted([*halves[0], *halves[1]]) == list(range(1, 2000))


def test_a_range_and_the_list_of_its_numbers_come_to_the_same():
    shown = " ".join(map(str, range(1, 2000)))
    for condition in CONDITIONS:
        assert FAMILY.apply("1 to 1999", condition) == FAMILY.apply(shown, condition)


def test_ranges_that_hold_the_same_numbers_are_one_problem():
    forms = {
        FAMILY.canonical(FAMILY.read_problem(f"counting {prompt}, sum"))
        for prompt in (
            "10 to 60: divisible by 7, even digit sum",
            "15 to 50: divisible by 7, even digit sum",
            "20 to 43: even digit sum, divisible by 7",
        )
    }
    assert len(forms) == 1
    assert (
        FAMILY.canonical(FAMILY.read_problem("counting 10 to 60: divisible by 7, even digit sum, largest")) not in forms
    )


@pytest.mark.sampled(3, "level")
@pytest.mark.parametrize("level", range(1, 9))
def test_levels_are_what_they_say(level):
    family, (count, top, longest) = counting(level=level), LEVELS[level - 1]
    kinds, goals = set(), set()
    for index in range(150):
        task = family.get("train", index)
        *conditions, goal = task.meta["ops"]
        first, *_ = family.steps(task)
        low, _, high = task.meta["start"].partition(" to ")
        assert len(conditions) == count and 1 <= int(low) < int(high) <= top
        assert 2 <= len(numbers_in(first.partition(": ")[2])) <= longest
        kinds |= {kind for kind, ones in KINDS.items() if {*ones} & {*conditions}}
        goals.add(goal)
        assert {miss.kind for miss in family.near_misses(task, random.Random(index))} >= {"answer miscopied"}
    assert kinds == set(KINDS) and len(goals) == 4
