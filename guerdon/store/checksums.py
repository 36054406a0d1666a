"""Checksums of all that a run writes: a file that is not as it was written is refused as damaged.

They are for accidents (a flipped bit, a lost block, an editor), not against forgers.
A line of events, a run.json and a file of evidence carry a CRC in themselves.
Folders of tensors have a manifest of SHA-256 beside them.
Files from before there were checksums carry none, and are read as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError

KEY = "sum"
SEAL = re.compile(rb', "sum": "([0-9a-f]{8})"\}')


class Damaged(UserError):
    """A file is not as it was written."""


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
    return {**value, KEY: _content_sum(value)}


def is_whole(value: Mapping[str, Any]) -> bool:
    """Whether an object says what it said when it was sealed; one that never was is believed."""
    return KEY not in value or value[KEY] == _content_sum(value)


def _content_sum(value: Mapping[str, Any]) -> str:
    rest = json.loads(json.dumps({k: v for k, v in value.items() if k != KEY}))
    return crc(json.dumps(rest, sort_keys=True).encode())


def file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_manifest(folder: Path, name: str) -> None:
    """The hashes of all files in a folder, in one of that name."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    hashes = {str(p.relative_to(folder)): file_hash(p) for p in files}
    (folder / name).write_text(json.dumps(hashes))


def manifest_fault(folder: Path, name: str, must: Iterable[str] = ()) -> str | None:
    """What is wrong with a folder by its manifest, which is to vouch for some files at least; None where nothing is."""
    try:
        manifest = json.loads((folder / name).read_text())
    except (OSError, ValueError, RecursionError):
        return "no readable manifest"
    if not isinstance(manifest, dict) or not manifest or not set(must) <= set(manifest):
        return "no whole manifest"
    for file, digest in manifest.items():
        if not (folder / file).is_file():
            return f"{file} is missing"
        if file_hash(folder / file) != digest:
            return f"{file} does not match its hash"
    return None
