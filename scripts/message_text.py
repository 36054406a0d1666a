"""The text that `sprig-2-messages` learns from: notes, tutoring, translation, and worked steps with gaps or out of order.

Each kind has its share of the tokens, and a tenth is what the model knows already, so that it does not forget. Nothing is ever
written about a held-out problem. Leaves out: tokens (`sprig_tokens.py`) and training (`train_messages.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sprig_text import SOURCES, Conversation, Kind, Said, every_kind, of_kinds

from guerdon.core.errors import UserError
from guerdon.tasks.messages.note_tasks import notes
from guerdon.tasks.task_loading import family_names, load

KEPT = 0.1  # of the tokens: of what the model knows already
FORMS = ("write", "rewrite", "ask")  # what notes ask for
STEPS = {"cloze": 0.12, "shuffled": 0.12}
LEVELS_OF_STEPS = range(2, 7)  # below, solutions are a line; above, they hardly fit the context
AGAIN = 8  # draws of a family for one whose level has steps enough


def message_kinds() -> dict[str, Kind]:
    """All that is written, by name."""
    kinds = {
        **{
            f"notes {form}": Kind(share, partial(note, form))
            for form, share in zip(FORMS, (0.2, 0.1, 0.08), strict=True)
        },
        "tutoring": Kind(0.14, partial(solved, "tutoring")),
        "translation": Kind(0.14, partial(solved, "translation")),
        **{name: Kind(share, partial(steps, name), levels=LEVELS_OF_STEPS) for name, share in STEPS.items()},
    }
    known = every_kind()
    whole = sum(kind.share for kind in known.values())
    old = {name: Kind(KEPT * k.share / whole, k.write, k.levels, k.rarer) for name, k in known.items()}
    return {**kinds, **{f"known {name}": kind for name, kind in old.items()}}


def said(source: Any, draw: random.Random) -> Conversation:
    task = source.get("train", draw.getrandbits(40))
    return [Said(task.prompt, source.solution(task))]


def note(form: Any, level: int, draw: random.Random) -> Conversation:
    return said(notes(level=level, form=form), draw)


def solved(name: str, level: int, draw: random.Random) -> Conversation:
    return said(SOURCES[f"{name}:{level}"], draw)


def steps(name: str, level: int, draw: random.Random) -> Conversation:
    """Of a family that has steps enough at a level."""
    for _ in range(AGAIN):
        try:
            return said(SOURCES[f"{name}:{draw.choice(family_names())}:{level}"], draw)
        except UserError:  # too few steps
            continue
    return said(load(f"{name}:chain:{level}"), draw)


def message_conversations(seed: int, length_of: Callable[[Conversation], int]) -> Iterator[Conversation]:
    """Conversations of these kinds without end."""
    return of_kinds(message_kinds(), seed, length_of)
