"""The head of a GGUF file, gone through before anything else reads it:
every count and length in it is checked against the file.

What reads such files takes counts at their word: one that lies would have it loop for ever, or ask for all memory.
Leaves out: what the values mean (`gguf.py`).
"""

from __future__ import annotations

import math
import mmap
import struct
from pathlib import Path

from guerdon.core.errors import UserError

MAGIC, VERSIONS = b"GGUF", (2, 3)
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number of each type
STRING, ARRAY = 8, 9
MOST_DIMENSIONS = 4
LARGEST = 1 << 40  # numbers of a tensor


class Broken(Exception):
    """What is wrong with the file."""


def check_header(path: Path) -> None:
    """Refuse a file whose head does not fit into it."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size < 24:
                raise Broken("it is cut off")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
                _Reader(held).whole()
    except Broken as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    except (OSError, struct.error) as error:
        raise UserError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is cut off'}") from error


class _Reader:
    def __init__(self, held: mmap.mmap) -> None:
        self.held, self.at = held, 0

    def whole(self) -> None:
        if self.held[:4] != MAGIC:
            raise Broken("it is not a GGUF file")
        self.at = 4
        version = self.number("<I")
        if version not in VERSIONS:
            raise Broken(f"it is of version {version} of that format, {VERSIONS[0]} and {VERSIONS[1]} are known")
        tensors, values = self.number("<Q"), self.number("<Q")
        self.fits(values, 13)
        self.fits(tensors, 25)
        for _ in range(values):
            self.text()
            self.value(self.number("<I"))
        for _ in range(tensors):
            self.tensor()

    def number(self, form: str) -> int:
        value: int = struct.unpack_from(form, self.held, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def fits(self, count: int, width: int) -> None:
        """Whether so many things of so many bytes can still follow."""
        if count * width > len(self.held) - self.at:
            raise Broken(f"it declares {count} things where {len(self.held) - self.at} bytes are left")

    def text(self) -> None:
        size = self.number("<Q")
        self.fits(size, 1)
        self.at += size

    def value(self, kind: int, inside: bool = False) -> None:
        if kind == STRING:
            self.text()
        elif kind == ARRAY and not inside:
            of, count = self.number("<I"), self.number("<Q")
            self.fits(count, WIDTHS.get(of, 8))
            if of in WIDTHS:
                self.at += count * WIDTHS[of]
                return
            for _ in range(count):
                self.value(of, inside=True)
        elif kind in WIDTHS:
            self.fits(1, WIDTHS[kind])
            self.at += WIDTHS[kind]
        else:
            raise Broken(f"it holds a value of type {kind}, which is not known" + (" in a list" if inside else ""))

    def tensor(self) -> None:
        self.text()
        count = self.number("<I")
        if not 1 <= count <= MOST_DIMENSIONS:
            raise Broken(f"it holds a tensor of {count} dimensions")
        shape = [self.number("<Q") for _ in range(count)]
        if not 0 < math.prod(shape) <= LARGEST:
            raise Broken(f"it holds a tensor of {'x'.join(map(str, shape))}")
        self.number("<I")
        if self.number("<Q") > len(self.held):
            raise Broken("it is cut off")
