"""Ways to harm a file by bits and bytes, by lines, and by what JSON means; `formats.py` knows more of some formats.

Every mutator takes a seeded generator, the file and another file to splice from; what it returns differs from the file, or it
raises what says that the file is not of its kind.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from guerdon.runs.checksums import KEY, line_sum, seal_line, sealed

Mutator = Callable[[random.Random, bytes, bytes], bytes]

WHOLE = (0, 1, -1, 2, 7, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -(2**63))
RAW = (
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "1e-320",
    "0.5",
    "-0.0",
    "[" * 100_000,
    '{"a":' * 3000,
    '"\\ud800"',
    "\x00",
)
TEXTS = (
    "", " ", "\x1b[31mred\x1b[0m", "\u2028", "a\nb", "\x00", "evil.py:evil", "./evil.py", "evil.py", "/dev/zero", "pipe", "..",
    "../../../../etc/passwd", "tabular", "sprig", "x" * 100_000, "%s%n", "{{ 1/0 }}",
    "{% for i in range(10**9) %}x{% endfor %}", "null", "2", "int64", "F16", "BF16", "torch.int64", "torch.load",
    "100000000000x1024", "(((((((((((((((((((((((a+)+)+)+)+)+)+)+",
)  # fmt: skip


# --- bits and bytes ---------------------------------------------------------------------------------------------------


def _span(draw: random.Random, data: bytes) -> tuple[int, int]:
    """A stretch, short ones as likely as long ones."""
    begin = draw.randrange(len(data))
    return begin, min(len(data), begin + int(2 ** draw.uniform(0, max(1.0, len(data).bit_length()))))


def flip(draw: random.Random, data: bytes, other: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)
    return bytes(made)


def overwrite(draw: random.Random, data: bytes, other: bytes) -> bytes:
    begin, end = _span(draw, data)
    end = min(end, begin + 8)
    return data[:begin] + draw.randbytes(end - begin) + data[end:]


def truncate(draw: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: draw.choice((0, 1, len(data) - 1, draw.randrange(len(data)), draw.randrange(len(data))))]


def zero(draw: random.Random, data: bytes, other: bytes) -> bytes:
    begin, end = _span(draw, data)
    return data[:begin] + bytes(end - begin) + data[end:]


def cut(draw: random.Random, data: bytes, other: bytes) -> bytes:
    begin, end = _span(draw, data)
    return data[:begin] + data[end:]


def duplicate(draw: random.Random, data: bytes, other: bytes) -> bytes:
    begin, end = _span(draw, data)
    return data[:end] + data[begin:end] + data[end:]


def swap(draw: random.Random, data: bytes, other: bytes) -> bytes:
    a, b, c, d = sorted(draw.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def splice(draw: random.Random, data: bytes, other: bytes) -> bytes:
    begin, end = _span(draw, data)
    from_, to = _span(draw, other)
    return data[:begin] + other[from_:to] + data[end:]


def foreign(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """Another file in its place, or its beginning."""
    return draw.choice((other, other[: len(data)], data + other, draw.randbytes(64)))


BYTES: tuple[Mutator, ...] = (flip, flip, flip, overwrite, truncate, zero, cut, duplicate, swap, splice, foreign)


# --- lines ------------------------------------------------------------------------------------------------------------


def lines(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """Whole lines lost, written twice, in another order, or from elsewhere."""
    rows = data.split(b"\n")
    at, to = draw.randrange(len(rows)), draw.randrange(len(rows))
    match draw.randrange(5):
        case 0:
            del rows[at]
        case 1:
            rows.insert(to, rows[at])
        case 2:
            rows[at], rows[to] = rows[to], rows[at]
        case 3:
            rows.insert(at, draw.choice(other.split(b"\n")))
        case _:
            rows[at : at + 2] = [b"".join(rows[at : at + 2])]
    return b"\n".join(rows)


def json_line(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """One line that is JSON and says something else."""
    rows = data.split(b"\n")
    at = draw.choice([i for i, row in enumerate(rows) if row.strip()])
    rows[at] = json_value(draw, rows[at], other)
    return b"\n".join(rows)


LINES: tuple[Mutator, ...] = (lines, lines, json_line, json_line, json_line)


# --- JSON -------------------------------------------------------------------------------------------------------------


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        yield from _places(held, (*at, key))


def _get(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _of_another_type(draw: random.Random, held: Any) -> Any:
    kinds = [1, -1, 2.5, "2", "word", True, [], {}, [held], {"a": held}, [1, "2", None], str(held)]
    return draw.choice([k for k in kinds if type(k) is not type(held)])


def json_value(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """A key lost or added, a value of another type, null, a huge number, deep nesting, a text with something in it, two values
    in each other's place."""
    value = json.loads(data)
    every = list(_places(value))
    if not every:
        return draw.choice((b"null", b"[]", b"{}", b"1", b'"a"'))
    few = draw.choice([p for p in every if len(p) <= 2])  # what lies deep has many places, what decides few
    place = draw.choice((few, draw.choice(every)))
    holder, key = _get(value, place[:-1]), place[-1]
    raw = ""
    match draw.randrange(9):
        case 0:
            del holder[key]
        case 1:
            holder[key] = None
        case 2 | 3:
            holder[key] = _of_another_type(draw, holder[key])
        case 4:
            holder[key] = draw.choice(WHOLE)
        case 5:
            raw, holder[key] = draw.choice(RAW), "\x00here"
        case 6:
            holder[key] = draw.choice(TEXTS)
        case 7:
            holder[key] = _get(value, draw.choice(every))
        case _:
            if isinstance(holder, dict):
                holder[draw.choice(("auto_map", "__class__", "type", "", "n" * 300))] = draw.choice(
                    (None, "evil.py:evil", {}, 3)
                )
            else:
                holder.extend([holder[key]] * draw.choice((1, 1000)))
    made = json.dumps(value, indent=2 if b"\n" in data.strip() else None)
    return (made.replace('"\\u0000here"', raw) if raw else made).encode("utf-8", "surrogatepass") + data[
        len(data.rstrip()) :
    ]


def json_root(draw: random.Random, data: bytes, other: bytes) -> bytes:
    return draw.choice(
        (b"null", b"[]", b"{}", b"7", b'"text"', b"[" * 100_000, b"\xef\xbb\xbf" + data, b'{"a": NaN}', data + data)
    )


JSON: tuple[Mutator, ...] = (json_value,) * 8 + (json_root,)


# --- what is sealed ---------------------------------------------------------------------------------------------------


def other_config(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """A run.json that says something else, with the checksum of that or none: changed by hand as we say, or by a stranger."""
    config = {k: v for k, v in json.loads(data).items() if k != KEY}
    made = json.loads(json_value(draw, json.dumps(config).encode(), other))
    return json.dumps(sealed(made) if draw.random() < 0.5 else made, indent=2).encode()


def other_line(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """An event that says something else and has the checksum of that; or in a log from before there were any."""
    rows = [json.loads(line) for line in data.splitlines() if line_sum(line)]
    for row in rows:
        del row[KEY]
    at = draw.randrange(len(rows))
    rows[at] = json.loads(json_value(draw, json.dumps(rows[at]).encode(), other))
    if draw.random() < 0.5:
        return b"".join(seal_line(row) + b"\n" for row in rows)
    return b"".join(json.dumps({k: v for k, v in row.items() if k != "line"}).encode() + b"\n" for row in rows)
