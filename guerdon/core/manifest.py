"""A folder's manifest: the hashes of its files, written beside them, and what is wrong with a folder by its manifest.

For accidents (a flipped bit, a lost block, an editor), not against forgers.
Leaves out: checksums inside of files (`runs/checksums.py`).
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from guerdon.core.errors import UserError

OWNER = "(run)"  # in a manifest, the id of the run that its files are of; no file has such a name


class Damaged(UserError):
    """A file is not as it was written."""


def read_regular(path: Path) -> bytes:
    """The content of a file. A pipe, which may never be written to, or a device, which may never end, is an OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path.name} is not a regular file")
    return path.read_bytes()


def file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_manifest(folder: Path, name: str, known: Mapping[str, str] | None = None, owner: str = "") -> None:
    """The hashes of all files in a folder, in one of that name; those that are `known` are not computed. `owner` is the id of
    the run that they are of."""
    files = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file()}
    hashes = {file: (known or {}).get(file) or file_hash(path) for file, path in files.items()}
    (folder / name).write_text(json.dumps(hashes | ({OWNER: owner} if owner else {})))


def manifest_owner(folder: Path, name: str) -> str:
    """The id of the run that the files of a folder are of, by its manifest; empty where it has none."""
    try:
        return str(json.loads(read_regular(folder / name)).get(OWNER, ""))
    except (OSError, ValueError, RecursionError, AttributeError):
        return ""


def manifest_fault(folder: Path, name: str, must: Iterable[str] = ()) -> str | None:
    """What is wrong with a folder by its manifest, which is to vouch for some files at least; None where nothing is."""
    try:
        manifest = json.loads(read_regular(folder / name))
    except (OSError, ValueError, RecursionError):
        return "no readable manifest"
    if not isinstance(manifest, dict) or not manifest or not set(must) <= set(manifest):
        return "no whole manifest"
    for file, digest in manifest.items():
        if file == OWNER:
            continue
        if not (folder / file).is_file():
            return f"{file} is missing"
        if file_hash(folder / file) != digest:
            return f"{file} does not match its hash"
    return None
