"""JSON lines, one by one, and what is wrong with a bad line.

A line ends with a newline and with nothing else that Unicode takes for one: U+2028, U+0085 and form feeds are text.
What cannot be read at all (a folder, a pipe, UTF-16) is refused at once;
a line that cannot be read is a fault of that line, for the caller to refuse with all the others or to pass over.
Leaves out: what the values mean.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import math
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError

LONGEST = 16 << 20  # bytes of a line
DEEPEST = 64  # values inside of values: what is deeper, Python itself cannot copy
DIGITS = 4300  # of a whole number: Python reads no longer ones
SPACE = " \t\r\n"
BLANK = SPACE.encode()
BOM = b"\xef\xbb\xbf"
OTHERS = {  # how a file of another encoding begins
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
SPECIAL = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # how half a character is written, alone or beside its other half


@dataclass(frozen=True)
class JsonLine:
    """A line that is not blank: its value, or what is wrong with it. The last one may have no `end` yet."""

    number: int
    value: Any = None
    fault: str = ""
    ended: bool = True


@contextlib.contextmanager
def opened(path: Path, name: str) -> Iterator[io.BufferedReader]:
    """A plain file, open. Pipes and devices are refused: they may never end, and cannot be read twice."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind != stat.S_IFREG:
            raise UserError(f"cannot read {name}: it is {SPECIAL.get(kind, 'a device')}, not a plain file")
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error
    with file:
        yield file


def read_lines(path: Path, name: str) -> Iterator[JsonLine]:
    """The lines of a file, which is called `name` where it cannot be read."""
    with opened(path, name) as file:
        file.seek(where_text_begins(file.read(4), name))
        number = 0
        while text := file.readline(LONGEST + 1):
            number += 1
            if len(text) > LONGEST and not text.endswith(b"\n"):
                while (more := file.readline(LONGEST)) and not more.endswith(b"\n"):
                    pass
                yield JsonLine(number, fault=too_long())
            elif text.strip(BLANK):
                yield read_line(number, text)


def where_text_begins(head: bytes, name: str) -> int:
    """The place of a file's first character, from its first four bytes. Text in another encoding than UTF-8 is refused."""
    other = next((encoding for begin, encoding in OTHERS.items() if head.startswith(begin)), None)
    if other is None and b"\0" in head:
        other = "UTF-16"
    if other is not None:
        raise UserError(f"cannot read {name}: it is {other}, save it as UTF-8")
    return len(BOM) if head.startswith(BOM) else 0


def read_line(number: int, text: bytes, holes: bool = False) -> JsonLine:
    """A line that is not blank and not too long."""
    ended = text.endswith(b"\n")
    try:
        return JsonLine(number, value=parse(decoded(text).strip(SPACE), holes), ended=ended)
    except ValueError as error:
        return JsonLine(number, fault=str(error), ended=ended)


def decoded(text: bytes) -> str:
    """Bytes as text; a ValueError names the byte that is not."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte 0x{text[error.start]:02x} at {error.start}") from error


def too_long() -> str:
    """What is wrong with a row that is not read at all."""
    return f"longer than {LONGEST >> 20} MiB"


def parse(text: str, holes: bool = False) -> Any:
    """The value of one line; a ValueError has what is wrong with it. With `holes` NaN is read, as null."""
    try:
        value = _decoder(holes).decode(text)
        if HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg}") from error
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character, {error.object[error.start]!a}, is not text") from error
    except RecursionError as error:
        raise ValueError(f"more than {DEEPEST} values inside of each other") from error
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(value):
        raise ValueError(f"more than {DEEPEST} values inside of each other")
    return value


@functools.cache
def _decoder(holes: bool) -> json.JSONDecoder:
    constant = _hole if holes else _constant
    return json.JSONDecoder(object_pairs_hook=_object, parse_int=_whole, parse_float=_number, parse_constant=constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python would take the last of two values; which was meant is unknown."""
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = first_twice(name for name, _ in pairs)
        raise ValueError(f"the key {shown(twice)} occurs twice")
    return value


def first_twice(names: Iterable[str]) -> str | None:
    """The first of some names that was there before; None where each is there once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {shown(text)} is beyond all that a computer calculates with")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _hole(text: str) -> float | None:
    return None if text == "NaN" else _constant(text)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        held = [each for each in level if isinstance(each, dict | list)]
        if not held:
            return False
        level = [inner for each in held for inner in (each.values() if isinstance(each, dict) else each)]
    return True


def shown(value: Any) -> str:
    """A value of the file in a message: short, and with nothing in it that a terminal would obey."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
