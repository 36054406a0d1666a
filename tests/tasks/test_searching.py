"""Solutions that search, and the recipe that teaches them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.core.task import kinds_of
from guerdon.tasks import load
from guerdon.tasks.searched_solutions import searching
from guerdon.training.build import RunRequest, build


def ways_of(solution: str) -> list[str]:
    """The ends of the ways that a solution goes: a way's last step says of nothing that it is left."""
    return [line.partition("=")[2] for line in solution.split("\n")[:-1] if " left " not in line]


def test_only_the_last_way_ends_at_the_target_and_all_are_true():
    source = searching(load("countdown:1-6"), most=3)
    counts: Counter[int] = Counter()
    for i in range(120):
        task = source.get("train", i)
        solution = source.solution(task)
        ends = ways_of(solution)
        assert source.check(task, solution) == 1.0 and solution.endswith(f"= {task.answer}")
        assert [int(end) == task.meta["target"] for end in ends] == [False] * (len(ends) - 1) + [True]
        assert solution == source.solution(task)  # always the same
        steps = solution.split("\n")[:-1]
        size = len(task.meta["numbers"]) - 1  # steps of a way
        family = kinds_of(source.source)[task.kind]
        for start in range(0, len(steps), size):  # every way is one from the numbers as they were given
            assert family.first_wrong(task, steps[start : start + size]) is None
        counts[len(ends) - 1] += 1
    assert set(counts) == {0, 1, 2, 3} and min(counts.values()) >= 15  # each as often as the others: 30 of 120


def test_where_every_way_ends_at_the_target_there_is_one():
    family = load("countdown:1")
    alone = family.read_problem("countdown 4 4 make 8")  # 4 + 4; 4 - 4 is not worth setting
    only = replace(family.get("train", 0), prompt=alone.prompt, answer=alone.answer, meta=alone.meta)
    assert family.searched(only, random.Random(0), 3) == family.solution(only)


def test_other_families_cannot_be_searched():
    with refusal(UserError, "1"):
        searching(load("countdown:2+trace:1"))


def test_the_searcher_is_taught_the_long_solutions_and_examined_on_the_problems():
    made = build(RunRequest("searcher", "countdown:1-3", "sprig", settings={"most": 2})).recipe
    assert str(made.curriculum.task) == "searching(mixed('countdown:1-3'), 2)"
    assert str(made.exams[0].source) == "mixed('countdown:1-3')"
