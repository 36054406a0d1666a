"""Which audits there are: folders with an audit.json, at or below what the studio was given, and in `audits/` beside `runs/`.

Each is known by an `id` made of where it lies. A file that is not an audit, or a damaged one, is there too, with its `fault`.
The list's entry for one is kept until its file changes; the rest is read when it is opened. Nothing is ever written. Leaves
out: what a file must be like (`audit_shape.py`), what the page asks (`audit_routes.py`).
"""

from __future__ import annotations

import json
import stat
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.runs.run import Missing
from guerdon.runs.whole_files import absolute, file_mark
from guerdon.studio.audits.audit_shape import NoAudit, audit_of
from guerdon.studio.library import DEPTH, Library, folders_in, id_of, is_there

FILE = "audit.json"
RUNS, BESIDE = "runs", "audits"  # folders that lie side by side
FRESH = 0.5  # seconds for which a look at the disk is believed
MOST = 2_000  # audits
MARK = "audit-"  # the prefix of their ids, by which the page distinguishes them from those of runs
LARGEST = 16_000_000  # bytes of one


class ShelvedAudit:
    """A folder with an audit.json."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / FILE
        self.id = f"{MARK}{id_of(folder)}"  # the folder may hold a run as well
        self._told: tuple[tuple[int, ...], dict[str, Any]] | None = None

    def mark(self) -> tuple[int, ...]:
        return file_mark(self.file)

    def report(self) -> dict[str, Any]:
        """All of it, checked; refused in a line where it cannot be believed, or is gone."""
        try:
            return audit_of(self._read())
        except NoAudit as error:
            raise UserError(f"{self.file} cannot be shown: {error}; make it again with guerdon audit") from error

    def summary(self) -> dict[str, Any]:
        """Its entry in the list; `why` it cannot be read, where it cannot."""
        mark = self.mark()
        if not mark:
            raise Missing(f"{self.folder} no longer has an audit")
        if self._told is None or self._told[0] != mark:
            self._told = (mark, self._in_short(mark))
        return self._told[1]

    def _in_short(self, mark: tuple[int, ...]) -> dict[str, Any]:
        when = datetime.fromtimestamp(max(0, mark[-1]) // 10**9, UTC).isoformat()
        base = {"id": self.id, "name": self.folder.name, "path": str(self.folder), "when": when, "written": mark[-1]}
        try:
            told = self.report()
        except Missing:
            raise
        except UserError as error:
            return {**base, "why": str(error)}
        severe = sum(each["severity"] == "severe" for each in told["findings"])
        counts = {"severe": severe, "warnings": len(told["findings"]) - severe}
        return {**base, **{name: told[name] for name in ("reward", "task", "problems", "samples")}, **counts, "why": ""}

    def _read(self) -> Any:
        try:
            if not stat.S_ISREG(self.file.stat().st_mode):
                raise NoAudit("it is not a file")
            with open(self.file, "rb") as file:
                data = file.read(LARGEST + 1)
        except FileNotFoundError as error:
            raise Missing(f"{self.folder} no longer has an audit") from error
        except OSError as error:
            raise NoAudit(f"it cannot be read ({error.strerror})") from error
        if len(data) > LARGEST:
            raise NoAudit(f"it is larger than {LARGEST // 1_000_000} MB")
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise NoAudit("it is not JSON") from error


class AuditShelf:
    """The audits among the places of a library, and beside them."""

    def __init__(self, library: Library) -> None:
        self.places = list(
            dict.fromkeys([*library.places, *(near for place in library.places for near in _beside(place))])
        )
        self._shelf: dict[str, ShelvedAudit] = {}
        self._looked = -FRESH
        self._lock = threading.Lock()

    def audits(self) -> list[ShelvedAudit]:
        """Every audit there is now."""
        with self._lock:
            if time.monotonic() - self._looked >= FRESH:
                before = {each.folder: each for each in self._shelf.values()}
                there = [folder for place in self.places for folder in audit_folders(place)]
                shelf = (before.get(folder) or ShelvedAudit(folder) for folder in there[:MOST])
                self._shelf = {each.id: each for each in shelf}
                self._looked = time.monotonic()
            return list(self._shelf.values())

    def shelved(self, id: str) -> ShelvedAudit:
        there = self._shelf.get(id) or next((each for each in self.audits() if each.id == id), None)
        if there is None:
            raise Missing(f"there is no audit {id[:40]} here any more")
        return there

    def summaries(self) -> list[dict[str, Any]]:
        """The list, newest first."""
        told = []
        for each in self.audits():
            try:
                told.append(each.summary())
            except Missing:
                continue
        return sorted(told, key=lambda row: (-row["written"], row["path"]))

    def marks(self) -> dict[str, object]:
        """What changes when an audit does, by id."""
        return {each.id: each.mark() for each in self.audits()}


def audit_folders(place: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Folders with an audit.json at or below a place. Of a run's folder only those right below it are looked at: it may hold
    thousands of files further down. Links are not followed below it."""
    if is_there(place / FILE):
        yield place
    if depth:
        below = 0 if is_there(place / "run.json") else depth - 1
        for folder in folders_in(place):
            yield from audit_folders(folder, below)


def _beside(place: Path) -> list[Path]:
    """`audits/` beside a place that is called `runs`, or lies in one that is."""
    runs = (each for each in (place, place.parent, absolute(place), absolute(place).parent) if each.name == RUNS)
    return [each.parent / BESIDE for each in runs][:1]
