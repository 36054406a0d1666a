"""Unit conversion: mixed times and metric lengths, added up in the smallest unit."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.families.pipeline import DIGITS, NUMBER, add_terms, first_difference, miscopy
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

SYSTEMS = (("w", "d", "h", "min", "s"), ("km", "m", "cm", "mm"))
FACTORS = {"w": 7, "d": 24, "h": 60, "min": 60, "km": 1000, "m": 100, "cm": 10}  # how many of the next unit make one
CONFUSED = {7: 5, 24: 12, 60: 100, 1000: 100, 100: 1000, 10: 100}  # what a factor is taken for
MOST = {"w": 9, "d": 6, "h": 23, "min": 59, "s": 59, "km": 9, "m": 99, "cm": 99, "mm": 9}
LEVELS = ((1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5), (3, 6), (4, 6))  # (units below the largest, parts) by level


@part
class units(Family):
    """`units 2h 35min + 4h in min`: all of it in one unit.

    The largest unit is added up and turned into the next, and so on down: `2h+4h=6h`, `6h=360min`, `360min+35min=395min`,
    `= 395min`. Parts may be converted and added in any order, and a conversion may pass over several units at once. A
    level has more parts and more units between the largest and the one asked for: from two neighbouring units to six
    parts from weeks down to seconds.

    >>> import guerdon as gd
    >>> family = gd.tasks.units(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, family.solution(problem).splitlines()
    ('units 7km 94m + 26m in m', ['7km=7000m', '7000m+94m=7094m', '7094m+26m=7120m', '= 7120m'])
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        hops, count = LEVELS[self.level - 1]
        system = draw.choice([names for names in SYSTEMS if len(names) > hops])
        top = draw.randrange(len(system) - hops)
        names = system[top : top + hops + 1]
        quantities: list[list[str]] = []
        while count:
            size = min(count, len(names), 3)
            chosen = draw.sample(names if quantities else names[1:], size if quantities else size - 1)
            chosen += [] if quantities else [names[0]]
            quantities.append([f"{draw.randint(1, MOST[u])}{u}" for u in sorted(chosen, key=names.index)])
            count -= size
        return posed(quantities, names[-1])

    def read_problem(self, prompt: str) -> Problem | None:
        term = f"{NUMBER}(?:{'|'.join(MOST)})"
        match = re.fullmatch(rf"units ({term}(?: (?:\+ )?{term})*) in ([a-z]+)", prompt)
        system = next((names for names in SYSTEMS if match and match[2] in names), None)
        hops, count = LEVELS[self.level - 1]
        if match is None or system is None or system.index(match[2]) < hops:
            return None
        at = system.index(match[2])
        names = system[at - hops : at + 1]
        quantities = [quantity.split() for quantity in match[1].split(" + ")]
        amounts = [[split_term(term) for term in quantity] for quantity in quantities]
        if not all(unit in names and 1 <= n <= MOST[unit] for quantity in amounts for n, unit in quantity):
            return None
        places = [[names.index(unit) for _, unit in quantity] for quantity in amounts]
        sizes = [len(quantity) for quantity in quantities]
        falls = all(a < b for quantity in places for a, b in itertools.pairwise(quantity))
        most = min(len(names), 3)
        if (
            not falls
            or places[0][0]
            or sum(sizes) != count
            or any(size != most for size in sizes[:-1])
            or sizes[-1] > most
        ):
            return None
        return posed(quantities, match[2])

    def canonical(self, problem: Problem) -> str:
        return f"{sorted(problem.meta['terms'])} in {problem.meta['to']}"

    def steps(self, task: Task) -> list[str]:
        return written(task.meta["terms"], task.meta["to"])[0]

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        terms = Counter(task.meta["terms"])
        for i, step in enumerate(steps):
            if not convert_term(step, terms, task.meta["to"]) and not add_terms(step, terms):
                return i
        return None

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        terms, to = task.meta["terms"], task.meta["to"]
        right = self.steps(task)
        unit = draw.choice([line.lstrip(DIGITS).partition("=")[0] for line in right if "+" not in line])
        misses = []
        for kind, factor in (("wrong factor", CONFUSED[FACTORS[unit]]), ("factor forgotten", 1)):
            lines, total = written(terms, to, FACTORS | {unit: factor})
            at = first_difference(lines, right)
            assert at is not None, "another factor writes another line"
            misses.append(NearMiss(write_solution(lines, total), kind, at))
        gone = draw.randrange(1, len(terms))  # never the first: it is of the largest unit, so that steps remain
        lines, total = written(terms[:gone] + terms[gone + 1 :], to)
        misses.append(NearMiss(write_solution(lines, total), "part forgotten", len(lines)))
        at = draw.choice([i for i, line in enumerate(right) if "+" in line])
        lines, total = written(terms, to, slip_at=at)
        misses.append(NearMiss(write_solution(lines, total), "sum ten off", at))
        miscopied = miscopy(task.answer.removesuffix(to), draw) + to
        misses.append(NearMiss(write_solution(right, miscopied), "answer miscopied", len(right)))
        return misses


def posed(quantities: list[list[str]], to: str) -> Problem:
    terms = [term for quantity in quantities for term in quantity]
    prompt = f"units {' + '.join(' '.join(quantity) for quantity in quantities)} in {to}"
    return Problem(prompt, written(terms, to)[1], {"terms": terms, "to": to})


def split_term(term: str) -> tuple[int, str]:
    unit = term.lstrip(DIGITS)
    return int(term.removesuffix(unit)), unit


def below(unit: str) -> str:
    """The next smaller unit."""
    system = next(names for names in SYSTEMS if unit in names)
    return system[system.index(unit) + 1]


def written(
    terms: Sequence[str], to: str, factors: Mapping[str, int] = FACTORS, slip_at: int = -1
) -> tuple[list[str], str]:
    """The lines of adding up `terms` unit by unit from the largest down to `to`, and the total.

    The sum in line `slip_at` comes out ten off.
    """
    system = next(names for names in SYSTEMS if to in names)
    amounts = [split_term(term) for term in terms]
    unit = min((u for _, u in amounts), key=system.index)
    lines: list[str] = []
    carried: list[int] = []
    while True:
        total, *more = [*carried, *(n for n, u in amounts if u == unit)]
        for n in more:
            slip = 0 if len(lines) != slip_at else 10 if total + n < 20 else -10
            lines.append(f"{total}{unit}+{n}{unit}={total + n + slip}{unit}")
            total += n + slip
        if unit == to:
            return lines, f"{total}{unit}"
        carried = [total * factors[unit]]
        lines.append(f"{total}{unit}={carried[0]}{below(unit)}")
        unit = below(unit)


def convert_term(step: str, terms: Counter[str], to: str) -> bool:
    """Do the conversion `2h=120min` on a term that is there, not beyond the unit `to`; False when it is none or wrong."""
    term, _, result = step.partition("=")
    if terms[term] < 1:
        return False
    amount, unit = split_term(term)
    while unit != to:
        amount, unit = amount * FACTORS[unit], below(unit)
        if result == f"{amount}{unit}":
            terms[term] -= 1
            terms[result] += 1
            return True
    return False
