"""What runs are known to have come to: those of evidence files, and those of this folder of runs.

A run is known by its key, which says what was computed by which code, and by its machine. So a lost run folder costs nothing,
and evidence that was made elsewhere is gone on with rather than made again.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.loop.proof.arms import machine
from guerdon.loop.proof.records import Record
from guerdon.store import evidence
from guerdon.store.checksums import KEY, is_whole, sealed
from guerdon.store.summary import same_form

LEDGER = "records.jsonl"


class Known:
    """Records by machine and key, as seen from one machine; new ones are written down at once."""

    def __init__(self, ledger: Path, records: Iterable[Record] = ()) -> None:
        self.ledger, self.machine = ledger, machine()
        self.by_machine: dict[str, dict[str, Record]] = {}
        for record in records:
            self._take(record)

    @classmethod
    def read(cls, runs: Path, *folders: Path) -> Known:
        """Of the ledger among the runs, and of all evidence in some folders."""
        records = [r for folder in folders if folder.is_dir() for r in _in_evidence(folder)]
        return cls(runs / LEDGER, [*records, *_in_ledger(runs / LEDGER)])

    def on(self, machine: str) -> Known:
        """The same as seen from another machine."""
        view = copy.copy(self)
        view.machine = machine
        return view

    @property
    def views(self) -> list[Known]:
        """From this machine, and from every other that something was run on."""
        return [self, *(self.on(name) for name in sorted(self.by_machine) if name != self.machine)]

    def _take(self, record: Record) -> None:
        if record.get("asked"):
            record = {**record, "asked": _by_form(record["asked"])}
        self.by_machine.setdefault(record["machine"], {})[record["key"]] = record

    def add(self, record: Record) -> None:
        self._take(record)
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        with self.ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps(sealed(dict(record))) + "\n")

    def get(self, key: str) -> Record | None:
        return self.by_machine.get(self.machine, {}).get(key)


def _by_form(asked: Mapping[str, int]) -> dict[str, int]:
    """How often each form was asked, where earlier runs told forms apart that are one."""
    count = Counter[str]()
    for form, n in asked.items():
        count[same_form(form)] += n
    return dict(count.most_common())


def _in_evidence(folder: Path) -> list[Mapping[str, Any]]:
    return [record for path in sorted(folder.glob("*.json")) for record in _in_file(path, _digest(path))]


def _digest(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:  # whoever reads it says so
        return b""


@functools.lru_cache(maxsize=1024)
def _in_file(path: Path, digest: bytes) -> tuple[Record, ...]:
    """The records of a file that says this: those of the package are asked for again and again, and never change."""
    try:
        proof = evidence.read(path.parent, path.stem)
    except UserError:  # of another edition, or damaged: it is made again
        return ()
    records: list[Record] = []
    for claim in proof.get("claims", ()):
        records += [run for arm in claim["arms"].values() for run in arm["runs"]]
        records += claim["tried"]
    return (*records, *proof.get("runs", ()))


def _in_ledger(path: Path) -> list[Mapping[str, Any]]:
    """Whole lines; the last one of a killed process may be torn."""
    records: list[Mapping[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and is_whole(record):
            records.append({k: v for k, v in record.items() if k != KEY})
    return records
