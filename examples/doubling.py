"""A task family of your own: double a number, level times. Problems, a checker, steps, and errors people make."""

import re

import guerdon as gd
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution


@gd.part
class doubling(Family):
    """`doubling 7 3`: double 7 three times. `level` is how often."""

    level: int = gd.knob(default=1, ge=1, le=8)

    def make(self, draw):
        return self.posed(draw.randint(2, 99))

    def posed(self, start):
        return Problem(f"doubling {start} {self.level}", str(start * 2**self.level), {"start": start})

    def read_problem(self, prompt):
        found = re.fullmatch(r"doubling ([1-9]\d?) (\d)", prompt)
        return self.posed(int(found[1])) if found and found[1] != "1" and int(found[2]) == self.level else None

    def steps(self, task):
        start = task.meta["start"]
        return [f"{start * 2**i}*2={start * 2 ** (i + 1)}" for i in range(task.level)]

    def first_wrong(self, task, steps):
        right = self.steps(task)
        return next((i for i, step in enumerate(steps) if i >= len(right) or step != right[i]), None)

    def blunders(self, task, draw):
        right, off, twice = self.steps(task), str(int(task.answer) + 2), str(int(task.answer) * 2)
        slipped = [*right[:-1], right[-1].partition("=")[0] + "=" + off]
        return [
            NearMiss(write_solution(slipped, off), "off by two", len(right) - 1),
            NearMiss(write_solution(right, twice), "once too often", len(right)),
        ]
