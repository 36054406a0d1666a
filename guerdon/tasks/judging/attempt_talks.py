"""Conversations about given attempts: a judge must learn to find what is wrong in them.

Right and wrong attempts at each family and level are judged equally often: a verdict cannot be guessed from the problem.
Leaves out where the attempts come from.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from guerdon.core.seeds import derive
from guerdon.core.task import Task
from guerdon.tasks.family import Family
from guerdon.tasks.role_tasks import ROLES
from guerdon.tasks.roles import Turns, marks, prefer_view, preferred, revise_view
from guerdon.tasks.task_loading import load

Tried = tuple[Task, list[str]]  # a problem and some attempts at it
Told = tuple[Task, str]


JUDGES = {name: role.about for name, role in ROLES.items() if role.about is not None}
TALKS = (*JUDGES, "prefer", "revise")


def talks_about(tried: Sequence[Tried], seed: int, roles: Sequence[str] = TALKS) -> dict[str, list[Turns]]:
    """Conversations by role. Judges of single attempts see as many right ones as wrong ones of each family and level; where
    there are fewer of one kind, some of them come twice. Pairs are of a right attempt and a wrong one, or of two wrong ones of
    which one was right for longer, in both orders. Every wrong attempt is revised."""
    draw = random.Random(derive("about attempts", seed))
    made: dict[str, list[Turns]] = {role: [] for role in roles}
    for task, solution in balanced_attempts(tried, draw):
        for role in (role for role in JUDGES if role in made):
            made[role].append(JUDGES[role](family_of(task), task, solution, draw))
    for task, solutions in tried:
        family = family_of(task)
        if "prefer" in made:
            made["prefer"] += [
                [(prefer_view(task.prompt, *pair), preferred(family, task, *pair))]
                for pair in telling_pairs(family, task, solutions)
            ]
        if "revise" in made:
            wrong = [text for text in dict.fromkeys(solutions) if is_wrong(family, task, text)]
            made["revise"] += [[(revise_view(task.prompt, text), family.solution(task))] for text in wrong]
    for talks in made.values():
        draw.shuffle(talks)
    return made


def balanced_attempts(tried: Sequence[Tried], draw: random.Random) -> Iterator[Told]:
    """Attempts of which, at each family and level, half are right."""
    pools: dict[tuple[str, int], tuple[list[Told], list[Told]]] = defaultdict(lambda: ([], []))
    for task, solutions in tried:
        family = family_of(task)
        for text in dict.fromkeys(solutions):
            pools[task.family, task.level][is_wrong(family, task, text)].append((task, text))
    for right, wrong in pools.values():
        fewer, more = sorted((right, wrong), key=len)
        size = min(2 * len(fewer), len(more))
        again = draw.sample(fewer, size - len(fewer))
        yield from (*fewer, *again, *draw.sample(more, size))


def telling_pairs(family: Family, task: Task, solutions: Sequence[str]) -> list[tuple[str, str]]:
    """A right attempt with a wrong one, and two wrong ones that do not go wrong at the same line, each in both orders."""
    texts = list(dict.fromkeys(solutions))
    right = [text for text in texts if not is_wrong(family, task, text)]
    wrong = sorted((text for text in texts if is_wrong(family, task, text)), key=lambda x: len(marks(family, task, x)))
    pairs = [(right[0], wrong[0])] if right and wrong else []
    if wrong and len(marks(family, task, wrong[0])) < len(marks(family, task, wrong[-1])):
        pairs.append((wrong[-1], wrong[0]))
    return [order for better, worse in pairs for order in ((better, worse), (worse, better))]


def is_wrong(family: Family, task: Task, solution: str) -> bool:
    return marks(family, task, solution).endswith("-")


def family_of(task: Task) -> Family:
    family = load(f"{task.family}:{task.level}")
    assert isinstance(family, Family)
    return family
