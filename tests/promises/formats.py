"""Ways to harm a file by what its format means: safetensors, GGUF, Parquet and chat templates."""

from __future__ import annotations

import io
import json
import random
import struct

from mutators import TEXTS, WHOLE, Mutator, json_value

# --- safetensors ------------------------------------------------------------------------------------------------------


def safetensors_header(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """The length of the header, its JSON, or a tensor's type, shape and place."""
    (size,) = struct.unpack("<Q", data[:8])
    if draw.random() < 0.2:
        lied = draw.choice((0, 1, size - 1, size + 1, len(data), 2**31, 2**40, 2**63, 2**64 - 1))
        return struct.pack("<Q", lied) + data[8:]
    header = json.loads(data[8 : 8 + size])
    name = draw.choice([n for n in header if n != "__metadata__"])
    said = header[name]
    match draw.randrange(6):
        case 0:
            said["dtype"] = draw.choice(("F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "X", ""))
        case 1:
            said["shape"] = draw.choice(
                ([], [0], [-1], [2**40, 2**40], said["shape"][::-1], [1, *said["shape"]], [2**63])
            )
        case 2:
            begin, end = said["data_offsets"]
            said["data_offsets"] = draw.choice(
                ([0, 0], [end, begin], [begin + 4, end + 4], [begin, 2**62], [0, end], [-4, 0])
            )
        case 3:
            header[draw.choice(list(header))] = header.pop(name)
        case 4:
            header[draw.choice(("x", name[:-1], name.upper(), ""))] = header.pop(name)
        case _:
            made = json_value(draw, json.dumps(header).encode(), other)
            return struct.pack("<Q", len(made)) + made + data[8 + size :]
    made = json.dumps(header).encode()
    return struct.pack("<Q", len(made)) + made + data[8 + size :]


def safetensors_numbers(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """Weights that are no numbers, or hardly."""
    (size,) = struct.unpack("<Q", data[:8])
    room = (len(data) - 8 - size) // 4
    count, at = draw.choice((1, 8, room)), 8 + size
    first = draw.randrange(max(1, room - count + 1))
    number = struct.pack("<f", draw.choice((float("nan"), float("inf"), -float("inf"), 1e38, 1e-45, 0.0)))
    return data[: at + 4 * first] + number * count + data[at + 4 * (first + count) :]


SAFETENSORS: tuple[Mutator, ...] = (safetensors_header,) * 6 + (safetensors_numbers,)


# --- GGUF -------------------------------------------------------------------------------------------------------------

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number, by its type
STRING, ARRAY = 8, 9


def gguf_places(data: bytes) -> list[tuple[int, int]]:
    """Where the header's numbers lie and how long each is: counts, lengths of names, types, values, dimensions, offsets."""
    found = [(0, 4), (4, 4), (8, 8), (16, 8)]
    tensors, fields = struct.unpack_from("<QQ", data, 8)
    at = 24

    def skip(size: int) -> int:
        nonlocal at
        found.append((at, size))
        at += size
        return int.from_bytes(data[at - size : at], "little")

    def text() -> None:
        nonlocal at
        at += skip(8)

    def value(kind: int, listed: bool = False) -> None:
        nonlocal at
        if kind == STRING:
            text()
        elif kind == ARRAY:
            inner, count = skip(4), skip(8)
            for _ in range(count):
                value(inner, True)
        elif listed:
            at += SIZES[kind]
        else:
            skip(SIZES[kind])

    for _ in range(fields):
        text()
        value(skip(4))
    for _ in range(tensors):
        text()
        for _ in range(skip(4)):
            skip(8)
        skip(4)
        skip(8)
    return found


def gguf_header(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """A number of the header that says something else."""
    places = gguf_places(data)
    at, size = draw.choice((draw.choice(places), draw.choice(places[:4]), draw.choice(places[-60:])))
    old = int.from_bytes(data[at : at + size], "little")
    new = draw.choice(
        (0, 1, old + 1, max(0, old - 1), 2 * old, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1, draw.randrange(16))
    )
    return data[:at] + (new % 256**size).to_bytes(size, "little") + data[at + size :]


GGUF: tuple[Mutator, ...] = (gguf_header,) * 8


# --- Parquet ----------------------------------------------------------------------------------------------------------


def parquet_rewritten(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """A whole valid file with other metadata, without a column, with another value or in another order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    meta = table.schema.metadata
    name = draw.choice(table.column_names)
    at = table.column_names.index(name)
    column = table.column(name)
    match draw.randrange(6):
        case 0 | 1:
            meta = {b"guerdon": json_value(draw, meta[b"guerdon"], other)}
        case 2:
            table = table.drop_columns([name])
        case 3:
            rows = [draw.randrange(table.num_rows) for _ in range(draw.randrange(2 * table.num_rows))]
            table = table.take(pa.array(rows, pa.int64()))  # of none as well
        case 4:
            table = table.set_column(at, name, pa.nulls(table.num_rows, column.type))
        case _:
            odd = draw.choice(([draw.choice(TEXTS)], [draw.choice(WHOLE[:9])], [[]], [[1, 2, 3]], [{"a": 1}], [True]))
            table = table.set_column(at, name, pa.array(odd * table.num_rows))
    made = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(meta), made, compression="zstd")
    return made.getvalue()


# --- chat templates ---------------------------------------------------------------------------------------------------

SNIPPETS = (
    "{{ 1/0 }}", "{{ messages[99] }}", "{{ nobody.knows }}", "{% for i in range(10**7) %}x{% endfor %}",
    "{{ 'x' * 10**9 }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{% include 'evil.py' %}",
    "{{ cycler.__init__.__globals__.os.system('touch ran') }}", "{{ raise_exception('no\nway') }}",
    "{{ messages | tojson }}", "{{ 10 ** 10 ** 8 }}", "{{ range(10**12) | list }}", "{% if",
    "{{ '%999999999d' % 3 }}", "{{ '\x1b[2J' }}", "{{ messages[0].pop('role') }}",
    "{{ strftime_now('%Y' * 100000) }}", "{{ messages | map(attribute='content') | join(' ') | upper }}",
    "{% set messages = 3 %}", "{{ messages[0]['content'] | reverse }}", "{% while true %}", "{% extends 'a' %}",
    "{{ lipsum(n=10000) }}", "{{ namespace() }}", "{{ messages[0].content.format(messages[0]) }}",
    "{{ '{0.__class__}'.format(1) }}", "{{ [].append }}", "{{ eos_token * 3 }}",
    "{% for a in range(3000) %}{% for b in range(3000) %}{% endfor %}{% endfor %}", "{{ messages | sort }}",
    "{{ ('(' * 5000) }}", "{{ " + "(" * 500, "{{ 'a' | center(10**10) }}", "{{ 'a'.ljust(10**10) }}",
    "{{ 'abc' | replace('', 'x' * 10**6) }}", "{{ 7 | pprint }}", "{{ 2 | xmlattr }}",
)  # fmt: skip


def template(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """A snippet put between two statements, in place of one, or around them."""
    text, snippet = data.decode(), draw.choice(SNIPPETS)
    edges = [
        i for i in range(len(text) + 1) if text[i : i + 2] in ("{{", "{%") or text[max(0, i - 2) : i] in ("}}", "%}")
    ]
    a, b = sorted(draw.choice(edges) for _ in range(2))
    made = draw.choice(
        (text[:a] + snippet + text[a:], text[:a] + snippet + text[b:], snippet, snippet + text, text + snippet)
    )
    return made.encode()


TEMPLATE: tuple[Mutator, ...] = (template,) * 16
