"""Known results of runs: those of evidence files, and those of this folder of runs.

A run is identified by its key, the hash of what was computed, and by its machine, while the code that it executed is as it
was. So a lost run folder costs nothing, and evidence that was made elsewhere is extended rather than made again.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.evidence import proof_files
from guerdon.evidence.identity import Code, changed, code_of
from guerdon.evidence.words import runs_of
from guerdon.prove.arms import machine
from guerdon.prove.records import Record
from guerdon.runs.checksums import KEY, is_whole, sealed
from guerdon.runs.summary import same_form

LEDGER = "records.jsonl"
CODE = "code"  # of a record: the name of the set of units that it executed


class Known:
    """Records by machine and key; new ones are written down at once. `codes` are the sets of units
    that they name."""

    def __init__(self, ledger: Path, records: Iterable[Record] = (), codes: Mapping[str, Code] | None = None) -> None:
        self.ledger, self.machine = ledger, machine()
        self.codes = dict(codes or {})
        self.by_machine: dict[str, dict[str, Record]] = {}
        self._ids: dict[frozenset[str], str] = {}
        self._ran: dict[str, frozenset[str]] = {}
        for record in records:
            self._take(record)

    @classmethod
    def read(cls, runs: Path, *folders: Path) -> Known:
        """Of the ledger among the runs, and of all evidence in some folders, as far as it is of today's code."""
        known = cls(runs / LEDGER)
        for folder in folders:
            for name, mark in proof_files.marks(folder).items():
                known._merge(*_in_evidence(folder, name, mark))
        known._merge(*_in_ledger(runs / LEDGER))
        return known

    def _merge(self, records: Iterable[Record], codes: Mapping[str, Code]) -> None:
        self.codes |= codes
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        record = by_form(record)
        self.by_machine.setdefault(record["machine"], {})[record["key"]] = record

    def add(self, record: Record, ran: Iterable[str] = (), of: str = "") -> None:
        """A record, and the units that made it. Runs `of` one arm are of all that any of them executed by then: which of them
        met a rare branch does not distinguish them."""
        executed = self._ran[of] = self._ran.get(of, frozenset()) | frozenset(ran)
        if executed not in self._ids:
            code = code_of(executed)
            self._ids[executed] = code.id
            if code.id not in self.codes:
                self.codes[code.id] = code
                self._write({CODE: code.id, **code.to_json()})
        record = {**record, CODE: self._ids[executed]}
        self._take(record)
        self._write(record)

    def _write(self, line: Mapping[str, Any]) -> None:
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        with self.ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps(sealed(dict(line))) + "\n")

    def get(self, key: str, machine: str = "") -> Record | None:
        """The record of a run on a machine; this one by default."""
        return self.by_machine.get(machine or self.machine, {}).get(key)

    def anywhere(self, key: str) -> Record | None:
        """The record of a run on any machine, this one before others."""
        return next((record for name in self._machines if (record := self.get(key, name)) is not None), None)

    def together(self, keys: Iterable[str]) -> str | None:
        """A machine that knows all of some runs, this one before others; None where none does."""
        wanted = [*keys]
        return next((name for name in self._machines if all(self.get(key, name) is not None for key in wanted)), None)

    @property
    def _machines(self) -> list[str]:
        return [self.machine, *sorted(name for name in self.by_machine if name != self.machine)]

    def code_of(self, records: Iterable[Record]) -> dict[str, Any]:
        """The code of some records, as evidence has it."""
        return as_sets({name: self.codes[name].units for name in {record[CODE] for record in records}})


def as_sets(sets: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Sets of units by their names, as JSON: every unit once, and for each set those that are missing."""
    whole = code_of({unit for units in sets.values() for unit in units})
    return {
        **whole.to_json(),
        "sets": {name: sorted({*whole.units} - {*units}) for name, units in sorted(sets.items())},
    }


def by_form(record: Record) -> Record:
    """A record with how often each form was asked, where earlier runs counted one form as several."""
    count = Counter[str]()
    for form, n in (record.get("asked") or {}).items():
        count[same_form(form)] += n
    return {**record, "asked": dict(count.most_common())} if count else record


Told = tuple[tuple[Record, ...], dict[str, Code]]


@functools.lru_cache(maxsize=1024)
def _in_evidence(folder: Path, name: str, mark: bytes) -> Told:
    """The records of a proof that has this mark, of those whose code is as it was: those of the package are asked for again and
    again, and never change."""
    try:
        proof = proof_files.read(folder, name)
    except UserError:  # of another edition, damaged, or without its runs: it is made again
        return (), {}
    sets = proof_files.codes_of(proof)
    if not sets:  # the code of its runs is not known, so neither are they
        return (), {}
    changed = set(proof_files.stale_units(proof))
    codes = {name: Code({unit: proof["code"]["units"][unit] for unit in units}) for name, units in sets.items()}
    records = [run for claim in proof.get("claims", ()) for run in runs_of(claim)]
    return _current([*records, *proof.get("runs", ())], {n: c for n, c in codes.items() if changed.isdisjoint(c.units)})


def _current(records: Iterable[Record], codes: dict[str, Code]) -> Told:
    return tuple(record for record in records if record.get(CODE) in codes), codes


def _in_ledger(path: Path) -> Told:
    """Whole lines; the last one of a killed process may be torn."""
    records, codes = list[Record](), dict[str, Code]()
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict) or not is_whole(record):
            continue
        if "units" in record:
            code = Code(record["units"], record["files"])
            codes |= {} if changed(code) else {record[CODE]: code}
        else:
            records.append({k: v for k, v in record.items() if k != KEY})
    return _current(records, codes)
