"""Multi-hop lookup: follow a table of pairs from a key, so many hops on."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import pairwise

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

# level: pairs, hops
SIZES = {1: (4, 1), 2: (5, 2), 3: (6, 3), 4: (7, 4), 5: (9, 5), 6: (11, 6), 7: (13, 8), 8: (16, 10)}
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
NUMBERS = [str(number) for number in range(10, 100)]


@part
class lookup(Family):
    """`lookup a:d c:f d:c f:a ; a 2 hops`: the value of a key is the key of the next hop.

        a:d
        d:c
        = c

    Every value is a key too, so the end does not give itself away. Level 1 has 4 pairs and 1 hop, level 8 has 16 pairs and
    10 hops; from level 4 on keys are two-digit numbers, which look more alike than letters.

    >>> import guerdon as gd
    >>> family = gd.tasks.lookup(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.check(problem, "= y")
    ('lookup g:n n:g y:v t:y v:t ; t 2 hops', 'v', 0.0)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        pairs, hops = SIZES[self.level]
        names = draw.sample(self.names, pairs)
        table = dict(pairwise(names[: hops + 1]))  # the way that is asked for never meets itself
        for name in names[hops:]:
            table[name] = draw.choice([other for other in names if other != name])
        start = names[0]
        draw.shuffle(names)
        return posed({name: table[name] for name in names}, start, hops)

    @property
    def names(self) -> list[str]:
        """What keys are taken from."""
        return LETTERS if self.level < 4 else NUMBERS

    def read_problem(self, prompt: str) -> Problem | None:
        pairs, hops = SIZES[self.level]
        name = "[a-z]|[1-9][0-9]"
        pair = f"(?:{name}):(?:{name})"
        match = re.fullmatch(f"lookup ({pair}(?: {pair}){{{pairs - 1}}}) ; ({name}) {hops} {noun(hops)}", prompt)
        if match is None:
            return None
        table = dict(listed.split(":") for listed in match[1].split())
        strange = any(name not in self.names or value not in table or value == name for name, value in table.items())
        if strange or len(table) != pairs or match[2] not in table:
            return None
        met = set(follow(table, match[2], hops))
        return posed(table, match[2], hops) if len(met) == hops + 1 else None

    def canonical(self, problem: Problem) -> str:
        """Pairs may be listed in any order; other names make another problem, for names are what is said."""
        table, start, hops = (problem.meta[name] for name in ("table", "start", "hops"))
        return f"{sorted(table.items())} {start} {hops}"

    def steps(self, task: Task) -> list[str]:
        return written(follow(task.meta["table"], task.meta["start"], task.meta["hops"]))

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        right = self.steps(task)
        return next((i for i, step in enumerate(steps) if i >= len(right) or step != right[i]), None)

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        table, start, hops = task.meta["table"], task.meta["start"], task.meta["hops"]
        way = follow(table, start, hops)
        at = draw.randrange(hops)
        misses = [
            near_miss(follow(table, start, hops + 1), "one hop too far", hops),
            near_miss(way[:-1], "one hop too few", hops - 1),
            NearMiss(write_solution(written(way), way[-2]), "answer miscopied", hops),
        ]
        names = list(table)
        beside = table[names[(names.index(way[at]) + draw.choice([-1, 1])) % len(names)]]
        if beside not in (way[at], way[at + 1]):
            astray = [*way[: at + 1], *follow(table, beside, hops - at - 1)]
            misses.append(near_miss(astray, "neighbour's value read", at))
        back = [name for name in names if table[name] == way[at] and name != way[at + 1]]
        if back:
            astray = [*way[: at + 1], *follow(table, draw.choice(back), hops - at - 1)]
            misses.append(near_miss(astray, "pair read backwards", at))
        return misses


def posed(table: dict[str, str], start: str, hops: int) -> Problem:
    listed = " ".join(f"{name}:{value}" for name, value in table.items())
    prompt = f"lookup {listed} ; {start} {hops} {noun(hops)}"
    return Problem(prompt, follow(table, start, hops)[-1], {"table": table, "start": start, "hops": hops})


def noun(hops: int) -> str:
    return "hop" if hops == 1 else "hops"


def follow(table: dict[str, str], start: str, hops: int) -> list[str]:
    """The keys one meets, `start` first."""
    way = [start]
    for _ in range(hops):
        way.append(table[way[-1]])
    return way


def written(way: Sequence[str]) -> list[str]:
    return [f"{key}:{value}" for key, value in pairwise(way)]


def near_miss(way: Sequence[str], kind: str, step: int) -> NearMiss:
    return NearMiss(write_solution(written(way), way[-1]), kind, step)
