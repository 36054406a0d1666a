"""Checksums of all that a run writes: a file that is not as it was written is refused as damaged.

They are for accidents (a flipped bit, a lost block, an editor), not against forgers.
A line of events, a run.json and a file of evidence carry a CRC in themselves.
Folders of tensors have a manifest of SHA-256 beside them (`core/manifest.py`).
Files from before there were checksums carry none, and are read as they are.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

KEY = "sum"
SEAL = re.compile(rb', "sum": "([0-9a-f]{8})"\}')


def crc(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def seal_line(row: Mapping[str, Any]) -> bytes:
    """A JSON object on a line of its own (without its end), its last key the checksum of all that stands before it."""
    body = json.dumps(row)[:-1].encode()
    return body + b', "%s": "%s"}' % (KEY.encode(), crc(body).encode())


def line_sum(line: bytes) -> bool | None:
    """Whether a line is as it was sealed; None where it has no seal."""
    at = len(line) - 20  # the length of a seal
    seal = SEAL.fullmatch(line, max(at, 0))
    return None if seal is None else seal[1].decode() == crc(line[:at])


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the checksum of what it says as its last key: how it is laid out does not matter."""
    return {**value, KEY: _content_sum(json.loads(json.dumps(value)))}


def is_whole(value: Mapping[str, Any]) -> bool:
    """Whether an object, as it was read, says what it said when it was sealed; one that never was is believed."""
    return KEY not in value or value[KEY] == _content_sum(value)


def _content_sum(value: Mapping[str, Any]) -> str:
    return crc(json.dumps({k: v for k, v in value.items() if k != KEY}, sort_keys=True).encode())
