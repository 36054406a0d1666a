"""Which problems of an exam were solved, in few characters: what two exams of the same problems are compared by."""

from __future__ import annotations

from collections.abc import Iterable


def written(right: Iterable[bool]) -> str:
    """A digit for four problems, after how many problems there are.

    >>> written([True, False, False, True, True])
    '5:98'
    """
    bits = "".join("1" if each else "0" for each in right)
    filled = bits + "0" * (-len(bits) % 4)
    return f"{len(bits)}:{int(filled or '0', 2):0{len(filled) // 4}x}"


def read(text: str) -> list[bool]:
    """The problems again, one by one.

    >>> read("5:98")
    [True, False, False, True, True]
    """
    size, _, digits = text.partition(":")
    bits = f"{int(digits, 16):0{4 * len(digits)}b}"
    return [bit == "1" for bit in bits[: int(size)]]
