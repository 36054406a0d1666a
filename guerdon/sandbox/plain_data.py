"""Plain data into text and back: what may pass between a box and the world, and between a program and its tests.

Plain is None, bool, int, float, complex, str, bytes, and lists, tuples, dicts, sets and frozensets of it. What comes out
of a box is read as hostile: its size, its depth and the number of its parts are bounded, and nothing in it can name a class.
Leaves out: pickles, in which whoever wrote them runs code.
"""

from __future__ import annotations

import collections
import json
import math
import os
import struct
from typing import Any

DEEPEST = 64
MOST_OF_ONE_HASH = 50
MOST_PARTS = 1_000_000
MOST_BYTES = 8 << 20
GIVE_BACK = ("sql", "queries", "call")  # kinds of request that a value comes back from
_SMALL = 1 << 53
_KINDS: tuple[tuple[type[Any], str], ...] = ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "z"))


class NotPlain(ValueError):
    """A value that is not plain data, or more of it than may pass. `part` is what is not plain."""

    part: Any = None


class OversizedData(NotPlain):
    """Plain data, but more or deeper than may pass."""


def plain_form(value: Any) -> Any:
    """A value as JSON can hold it; subclasses become what they are made of."""
    return _form(value, 0, [MOST_PARTS])


def _form(value: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth > DEEPEST:
        raise OversizedData(f"more than {MOST_PARTS:,} parts" if left[0] < 0 else f"nested deeper than {DEEPEST}")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        number = int.__int__(value)
        if number.bit_length() > 8 * MOST_BYTES // 4:
            raise OversizedData(f"a whole number of {number.bit_length():,} bits")
        return number if -_SMALL < number < _SMALL else ["i", hex(number)]
    if isinstance(value, float):
        decimal = float.__float__(value)
        return decimal if math.isfinite(decimal) else ["f", repr(decimal)]
    if isinstance(value, complex):
        return ["c", float.hex(value.real), float.hex(value.imag)]
    if isinstance(value, bytes | bytearray):
        return ["b", bytes(value).hex()]
    if isinstance(value, dict):
        return ["d", *(_form(part, depth + 1, left) for pair in dict.items(value) for part in pair)]
    for kind, mark in _KINDS:
        if isinstance(value, kind):
            return [mark, *(_form(part, depth + 1, left) for part in kind.__iter__(value))]
    odd = NotPlain(f"a {type(value).__name__} is not plain data (numbers, text, lists, tuples, dicts, sets)")
    odd.part = value
    raise odd


def plain_value(form: Any) -> Any:
    """The value that `plain_form` made the form of. Whatever else the form is, NotPlain."""
    try:
        return _value(form, 0, [MOST_PARTS])
    except NotPlain:
        raise
    except (ValueError, TypeError, OverflowError, MemoryError, RecursionError) as error:
        raise NotPlain(f"not a form of plain data: {type(error).__name__}") from None


def _value(form: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth > DEEPEST:
        raise NotPlain(f"more than {MOST_PARTS:,} parts" if left[0] < 0 else f"nested deeper than {DEEPEST}")
    if not isinstance(form, list):
        if form is None or isinstance(form, bool | int | float | str):
            return form
        raise NotPlain("not a form of plain data")
    mark, *parts = form
    if mark == "i":
        return int(_texts(parts, 1)[0], 16)
    if mark == "f":
        return float(*_texts(parts, 1))
    if mark == "c":
        return complex(*(float.fromhex(part) for part in _texts(parts, 2)))
    if mark == "b":
        return bytes.fromhex(*_texts(parts, 1))
    values = [_value(part, depth + 1, left) for part in parts]
    if mark == "d":
        if len(values) % 2:
            raise NotPlain("not a form of plain data")
        _refuse_one_hash(values[::2])
        return dict(zip(values[::2], values[1::2], strict=True))
    for kind, known in _KINDS:
        if mark == known:
            if kind in (set, frozenset):
                _refuse_one_hash(values)
            return values if kind is list else kind(values)
    raise NotPlain("not a form of plain data")


def _refuse_one_hash(keys: list[Any]) -> None:
    """A table of numbers that all have one hash takes hours to make."""
    if len(keys) > MOST_OF_ONE_HASH:
        most = max(collections.Counter(map(hash, keys)).values())
        if most > MOST_OF_ONE_HASH:
            raise NotPlain("keys that all have one hash")


def _texts(parts: list[Any], count: int) -> list[str]:
    if len(parts) != count or not all(isinstance(part, str) for part in parts):
        raise NotPlain("not a form of plain data")
    return parts


def to_json(value: Any) -> bytes:
    """What is said between the processes of a sandbox, as bytes."""
    text = json.dumps(value, separators=(",", ":")).encode()
    if len(text) > MOST_BYTES:
        raise OversizedData(f"{len(text):,} bytes, where {MOST_BYTES:,} may pass")
    return text


def write_all(end: int, data: bytes) -> None:
    """Write all of it, however often that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(end, view) :]


def send_frame(end: int, message: bytes) -> None:
    """A message behind its length."""
    write_all(end, struct.pack("<I", len(message)) + message)


def read_exactly(end: int, count: int) -> bytes:
    """So many bytes, or an EOFError where there are fewer."""
    parts = []
    while count:
        part = os.read(end, min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_frame(end: int, most: int = MOST_BYTES + (1 << 20)) -> bytes:
    """The next message; EOFError where the other side is gone, NotPlain where it is longer than may be."""
    (length,) = struct.unpack("<I", read_exactly(end, 4))
    if length > most:
        raise NotPlain(f"a message of {length:,} bytes, where {most:,} may pass")
    return read_exactly(end, length)
