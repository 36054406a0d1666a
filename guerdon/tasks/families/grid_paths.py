"""The cheapest way through a grid, going right and down, by adding up row after row."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

# level: rows, columns, walls
SIZES = {1: (2, 2, 0), 2: (2, 3, 0), 3: (3, 3, 0), 4: (3, 3, 1), 5: (3, 4, 1), 6: (4, 4, 2), 7: (4, 5, 3), 8: (5, 5, 4)}

CELL = "[1-9#]"

Cell = int | None  # None: a wall, or a place no way leads to
Choice = Callable[[list[int]], int]


@part
class grid(Family):
    """`grid 3 1 4 / 1 # 9 / 2 6 5`: walk from the first cell to the last, right or down, for the smallest sum; # is a wall.

        row 1: 3 4 8
        row 2: 4 # 17
        row 3: 6 12 17
        = 17

    A step says what it costs at least to reach each cell of a row (`row 2: ...`) or of a column (`col 2: ...`), # where
    one cannot; any true one is right, in any order. Level 1 is 2 by 2, level 3 is 3 by 3, level 8 is 5 by 5 with 4 walls.

    >>> import guerdon as gd
    >>> family = gd.tasks.grid(level=1)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.first_wrong(problem, ["row 1: 9 18", "row 2: 11 27"])
    ('grid 9 9 / 2 9', '20', 1)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        height, width, walls = SIZES[self.level]
        while True:
            cells: list[list[Cell]] = [[draw.randint(1, 9) for _ in range(width)] for _ in range(height)]
            for place in draw.sample(range(1, height * width - 1), walls):
                cells[place // width][place % width] = None
            problem = posed(cells)
            if problem is not None:
                return problem

    def read_problem(self, prompt: str) -> Problem | None:
        height, width, walls = SIZES[self.level]
        row = f"{CELL}(?: {CELL}){{{width - 1}}}"
        match = re.fullmatch(f"grid ({row}(?: / {row}){{{height - 1}}})", prompt)
        if match is None or match[1].count("#") != walls or "#" in (match[1][0], match[1][-1]):
            return None
        rows = match[1].split(" / ")
        return posed([[None if cell == "#" else int(cell) for cell in row.split()] for row in rows])

    def canonical(self, problem: Problem) -> str:
        """Rows may be columns, and the way may be gone backwards."""
        cells = problem.meta["cells"]
        turned = [row[::-1] for row in cells[::-1]]
        grids = [way for grid in (cells, turned) for way in (grid, list(map(list, zip(*grid, strict=True))))]
        return min(" / ".join(map(show, grid)) for grid in grids)

    def steps(self, task: Task) -> list[str]:
        return written(costs(task.meta["cells"]))

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        known = costs(task.meta["cells"])
        true = {*written(known), *written(list(map(list, zip(*known, strict=True))), "col")}
        return next((i for i, step in enumerate(steps) if step not in true), None)

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        cells, steps, by = task.meta["cells"], self.steps(task), draw.choice([-1, 1])
        known = costs(cells)
        misses = [
            self.slip(cells, draw, "off by one", lambda ways: min(ways) + by),
            self.slip(cells, draw, "dearer way taken", max),
            self.slip(cells, draw, "cost of a cell forgotten", min, free=True),
        ]
        neighbours = [cost for cost in (known[-1][-2], known[-2][-1]) if cost is not None]
        misses.append(NearMiss(write_solution(steps, str(draw.choice(neighbours))), "last cell left out", len(steps)))
        return [miss for miss in misses if miss is not None]

    def slip(
        self, cells: list[list[Cell]], draw: random.Random, kind: str, choose: Choice, free: bool = False
    ) -> NearMiss | None:
        """A solution with one wrong cell that makes the answer wrong; None when no cell does."""
        truth = costs(cells)
        places = [(i, j) for i, row in enumerate(truth) for j, cost in enumerate(row) if cost is not None and i + j]
        draw.shuffle(places)
        for place in places:
            wrong = costs(cells, place, choose, free)
            if wrong[-1][-1] != truth[-1][-1]:
                return NearMiss(write_solution(written(wrong), str(wrong[-1][-1])), kind, place[0])
        return None


def posed(cells: list[list[Cell]]) -> Problem | None:
    """The problem of a grid, None when no way leads through it."""
    cost = costs(cells)[-1][-1]
    if cost is None:
        return None
    return Problem(f"grid {' / '.join(map(show, cells))}", str(cost), {"cells": cells})


def costs(
    cells: Sequence[Sequence[Cell]], slip: tuple[int, int] = (-1, -1), choose: Choice = min, free: bool = False
) -> list[list[Cell]]:
    """The least it costs to reach each cell. At `slip` the way is chosen by `choose` and, if `free`, the cell costs nothing."""
    known: list[list[Cell]] = []
    for i, row in enumerate(cells):
        known.append([])
        for j, cell in enumerate(row):
            ways = [known[i - 1][j] if i else None, known[i][j - 1] if j else None]
            open_ways = [way for way in ways if way is not None] if i or j else [0]
            if cell is None or not open_ways:
                known[i].append(None)
            elif (i, j) == slip:
                known[i].append(choose(open_ways) + (0 if free else cell))
            else:
                known[i].append(min(open_ways) + cell)
    return known


def show(row: Sequence[Cell]) -> str:
    return " ".join("#" if cell is None else str(cell) for cell in row)


def written(known: Sequence[Sequence[Cell]], name: str = "row") -> list[str]:
    return [f"{name} {i}: {show(row)}" for i, row in enumerate(known, start=1)]
