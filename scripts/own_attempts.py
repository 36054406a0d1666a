"""Conversations about a model's own attempts: what it got wrong is what a judge of it must learn to see.

The model tries problems of the training stream; the families' checkers say what is right, line by line; right and wrong
attempts at equal levels are judged equally often, so that a verdict cannot be guessed from the problem.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from guerdon import tasks
from guerdon.core.model import Model, Request
from guerdon.core.seeds import derive
from guerdon.core.task import Sampling
from guerdon.engine import answer
from guerdon.tasks.corpus import LEVELS, family_names
from guerdon.tasks.judging.attempt_talks import TALKS, talks_about
from guerdon.tasks.judging.attempt_talks import Tried as Tried
from guerdon.tasks.roles import Turns


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


def conversations_about(tried: Sequence[Tried], seed: int, roles: Sequence[str] = TALKS) -> list[Turns]:
    """Every role about every attempt, right and wrong in equal numbers at each family and level."""
    made = [talk for talks in talks_about(tried, seed, roles).values() for talk in talks]
    random.Random(derive("order of talks", seed)).shuffle(made)
    return made
