"""A folder's manifest: the hashes of its files, written beside them, and what is wrong with a folder by its manifest.

For accidents (a flipped bit, a lost block, an editor), not against forgers.
Leaves out: checksums inside of files (`store/checksums.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from guerdon.core.errors import UserError


class Damaged(UserError):
    """A file is not as it was written."""


def file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_manifest(folder: Path, name: str, known: Mapping[str, str] | None = None) -> None:
    """The hashes of all files in a folder, in one of that name; those that are `known` are not computed."""
    files = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file()}
    hashes = {file: (known or {}).get(file) or file_hash(path) for file, path in files.items()}
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
