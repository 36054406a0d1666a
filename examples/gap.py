"""A task family whose problems can be said in two orders: `canonical` keeps both on one side of the split."""

import re

import guerdon as gd
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution


@gd.part
class gap(Family):
    """`gap 3 8`: how far two numbers are apart. `level` is how many digits they have at most."""

    level: int = gd.knob(default=1, ge=1, le=8)

    def make(self, draw):
        return self.posed(*draw.sample(range(1, 10**self.level), 2))

    def posed(self, one, other):
        return Problem(f"gap {one} {other}", str(abs(one - other)), {"numbers": [one, other]})

    def canonical(self, problem):
        return str(sorted(problem.meta["numbers"]))  # `gap 3 8` and `gap 8 3` are one problem

    def read_problem(self, prompt):
        match = re.fullmatch(r"gap ([1-9]\d{0,7}) ([1-9]\d{0,7})", prompt)
        numbers = [int(number) for number in match.groups()] if match else [0, 0]
        return self.posed(*numbers) if numbers[0] != numbers[1] and max(numbers) < 10**self.level else None

    def steps(self, task):
        small, large = sorted(task.meta["numbers"])
        return [f"{large}-{small}={task.answer}"]

    def first_wrong(self, task, steps):
        return next((i for i, step in enumerate(steps) if i or step != self.steps(task)[0]), None)

    def blunders(self, task, draw):
        small, large = sorted(task.meta["numbers"])
        slip, total = str(int(task.answer) + 1), str(small + large)
        slipped = NearMiss(write_solution([f"{large}-{small}={slip}"], slip), "off by one", 0)
        return [slipped, NearMiss(write_solution([f"{large}+{small}={total}"], total), "added", 0)]
