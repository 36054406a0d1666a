"""Programs with one planted error each, which says where it is and what it is in plain words.

Errors of meaning are made in the composition and written in the same style as the right program, so that the first line that
differs is where the error is; errors of writing are made in the lines.
Leaves out: whether a hidden test sees an error (`function_tasks.py`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from guerdon.tasks.code.function_compositions import OPERATIONS, Composition
from guerdon.tasks.code.function_operations import Step
from guerdon.tasks.code.function_programs import STYLES, Lines, text_of
from guerdon.tasks.code.function_sources import SLIPS, SOURCES
from guerdon.tasks.family import NearMiss

OTHER_START = {"total = 0": "total = 1", "total = 1": "total = 0", "best = None": "best = 0", "text = ''": "text = ' '"}


@dataclass(frozen=True)
class FaultyProgram(NearMiss):
    """A program with one planted error. `step` is the number of its line, from 0, as in every near-miss; `says` explains the
    error in a line, where lines count from 1; `right` is the same program without the error.

    Args:
        text: the program.
        kind: name of the error.
        step: number of its line, from 0.
        says: the error in a sentence.
        right: the program without the error.

    >>> import random
    >>> import guerdon as gd
    >>> family = gd.tasks.functions(level=2)
    >>> fault = family.near_misses(family.get("train", 0), random.Random(0))[0]
    >>> fault.says.startswith(f"line {fault.step + 1} ")
    True
    """

    says: str = ""
    right: str = ""

    @property
    def mends_in_place(self) -> bool:
        """Whether one line is wrong and all others are right."""
        wrong, right = self.text.split("\n"), self.right.split("\n")
        return len(wrong) == len(right) and sum(a != b for a, b in zip(wrong, right, strict=True)) == 1


def planted_errors(
    composition: Composition, draw: random.Random, style: str
) -> Iterator[tuple[FaultyProgram, Composition | None]]:
    """Programs with an error, and the composition that each is right for, where there is one."""
    write = STYLES[style]
    right = write(composition)
    for kind, wrong, says in _meant(composition, draw):
        fault = _fault(right, write(wrong), kind, says)
        if fault is not None:
            yield fault, wrong
    for kind, lines, says in _written(right):
        fault = _fault(right, lines, kind, says)
        if fault is not None:
            yield fault, None


def _fault(right: Lines, wrong: Lines, kind: str, says: str) -> FaultyProgram | None:
    """Where two programs differ first."""
    for at, line in enumerate(wrong):
        if at >= len(right) or line != right[at]:
            return FaultyProgram(text_of(wrong), kind, at, f"line {at + 1} {says}", text_of(right))
    return None


def _meant(composition: Composition, draw: random.Random) -> Iterator[tuple[str, Composition, str]]:
    """Compositions with one step mistaken, forgotten or out of order."""
    steps, kinds = composition.steps, composition.kinds
    for at, step in enumerate(steps):
        said, operation = step.said(kinds[at]), step.operation
        for name, kind in operation.slips:
            other = OPERATIONS[name]
            if kinds[at] in other.on:
                constant = step.constant if step.constant in other.constants or step.constant == "k" else None
                wrong = Step(
                    other, constant if constant is not None or not other.constants else draw.choice(other.constants)
                )
                yield kind, composition.but(at, wrong), f"is wrong: it should {said}, not {wrong.said(kinds[at])}"
        if isinstance(step.constant, int):
            wrong = Step(operation, step.constant + draw.choice((-1, 1)))
            yield (
                "off by one",
                composition.but(at, wrong),
                f"has a wrong number: it should {said}, not {wrong.said(kinds[at])}",
            )
        if operation.slot == "give" or len(steps) == 1 or operation.to is not None:
            continue
        forgotten = "forgotten condition" if operation.slot == "keep" else "forgotten step"
        yield forgotten, composition.but(at), f"comes too early: the step to {said} is missing"
        after = steps[at + 1] if at + 1 < len(steps) else None
        is_spelled = kinds[at] != "numbers" and "change" in (operation.slot, after.operation.slot if after else "")
        if after is not None and after.operation.slot != "give" and after.operation.to is None and not is_spelled:
            swapped = Composition(composition.source, (*steps[:at], after, step, *steps[at + 2 :]))
            yield "wrong order", swapped, f"comes too early: first {said}, then {after.said(kinds[at])}"
    if composition.source.name in SLIPS:
        source = SOURCES[SLIPS[composition.source.name]]
        says = f"is wrong: it should {composition.source.words[0]}, not {source.words[0]}"
        yield "wrong operation", Composition(source, steps), says


def _written(right: Lines) -> Iterator[tuple[str, Lines, str]]:
    """Lines with one written wrong: what a loop begins with, and where it returns."""
    loops = [at for at, line in enumerate(right) if line.lstrip().startswith("for ")]
    for at, line in enumerate(right):
        start = line.strip()
        if start in OTHER_START:
            name, _, value = start.partition(" = ")
            other = OTHER_START[start]
            says = f"starts {name} wrong: it should be {value}, not {other.partition(' = ')[2]}"
            yield "wrong initial value", [*right[:at], f" {other}", *right[at + 1 :]], says
        if start.startswith("if ") and at + 1 < len(right) and start.endswith(":") and " == 0:" in start:
            yield (
                "wrong comparison",
                [*right[:at], line.replace(" == 0:", " == 1:"), *right[at + 1 :]],
                ("compares wrong: it should be == 0, not == 1"),
            )
    if loops and right[-1].startswith(" return ") and all(line.startswith("  ") for line in right[loops[-1] + 1 : -1]):
        says = "returns inside of the loop: it should return after it"
        yield "return inside of the loop", [*right[:-1], " " + right[-1]], says
