"""Sorting: put numbers in order by taking the next one from what is left, again and again."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.families.pipeline import NUMBER, miscopy
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

# (how many numbers, the largest) by level; numbers repeat from level 3 on
LEVELS = ((3, 9), (4, 9), (5, 20), (5, 50), (6, 99), (7, 99), (8, 99), (9, 99))


@part
class sorting(Family):
    """`sorting 5 2 9 1`: from the smallest up; `sorting down 5 2 9 1`: from the largest down (from level 4 on).

    Each step takes the next number and says what is left: `1: 5 2 9`, `2: 5 9`, `5: 9`, `= 1 2 5 9`. What is left may
    be written in any order. A level has more and larger numbers, from three digits to nine numbers up to 99, and from
    level 3 on a number may come twice.

    >>> import guerdon as gd
    >>> family = gd.tasks.sorting(level=1)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, family.solution(problem).splitlines()
    ('sorting 3 9 8', ['3: 9 8', '8: 9', '= 3 8 9'])
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        length, top = LEVELS[self.level - 1]
        numbers = draw.choices(range(top + 1), k=length) if self.level > 2 else draw.sample(range(top + 1), length)
        return posed(numbers, down=self.level > 3 and draw.random() < 0.5)

    def read_problem(self, prompt: str) -> Problem | None:
        length, top = LEVELS[self.level - 1]
        match = re.fullmatch(rf"sorting (down )?({NUMBER}(?: {NUMBER}){{{length - 1}}})", prompt)
        if match is None or (match[1] and self.level < 4):
            return None
        numbers = [int(x) for x in match[2].split()]
        if max(numbers) > top or (self.level < 3 and len(set(numbers)) < length):
            return None
        return posed(numbers, down=bool(match[1]))

    def canonical(self, problem: Problem) -> str:
        return f"{sorted(problem.meta['numbers'])} {problem.meta['down']}"

    def steps(self, task: Task) -> list[str]:
        return taken(task.meta["numbers"], sorted(task.meta["numbers"], reverse=task.meta["down"])[:-1])

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        order = [str(x) for x in sorted(task.meta["numbers"], reverse=task.meta["down"])]
        for i, step in enumerate(steps):
            taken_number, _, rest = step.partition(":")
            left = rest.split(" ")  # opens with an empty word: the blank after the colon
            if (
                i >= len(order)
                or taken_number != order[i]
                or Counter(left) != Counter(["", *order[i + 1 :]])
                or left[0]
            ):
                return i
        return None

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        numbers, down = task.meta["numbers"], task.meta["down"]
        order = sorted(numbers, reverse=down)
        right = self.steps(task)
        at = draw.randrange(len(right) - 1)
        lost = draw.randrange(at + 1, len(order))
        fewer, kept = [*order[:lost], *order[lost + 1 :]], list(numbers)
        kept.remove(order[lost])
        losing = [*right[:at], *taken(kept, fewer[:-1])[at:]]
        misses = [
            NearMiss(solution(losing, fewer), "number lost", at),
            NearMiss(write_solution(right, miscopy(task.answer, draw)), "answer miscopied", len(right)),
            NearMiss(solution(taken(numbers, order[::-1][:-1]), order[::-1]), "wrong way round", 0),
        ]
        at = draw.randrange(len(right))
        later = [i for i in range(at + 1, len(order)) if order[i] != order[at]]
        if later:
            picks = [*order[:at], order[later[0]], *order[at : later[0]], *order[later[0] + 1 :]]
            misses.append(NearMiss(solution(taken(numbers, picks[:-1]), picks), "wrong one taken", at))
        return misses


def posed(numbers: list[int], down: bool) -> Problem:
    answer = " ".join(map(str, sorted(numbers, reverse=down)))
    shown = " ".join(map(str, numbers))
    return Problem(f"sorting {'down ' if down else ''}{shown}", answer, {"numbers": numbers, "down": down})


def taken(numbers: Sequence[int], picks: Sequence[int]) -> list[str]:
    """The lines of taking `picks` from `numbers`, one by one."""
    left, lines = list(numbers), []
    for pick in picks:
        left.remove(pick)
        lines.append(f"{pick}: {' '.join(map(str, left))}")
    return lines


def solution(lines: Sequence[str], numbers: Sequence[int]) -> str:
    return write_solution(lines, " ".join(map(str, numbers)))
