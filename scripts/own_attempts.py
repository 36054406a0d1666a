"""Conversations about a model's own attempts: what it got wrong is what a judge of it must learn to see.

The model tries problems of the training stream; the families' checkers say what is right, line by line; right and wrong
attempts at equal levels are judged equally often, so that a verdict cannot be guessed from the problem.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from guerdon import tasks
from guerdon.core.model import Model, Request
from guerdon.core.seeds import derive
from guerdon.core.task import Sampling, Task
from guerdon.engine import answer
from guerdon.tasks.corpus import LEVELS, family_names
from guerdon.tasks.family import Family
from guerdon.tasks.roles import (
    Turns,
    graded,
    marks,
    prefer_view,
    preferred,
    revise_view,
    score_view,
    verdict,
    verify_view,
)

Tried = tuple[Task, list[str]]  # a problem and some attempts at it


def try_problems(model: Model, number: int, tries: int, seed: int, rows: int = 8192) -> list[Tried]:
    """Sampled attempts at `number` problems, families and levels alike."""
    draw = random.Random(derive("own attempts", seed))
    names = family_names()
    known = {(n, level): tasks.load(f"{n}:{level}") for n in names for level in LEVELS}
    chosen = [known[draw.choice(names), draw.choice(LEVELS)].get("train", draw.getrandbits(40)) for _ in range(number)]
    chosen.sort(key=lambda t: (t.level, t.family))  # attempts of like length run together
    how = Sampling(temperature=1.0, max_tokens=200)
    found: list[Tried] = []
    for at in range(0, number, rows // tries):
        part = chosen[at : at + rows // tries]
        asked = [(task, attempt) for task in part for attempt in range(tries)]
        requests = [Request((), t.prompt, how, derive(seed, "attempt", t.prompt, i)) for t, i in asked]
        texts = [reply.text for reply in answer(model, requests)]
        found += [(task, texts[i * tries : (i + 1) * tries]) for i, task in enumerate(part)]
    return found


def conversations_about(tried: Sequence[Tried], seed: int) -> list[Turns]:
    """Verify, score, prefer and revise, right and wrong in equal numbers at each family and level."""
    draw = random.Random(derive("about attempts", seed))
    pools: dict[tuple[str, int, bool], list[tuple[Task, str]]] = defaultdict(list)
    made: list[Turns] = []
    for task, texts in tried:
        family = _family(task)
        for text in dict.fromkeys(texts):
            pools[task.family, task.level, not marks(family, task, text).endswith("-")].append((task, text))
        made += _preference(family, task, texts)
    for (name, level, right), pool in pools.items():
        if right:
            continue
        made += [[(revise_view(task.prompt, text), _family(task).solution(task))] for task, text in pool]
        other = pools.get((name, level, True), [])
        size = min(2 * min(len(pool), len(other)), max(len(pool), len(other)))
        for task, text in (*draw.choices(pool, k=size), *draw.choices(other, k=size)) if other else ():
            family = _family(task)
            made.append([(verify_view(task.prompt, text), verdict(family, task, text))])
            made.append([(score_view(task.prompt, text), graded(family, task, text))])
    draw.shuffle(made)
    return made


def _preference(family: Family, task: Task, texts: Sequence[str]) -> list[Turns]:
    right = [x for x in texts if not marks(family, task, x).endswith("-")]
    wrong = [x for x in texts if marks(family, task, x).endswith("-")]
    if not right or not wrong:
        return []
    pairs = ((right[0], wrong[0]), (wrong[0], right[0]))
    return [[(prefer_view(task.prompt, a, b), preferred(family, task, a, b))] for a, b in pairs]


def _family(task: Task) -> Family:
    family = tasks.load(f"{task.family}:{task.level}")
    assert isinstance(family, Family)
    return family
