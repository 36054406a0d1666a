"""The Python of a composition, in three styles: one expression, a line a step, and loops.

Programs indent by one space a level, for small models' sake.
Leaves out: what compositions are (`function_compositions.py`), programs with errors (`function_faults.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from guerdon.tasks.code.function_compositions import Composition
from guerdon.tasks.code.function_operations import ELEMENTS, Kind, Step

Lines = list[str]
TAKES_A_GENERATOR = re.compile(r"^(sum|sorted|prod)\(\{xs\}\)$")
PROD = " from math import prod"  # no builtin
ATOM = re.compile(r"^\w+$")


def text_of(lines: Lines) -> str:
    return "\n".join(lines)


def as_expression(composition: Composition) -> Lines:
    """As few lines as it can be read in: elements are kept and changed in one comprehension."""
    names = ELEMENTS[composition.source.kind]
    lines, inner = [f"def f({composition.source.takes}):"], _Inner(composition.source.code, names[1])
    for step, kind in zip(composition.steps, composition.kinds, strict=False):
        operation = step.operation
        if operation.slot in ("keep", "change"):
            inner.add(step, ELEMENTS[kind][1])
            continue
        if operation.code.startswith("prod("):
            lines.append(PROD)
        if operation.code.count("{xs}") > 1 and not ATOM.match(inner.closed()):
            name = ELEMENTS[kind][0]
            _assign(lines, name, inner.closed())
            inner = _Inner(name, ELEMENTS[kind][1])
        bare = inner.closed()[1:-1] if inner.is_comprehension and TAKES_A_GENERATOR.match(operation.code) else ""
        inner = _Inner(step.coded(elements=bare or inner.closed()), ELEMENTS[kind][1])
    return [*lines, f" return {inner.closed()}"]


class _Inner:
    """An expression for a list, to which what keeps and changes elements is added as long as it fits into one comprehension."""

    def __init__(self, source: str, element: str) -> None:
        self.source, self.element = source, element
        self.value, self.conditions = element, list[str]()

    @property
    def is_comprehension(self) -> bool:
        return bool(self.conditions) or self.value != self.element

    def add(self, step: Step, element: str) -> None:
        if self.value != self.element:
            self.__init__(self.closed(), element)  # type: ignore[misc]
        self.element = self.value = element if not self.is_comprehension else self.element
        if step.operation.slot == "keep":
            self.conditions.append(step.coded(element=self.element))
        else:
            self.value = step.coded(element=self.element)

    def closed(self) -> str:
        if not self.is_comprehension:
            return self.source
        conditions = "".join(f" if {self.conditions[0]}" if self.conditions else "")
        conditions += "".join(f" and {condition}" for condition in self.conditions[1:])
        return f"[{self.value} for {self.element} in {self.source}{conditions}]"


def by_steps(composition: Composition) -> Lines:
    """A line a step."""
    lines, kinds = [f"def f({composition.source.takes}):"], composition.kinds
    name = ELEMENTS[kinds[0]][0]
    _assign(lines, name, composition.source.code)
    for at, step in enumerate(composition.steps):
        if step.operation.code.startswith("prod("):
            lines.append(PROD)
        value = _step_of(step, name, kinds[at])
        if step.operation.slot == "give":
            return [*lines, f" return {value}"]
        name = ELEMENTS[kinds[at + 1]][0]
        _assign(lines, name, value)
    return [*lines, f" return {name}"]


def _step_of(step: Step, name: str, kind: Kind) -> str:
    """One step on a list of that name, as an expression."""
    x = ELEMENTS[kind][1]
    if step.operation.slot == "keep":
        return f"[{x} for {x} in {name} if {step.coded(element=x)}]"
    if step.operation.slot == "change":
        return f"[{step.coded(element=x)} for {x} in {name}]"
    return step.coded(elements=name)


def in_loops(composition: Composition) -> Lines:
    """Elements are kept and changed in a loop, which also gathers the value where that can be done one by one."""
    lines, kinds, steps = [f"def f({composition.source.takes}):"], composition.kinds, composition.steps
    name, has_looped, at = ELEMENTS[kinds[0]][0], False, 0
    _assign(lines, name, composition.source.code)
    while at < len(steps):
        end = at
        while end < len(steps) and steps[end].operation.slot in ("keep", "change"):
            end += 1
        after = steps[end] if end < len(steps) else None
        if after is not None and after.operation.loop:
            return [*lines, *_gathered(after, name, steps[at:end], kinds[at])]
        if end == at:
            step = steps[at]
            if step.operation.slot == "give":
                return [*lines, f" return {_step_of(step, name, kinds[at])}"]
            _assign(lines, name, _step_of(step, name, kinds[at]))
            at += 1
        elif has_looped:
            _assign(lines, name, _step_of(steps[at], name, kinds[at]))
            at += 1
        else:
            lines += [" out = []", *_loop(steps[at:end], name, kinds[at], ("out.append({x})",))]
            name, has_looped, at = "out", True, end
    return [*lines, f" return {name}"]


def _gathered(step: Step, name: str, inner: list[Step] | tuple[Step, ...], kind: Kind) -> Lines:
    """A value gathered in a loop."""
    assert step.operation.loop is not None
    before, body, after = step.operation.loop
    k = step.constant if step.constant == "k" else repr(step.constant)
    written = tuple(line.replace("{k}", k) for line in body)
    return [*([f" {before}"] if before else []), *_loop(inner, name, kind, written), f" {after}"]


def _loop(steps: list[Step] | tuple[Step, ...], name: str, kind: Kind, body: tuple[str, ...]) -> Lines:
    """`for x in xs:`, a condition or a new value for each step, and what is done with the element in the end."""
    x = ELEMENTS[kind][1]
    value, lines, depth = x, [f" for {x} in {name}:"], 2
    for step in steps:
        if value != x:
            x = ELEMENTS[kind][1]
            lines.append(f"{' ' * depth}{x} = {value}")
        if step.operation.slot == "keep":
            value = x
            lines.append(f"{' ' * depth}if {step.coded(element=x)}:")
            depth += 1
        else:
            value = step.coded(element=x)
            kind = step.operation.to or kind
    uses = sum(line.count("{x}") for line in body)
    if (value != x and uses != 1) or (
        value != x and not ATOM.match(value) and "({x})" not in body[0] and "= {x}" not in body[0]
    ):
        x = ELEMENTS[kind][1]
        lines.append(f"{' ' * depth}{x} = {value}")
        value = x
    return [*lines, *(f"{' ' * depth}{line.replace('{x}', value)}" for line in body)]


def _assign(lines: Lines, name: str, value: str) -> None:
    if value != name:
        lines.append(f" {name} = {value}")


STYLES: dict[str, Callable[[Composition], Lines]] = {
    "loops": in_loops,
    "steps": by_steps,
    "expression": as_expression,
}
