"""The proofs of many recipes in few files: verdicts in one that is installed, runs in those that are not.

A folder with a `verdicts.json` (`evidence/verdict_file.py`) has the runs of its proofs in `records/FAMILY.jsonl.xz`
(`evidence/record_files.py`), beside the package that the folder is in. Its hash stands in `verdicts.json`: a file that was not
written together with it is refused.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.evidence.brief import brief
from guerdon.evidence.record_files import ENDING, compressed, proof_in, text_in
from guerdon.evidence.record_files import text_of as text_of_records
from guerdon.evidence.verdict_file import NONE, Verdicts, read_verdicts
from guerdon.evidence.verdict_file import text_of as text_of_verdicts
from guerdon.runs.checksums import KEY, is_whole
from guerdon.runs.whole_files import put_aside, put_in_place, write_text

VERDICTS = "verdicts.json"
RECORDS = "records"


def packed(folder: Path) -> Verdicts:
    """The `verdicts.json` of a folder; without proofs where there is none."""
    path = folder / VERDICTS
    return _verdicts_in(path, digest_of(path)) if path.is_file() else NONE


@functools.lru_cache(maxsize=8)
def _verdicts_in(path: Path, digest: bytes) -> Verdicts:
    """The file, kept while it is unchanged: a listing asks for each of its proofs."""
    if (verdicts := read_verdicts(path.read_text(encoding="utf-8"))) is None:
        raise Damaged(
            f"{path} was damaged, changed by hand or written by another version of guerdon: put a copy of it back"
        )
    return verdicts


def read_packed(folder: Path, name: str) -> dict[str, Any]:
    """A proof of `verdicts.json` with every run."""
    verdicts = packed(folder)
    verdict = verdicts[name]
    proof = proof_in(_lines(folder, records_of(name, verdict), verdicts.records), name, verdict)
    if not is_whole(proof):
        raise Damaged(f"{folder / VERDICTS} and its runs do not make {name} as it was written: put copies of both back")
    return {k: v for k, v in proof.items() if k != KEY}


def records_of(name: str, proof: Mapping[str, Any]) -> str:
    """The file with the runs of a proof, or of a calibration, which has no family."""
    return f"{proof.get('family', name)}{ENDING}"


def _place(folder: Path) -> Path:
    return folder.resolve().parent.parent / RECORDS


def _lines(folder: Path, file: str, digests: Mapping[str, str]) -> list[str]:
    path = _place(folder) / file
    if not path.is_file():
        raise UserError(_told_missing(folder, [file]))
    digest = digest_of(path)
    if digest.hex() != digests.get(file):
        raise Damaged(
            f"{path} is not the file that {folder / VERDICTS} names: put back both, as they were written together"
        )
    return _lines_in(path, digest)


@functools.lru_cache(maxsize=8)
def _lines_in(path: Path, digest: bytes) -> list[str]:
    return text_in(path.read_bytes()).splitlines()


def digest_of(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:  # the reader reports it
        return b""


def missing_records(folder: Path, *names: str) -> str:
    """A line about the files with the runs of some proofs that are not there; empty where all are."""
    proofs = packed(folder).proofs
    files = {records_of(name, proofs[name]) for name in names if name in proofs}
    gone = sorted(file for file in files if not (_place(folder) / file).is_file())
    return _told_missing(folder, gone) if gone else ""


def _told_missing(folder: Path, files: Sequence[str]) -> str:
    many = len(files) > 1
    return (
        f"the package is installed without the runs of its evidence: {', '.join(files)} {'are' if many else 'is'} in {RECORDS}/"
        f" of Guerdon's repository, to be put in {_place(folder)}; without {'them' if many else 'it'} verdicts are shown, but"
        " cannot be recomputed, rehearsed or sampled, and no recorded run is reused"
    )


def pack(folder: Path, proofs: Mapping[str, Mapping[str, Any]]) -> None:
    """Put proofs among those of a folder's `verdicts.json`. Files with the runs of other families stay as they are."""
    before = packed(folder)
    verdicts = {name: before[name] for name in before.proofs} | {name: brief(proof) for name, proof in proofs.items()}
    files = {records_of(name, proof) for name, proof in proofs.items()}
    files |= {records_of(name, before.proofs[name]) for name in proofs if name in before.proofs}
    digests, aside = {file: digest for file, digest in before.records.items() if file not in files}, dict[Path, Path]()
    for file in sorted(files):
        path = _place(folder) / file
        members = [name for name, verdict in verdicts.items() if records_of(name, verdict) == file]
        if not members:
            continue
        text = text_of_records({name: proofs.get(name) or read_packed(folder, name) for name in members})
        data = path.read_bytes() if path.is_file() else b""
        if not data or text_in(data) != text:  # another xz may write other bytes of the same text
            data = compressed(text)
            aside[path] = put_aside(path, data)
        digests[file] = hashlib.sha256(data).hexdigest()
    for path, scratch in aside.items():
        put_in_place(scratch, path)
    write_text(folder / VERDICTS, text_of_verdicts(verdicts, dict(sorted(digests.items()))))
    for file in files - digests.keys():
        (_place(folder) / file).unlink(missing_ok=True)
