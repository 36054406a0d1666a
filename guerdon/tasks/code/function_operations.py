"""What small functions are composed of: operations on a list, each with what it does, how it is written and how it is said.

An operation keeps some elements, changes each, works on the whole list, or gives a value from it. What it does (`run`) is
written beside what its Python is (`code`) and not made from it, so that each can be tested by the other.
Leaves out: where the list comes from (`function_sources.py`), and the tables themselves (`number_operations.py`,
`word_operations.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Slot = Literal["keep", "change", "whole", "give"]
Kind = Literal["numbers", "words", "letters"]
ELEMENTS: dict[Kind, tuple[str, str]] = {"numbers": ("xs", "x"), "words": ("ws", "w"), "letters": ("cs", "c")}


@dataclass(frozen=True)
class Operation:
    """One operation. `code` speaks of an element `{x}` (keep: a condition; change: a value) or of the list `{xs}`, and of a
    constant `{k}`, which is drawn from `constants`; `run` is the same in our own Python. `loop` is how a value is gathered in a
    loop: the line before it, the lines in it, the line after it. `slips` are operations it is easily mistaken for, with the
    name of that error. `rarity` is 1 for what easy levels use, up to 3."""

    name: str
    slot: Slot
    code: str
    run: Callable[[Any, Any], Any]
    words: tuple[str, ...]
    on: tuple[Kind, ...] = ("numbers",)
    to: Kind | None = None
    constants: tuple[Any, ...] = ()
    loop: tuple[str, tuple[str, ...], str] | None = None
    slips: tuple[tuple[str, str], ...] = ()
    rarity: int = 1


@dataclass(frozen=True)
class Step:
    """An operation with its constant: a value, or `"k"` where it is the function's second argument."""

    operation: Operation
    constant: Any = None

    def run(self, elements: list[Any], constant: Any) -> Any:
        """What it makes of a list; `constant` is what `"k"` is."""
        act, slot = self.operation.run, self.operation.slot
        k = constant if self.constant == "k" else self.constant
        if slot == "keep":
            return [x for x in elements if act(x, k)]
        if slot == "change":
            return [act(x, k) for x in elements]
        return act(elements, k)

    def coded(self, element: str = "", elements: str = "") -> str:
        """Its Python, of an element or of a list by these names."""
        k = self.constant if self.constant == "k" else repr(self.constant)
        return self.operation.code.format(x=element, xs=elements, k=k)

    def said(self, kind: Kind, wording: int = 0) -> str:
        """What it does, in words."""
        words = self.operation.words
        return words[wording % len(words)].format(k=self.constant, them=kind, one=kind[:-1])

    @property
    def told(self) -> list[Any]:
        return [self.operation.name, self.constant]
