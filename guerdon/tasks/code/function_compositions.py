"""Small functions as compositions: a source and steps, drawn by level, run in our own Python, and said in words.

Two compositions that do the same to a fixed set of arguments are one and the same, however they are made and said
(`behaviour`); that decides which are held out.
Leaves out: their Python text (`function_programs.py`), hidden tests (`function_tasks.py`).
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.tasks.code import number_operations, word_operations
from guerdon.tasks.code.function_operations import Kind, Operation, Step
from guerdon.tasks.code.function_sources import SOURCES, Source

OPERATIONS = {operation.name: operation for operation in (*number_operations.OPERATIONS, *word_operations.OPERATIONS)}
LISTS, TEXTS, MORE = ("list",), ("list", "list", "words", "letters"), ("list_and_number", "digits", "up_to", "divisors")
PAIRS = ("sums", "products", "shared", "missing", "chained")
LEVELS: dict[int, tuple[tuple[int, ...], int, tuple[str, ...]]] = {  # level: how many steps, how rare, and from what
    1: ((1,), 1, LISTS),
    2: ((2,), 1, LISTS),
    3: ((2, 3), 2, TEXTS),
    4: ((3,), 2, (*TEXTS, *MORE)),
    5: ((3, 4), 3, (*TEXTS, *MORE, *PAIRS)),
    6: ((4,), 3, (*TEXTS, *MORE, *PAIRS)),
    7: ((4, 5), 3, (*TEXTS, *MORE, *PAIRS)),
    8: ((5, 6), 3, (*TEXTS, *MORE, *PAIRS)),
}
HARD = 3  # probes, the last ones
MOST_ALIKE = 8  # of 11 probes that may give the same
LARGEST = 10**12  # what a function may give
# What makes an order, and what does not hang on the one it finds.
ORDERS = {"sorted", "sorted_down", "reversed", "by_length"}
DISORDERLY = {
    operation.name for operation in OPERATIONS.values() if operation.slot in ("keep", "change")
} | {*ORDERS, "distinct", "not_largest", "not_smallest", "sum", "count", "product", "largest", "smallest", "spread",
    "different", "mean", "all_even", "any_even", "all_odd", "all_above", "any_above", "has", "no_repeats"}  # fmt: skip
RETURNED = ("return them", "give the list", "return the list")
FRAMES = (
    ("write f({}): ", ", ", ", then "),
    ("f({}) should ", ", ", " and last "),
    ("define f({}). ", "; ", "; last "),
)


@dataclass(frozen=True)
class Composition:
    """What a function does: a source, and steps one after the other."""

    source: Source
    steps: tuple[Step, ...]

    @property
    def kinds(self) -> list[Kind]:
        """What the list holds before each step, and after the last."""
        kinds = [self.source.kind]
        for step in self.steps:
            kinds.append(step.operation.to or kinds[-1])
        return kinds

    @property
    def gives(self) -> bool:
        """Whether it gives one value, not a list."""
        return self.steps[-1].operation.slot == "give"

    def run(self, arguments: Sequence[Any]) -> Any:
        """What the function gives."""
        value: Any = self.source.run(*arguments)
        for step in self.steps:
            value = step.run(value, arguments[-1])
        return list(value) if value is arguments[0] and type(value) is list else value

    def but(self, at: int, *steps: Step) -> Composition:
        """The same with other steps in the place of one."""
        return Composition(self.source, (*self.steps[:at], *steps, *self.steps[at + 1 :]))

    def told(self) -> dict[str, Any]:
        return {"source": self.source.name, "steps": [step.told for step in self.steps]}

    def said(self, draw: random.Random) -> str:
        """The specification, in one of many wordings."""
        kinds = self.kinds
        said = [step.said(kind, draw.randrange(6)) for step, kind in zip(self.steps, kinds, strict=False)]
        if self.source.words:
            said.insert(0, draw.choice(self.source.words))
        if not self.gives:
            said.append(draw.choice(RETURNED))
        head, between, last = draw.choice(FRAMES)
        return head.format(self.source.takes) + between.join(said[:-1]) + (last if said[:-1] else "") + said[-1] + "."


def composition_of(told: dict[str, Any]) -> Composition:
    """The composition that `told` wrote."""
    return Composition(
        SOURCES[told["source"]], tuple(Step(OPERATIONS[name], constant) for name, constant in told["steps"])
    )


@functools.cache
def choices(kind: Kind, slot: str, rarity: int) -> tuple[Operation, ...]:
    return tuple(o for o in OPERATIONS.values() if kind in o.on and o.slot == slot and o.rarity <= rarity)


def drawn_composition(draw: random.Random, level: int) -> Composition:
    """A composition of a level. Rare operations come as often as common ones from where they are allowed."""
    counts, rarity, sources = LEVELS[level]
    source = SOURCES[draw.choice(sources)]
    count, kind = draw.choice(counts), source.kind
    gives = draw.random() < (0.5 if count == 1 else 0.8)
    steps: list[Step] = []
    slots = ["keep", "change", "keep", "whole", "change", "whole"][: 6 if count > 1 else 4]
    while len(steps) < count:
        slot = "give" if gives and len(steps) == count - 1 else draw.choice(slots)
        operation = draw.choice(choices(kind, slot, rarity))
        if any(step.operation is operation for step in steps):
            continue
        if slot == "keep" and count > 1:
            slots.remove("keep")  # twice at most: what is kept twice is little
        elif slot == "change" and kind != "numbers" and operation.to is None:
            slots = ["whole"]  # elements are no longer plain words or letters
        constant = draw.choice(operation.constants) if operation.constants else None
        if constant is not None and source.name == "list_and_number" and draw.random() < 0.7:
            constant = "k"
        steps.append(Step(operation, constant))
        kind = operation.to or kind
    return Composition(source, tuple(steps))


@functools.cache
def probes(source: str) -> tuple[tuple[Any, ...], ...]:
    """The arguments that distinguish compositions."""
    draw = random.Random(f"probes of {source}")
    return tuple(tuple(SOURCES[source].draw(draw, place)) for place in (0, 1, 3, 3, 4, 5, 6, 7, 8, 9, 8))


def acts(composition: Composition) -> bool:
    """Whether every step matters to a hard probe, so that a program without it is wrong."""
    steps = composition.steps
    if composition.source.takes == "xs, k" and all(step.constant != "k" for step in steps):
        return False
    for at, step in enumerate(steps):
        if step.operation.name in ORDERS and composition.gives and _is_needless(steps[at + 1 :]):
            return False
    hardest = probes(composition.source.name)[-HARD:]
    before = [[composition.source.run(*probe) for probe in hardest]]
    for step in steps:
        values = [step.run(elements, probe[-1]) for elements, probe in zip(before[-1], hardest, strict=True)]
        if values == before[-1] or (step.operation.slot != "give" and not any(len(each) > 1 for each in values)):
            return False
        before.append(values)
    return all(
        step.operation.slot == "give"
        or step.operation.to is not None
        or _differs(steps[at + 1 :], before[at], hardest, values)
        for at, step in enumerate(steps[:-1])
    )


def _is_needless(steps: Sequence[Step]) -> bool:
    """Whether an order is lost on what follows."""
    return all(step.operation.name in DISORDERLY for step in steps)


def _differs(rest: Sequence[Step], lists: list[Any], some: Sequence[Any], values: list[Any]) -> bool:
    """Whether the rest of the steps, from these lists on, give anything but these values."""
    for elements, probe, value in zip(lists, some, values, strict=True):
        for step in rest:
            elements = step.run(elements, probe[-1])
        if elements != value:
            return True
    return False


def behaviour(composition: Composition) -> list[Any]:
    """What it does to the probes: the same for compositions that no probe distinguishes."""
    return [composition.run(probe) for probe in probes(composition.source.name)]


def is_sound(values: list[Any]) -> bool:
    """Whether a behaviour is not nearly always the same, and stays small."""
    return max(map(values.count, values[:3] + values[-1:])) <= MOST_ALIKE and not any(map(_is_large, values))


def _is_large(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(isinstance(each, int) and abs(each) > LARGEST for each in values)
