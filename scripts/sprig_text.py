"""The text that the built-in model learns from: conversations of many kinds, written without end by our own generators.

A kind is something that the model should be able to do: solve a family's problems, play a role on them, act in a world.
Each has its share of the tokens. Hard levels are done as carefully as easy ones, only more rarely: what is hard for the model
is what is long and what it has seen little of. Judges see more of the hard levels, and problems are proposed at all levels
alike. Nothing is ever written about a held-out problem.
Leaves out: what is said about the model's own attempts (`own_attempts.py`), tokens and training (`train_sprig.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from guerdon.core.seeds import derive
from guerdon.core.task import Ask
from guerdon.envs.gold_turns import gold_turns
from guerdon.envs.people.retries import with_feedback
from guerdon.envs.tools.calculator_gold import BY_CALCULATOR
from guerdon.envs.tools.program_gold import BY_PROGRAM
from guerdon.tasks.field import reflections
from guerdon.tasks.role_tasks import ROLES
from guerdon.tasks.solution_lengths import lengths
from guerdon.tasks.task_loading import family_names, load

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

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def __missing__(self, name: str) -> Any:
        self[name] = load(name, **self.settings)
        return self[name]


SOURCES, PLAIN = Sources(), Sources(checker="plain")  # our own programs need no box
IN_FULL = 0.85  # of all solutions; the others are of a length drawn at random
JUDGED = {  # what is said about attempts: its share of the tokens
    "verify": 0.05,
    "prefer": 0.05,
    "critique": 0.04,
    "score": 0.03,
    "revise": 0.03,
    "rubric": 0.03,
    "reasons": 0.03,
}
MADE = {"propose": 0.03, "rewrite": 0.02}
WITH_TOOLS = {
    "calculator": (0.04, ("countdown", "countdown", "equation", "chain", *BY_CALCULATOR)),
    "python": (0.02, ("counting", "counting", "counting", *BY_PROGRAM)),
}
WORLDS = {
    "hops": 0.05,
    "claims": 0.05,
    "rewriting": 0.01,
    "forms": 0.03,
    "menus": 0.03,
    "shop": 0.03,
    "tables": 0.02,
    "inbox": 0.03,
    "cursor": 0.01,
    "asking": 0.025,
    "nim": 0.03,
    "hunt": 0.01,
    "repairs": 0.03,
    "text_to_sql": 0.03,
    "json_forms": 0.01,
}
DEBUGGED = {"debug": 0.015, "fix": 0.01, "reflect": 0.015}


def every_kind() -> dict[str, Kind]:
    """All that is written, by name."""
    kinds = {
        "solve": Kind(0.22, solved, rarer=0.4),
        "planned": Kind(0.015, planned, rarer=0.4),
        "again": Kind(0.02, tried_again, rarer=0.4),
        "functions": Kind(0.06, programmed, rarer=0.42),
    }
    for role, share in {**JUDGED, **MADE}.items():
        rarer = 1.0 if role in MADE else 0.4 if role == "revise" else 0.6
        kinds[role] = Kind(share, partial(in_role, role), rarer=rarer)
    for tool, (share, names) in WITH_TOOLS.items():
        kinds[tool] = Kind(share, partial(with_tool, tool, names), rarer=0.35 if tool == "python" else 0.7)
    for name, share in WORLDS.items():
        rarer = 0.33 if name == "text_to_sql" else 0.6
        kinds[name] = Kind(
            share, partial(acted, name), levels=range(1, 7) if name == "repairs" else LEVELS, rarer=rarer
        )
    for role, share in DEBUGGED.items():
        kinds[role] = Kind(share, partial(debugged, role), rarer=0.42)
    return kinds


def solved(level: int, draw: random.Random) -> Conversation:
    family = SOURCES[f"{draw.choice(family_names())}:{level}"]
    task = family.get("train", draw.getrandbits(40))
    return [Said(task.prompt, family.solution(task) if draw.random() < IN_FULL else lengths(family, task, draw))]


def in_role(role: str, level: int, draw: random.Random) -> Conversation:
    family = SOURCES[f"{draw.choice(family_names())}:{level}"]
    write = ROLES[role].talk
    return [Said(*turn) for turn in write(family, family.get("train", draw.getrandbits(40)), draw)]


def with_tool(tool: str, names: Sequence[str], level: int, draw: random.Random) -> Conversation:
    return acted(f"{tool}/{draw.choice(names)}", level, draw)


def acted(name: str, level: int, draw: random.Random) -> Conversation:
    """A world, as one who knows everything acts in it."""
    source = SOURCES[f"{name}:{level}"]
    task = source.get("train", draw.getrandbits(40))
    return [Said(*turn) for turn in gold_turns(source, task, seed=draw.getrandbits(40))]


def planned(level: int, draw: random.Random) -> Conversation:
    """A plan, or what is done by one."""
    source = SOURCES[f"planned:{draw.choice(family_names())}:{level}"]
    task = source.get("train", draw.getrandbits(40))
    return [Said(*turn) for turn in gold_turns(source, task, role=draw.choice(("planner", "policy")))]


def tried_again(level: int, draw: random.Random) -> Conversation:
    """A wrong attempt, a word on it, and the right solution."""
    family = SOURCES[f"{draw.choice(family_names())}:{level}"]
    task = family.get("train", draw.getrandbits(40))
    world = with_feedback(family, draw.choice(("verdict", "line")))
    wrong = draw.choice(family.near_misses(task, draw)).text
    return [Said(task.prompt, "", wrong), Said(world.again(Ask(task), wrong), family.solution(task))]


def programmed(level: int, draw: random.Random) -> Conversation:
    source = SOURCES[f"functions:{level}"]
    task = source.get("train", draw.getrandbits(40))
    return [Said(task.prompt, draw.choice(source.solutions(task)))]


def debugged(role: str, level: int, draw: random.Random) -> Conversation:
    """A wrong program put right. Where one reflects on one's own, the first that is wrong is given: nobody should learn it."""
    source = PLAIN[f"functions:{level}"]
    [(view, reply)] = getattr(reflections, role)(source, source.get("train", draw.getrandbits(40)), draw)
    at = reply.find(f"\n{reflections.MARK}") + 1 if role == "reflect" else 0
    return [Said(view, reply[at:], reply[:at])]


def conversations(seed: int, length_of: Callable[[Conversation], int]) -> Iterator[Conversation]:
    """Conversations of every kind without end."""
    return of_kinds(every_kind(), seed, length_of)


def of_kinds(kinds: Mapping[str, Kind], seed: int, length_of: Callable[[Conversation], int]) -> Iterator[Conversation]:
    """Conversations without end. `length_of` counts tokens: a kind whose conversations are long comes less often, so that
    shares are of tokens."""
    tried = random.Random(derive("lengths", 0))  # the same for every writer
    means = {name: sum(length_of(kind.written(tried)) for _ in range(TRIALS)) / TRIALS for name, kind in kinds.items()}
    odds = [kind.share / means[name] for name, kind in kinds.items()]
    draw = random.Random(derive("corpus", seed))
    while True:
        yield draw.choices(list(kinds.values()), odds)[0].written(draw)


TRIALS = 32
