"""What runs are known to have come to: those of evidence files, and those of this folder of runs.

A run is known by its key, which says what was computed by which code, and by its machine. So a lost run folder costs nothing,
and evidence that was made elsewhere is gone on with rather than made again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.loop.proof.arms import machine
from guerdon.store import evidence
from guerdon.store.checksums import KEY, is_whole, sealed

LEDGER = "records.jsonl"


class Known:
    """Records by key and machine; new ones are written down at once."""

    def __init__(self, ledger: Path, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.ledger = ledger
        self.by_key: dict[str, dict[str, Mapping[str, Any]]] = {}
        for record in records:
            self._take(record)

    @classmethod
    def read(cls, runs: Path, *folders: Path) -> Known:
        """Of the ledger among the runs, and of all evidence in some folders."""
        records = [r for folder in folders if folder.is_dir() for r in _in_evidence(folder)]
        return cls(runs / LEDGER, [*records, *_in_ledger(runs / LEDGER)])

    def _take(self, record: Mapping[str, Any]) -> None:
        self.by_key.setdefault(record["key"], {})[record["machine"]] = record

    def add(self, record: Mapping[str, Any]) -> None:
        self._take(record)
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        with self.ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps(sealed(dict(record))) + "\n")

    def get(self, key: str, on: str = "") -> Mapping[str, Any] | None:
        """The record of a run on this machine, or else on the machine `on`."""
        there = self.by_key.get(key, {})
        return there.get(machine()) or there.get(on)

    def home(self, keys: Iterable[str]) -> str:
        """The other machine on which most of some runs were made; this one where there is none."""
        others = Counter(m for key in keys for m in self.by_key.get(key, {}) if m != machine())
        return others.most_common(1)[0][0] if others else machine()


def _in_evidence(folder: Path) -> list[Mapping[str, Any]]:
    records = []
    for path in sorted(folder.glob("*.json")):
        try:
            proof = evidence.read(folder, path.stem)
        except UserError:  # of another edition, or damaged: it is made again
            continue
        for claim in proof.get("claims", ()):
            records += [run for arm in claim["arms"].values() for run in arm["runs"]]
            records += claim["tried"]
        records += proof.get("runs", ())
    return records


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
