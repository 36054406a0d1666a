"""The text that the built-in model learns from: conversations of many kinds, written without end by our own generators.

A kind is something that the model should be able to do: solve a family's problems, play a role on them, act in a world.
Each has its share of the tokens. Hard levels are done as carefully as easy ones, only more rarely: what is hard for the model
is what is long and what it has seen little of. Judges see more of the hard levels, and problems are proposed at all levels
alike. Nothing is ever written about a held-out problem.
Leaves out: what is said about the model's own attempts (`own_attempts.py`), tokens and training (`train_sprig.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from guerdon.core.seeds import derive
from guerdon.core.task import Ask
from guerdon.tasks.corpus import family_names
from guerdon.tasks.roles import ROLES
from guerdon.tasks.task_loading import load

LEVELS = range(1, 9)


class Said(NamedTuple):
    """A turn: what is shown, and what is to be said. What is `given` is put in the model's mouth before that and not learned,
    such as a wrong attempt that it is to mend."""

    shown: str
    said: str
    given: str = ""


Conversation = list[Said]


@dataclass(frozen=True)
class Kind:
    """Conversations of one kind: their share of the tokens, how to write one at a level, the levels there are, and how often
    a level comes against the level below it."""

    share: float
    write: Callable[[int, random.Random], Conversation]
    levels: range = LEVELS
    rarer: float = 0.5
    weights: list[float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", [self.rarer**n for n in range(len(self.levels))])

    def written(self, draw: random.Random) -> Conversation:
        return self.write(draw.choices(self.levels, self.weights)[0], draw)


class Sources(dict[str, Any]):
    """Sources of problems by name, each made once."""

    def __missing__(self, name: str) -> Any:
        self[name] = load(name)
        return self[name]


SOURCES = Sources()
ROLES_OF = {  # role: its share of the tokens, and how often a level comes against the level below it
    "verify": (0.06, 0.8),
    "score": (0.04, 0.8),
    "prefer": (0.06, 0.8),
    "revise": (0.04, 0.6),
    "propose": (0.05, 1.0),
}
WORLDS = {  # source: its share of the tokens
    "hops": 0.05,
    "claims": 0.05,
    "rewriting": 0.01,
    "forms": 0.02,
    "menus": 0.02,
    "shop": 0.02,
    "tables": 0.01,
    "inbox": 0.02,
    "cursor": 0.02,
    "asking": 0.02,
    "nim": 0.03,
    "hunt": 0.02,
}


def every_kind() -> dict[str, Kind]:
    """All that is written, by name."""
    families = family_names()
    kinds = {"solve": Kind(0.3, lambda level, draw: in_role("solve", draw.choice(families), level, draw))}
    for role, (share, rarer) in ROLES_OF.items():
        kinds[role] = Kind(share, lambda level, draw, role=role: in_role(role, draw.choice(families), level, draw), rarer=rarer)
    for name, share in WORLDS.items():
        kinds[name] = Kind(share, lambda level, draw, name=name: shown_how(name, level, draw), rarer=0.6)
    for name, share in {"text_to_sql": 0.06, "json_forms": 0.02}.items():
        kinds[name] = Kind(share, lambda level, draw, name=name: answered(name, level, draw), rarer=0.6)
    kinds["functions"] = Kind(0.12, programmed, rarer=0.6)
    return kinds


def programmed(level: int, draw: random.Random) -> Conversation:
    source = SOURCES[f"functions:{level}"]
    task = source.get("train", draw.getrandbits(40))
    return [Said(task.prompt, draw.choice(source.solutions(task)))]


def in_role(role: str, name: str, level: int, draw: random.Random) -> Conversation:
    family = SOURCES[f"{name}:{level}"]
    return [Said(*turn) for turn in ROLES[role](family, family.get("train", draw.getrandbits(40)), draw)]


def answered(name: str, level: int, draw: random.Random) -> Conversation:
    source = SOURCES[f"{name}:{level}"]
    task = source.get("train", draw.getrandbits(40))
    return [Said(task.prompt, source.solution(task))]


def shown_how(name: str, level: int, draw: random.Random) -> Conversation:
    source = SOURCES[f"{name}:{level}"]
    ask = Ask(source.get("train", draw.getrandbits(40)))
    world = source.home.open(ask, draw.getrandbits(40))
    view, turns = world.begin(), []
    while True:
        said = world.gold()
        turns.append(Said(view, said))
        observed = world.step(said)
        if observed.over:
            return turns
        view = observed.view


def conversations(seed: int, length_of: Callable[[Conversation], int]) -> Iterator[Conversation]:
    """Conversations without end. `length_of` counts tokens: a kind whose conversations are long comes less often, so that
    shares are of tokens."""
    kinds = every_kind()
    tried = random.Random(derive("lengths", 0))  # the same for every writer
    means = {
        name: sum(length_of(kind.written(tried)) for _ in range(TRIALS)) / TRIALS for name, kind in kinds.items()
    }
    odds = [kind.share / means[name] for name, kind in kinds.items()]
    draw = random.Random(derive("corpus", seed))
    while True:
        yield draw.choices(list(kinds.values()), odds)[0].written(draw)


TRIALS = 32
