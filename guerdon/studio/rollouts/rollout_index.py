"""One run's rollouts as a table of DuckDB, filled file by file while people look at what is there already.

A row is a segment, with the columns of `runs/rollout_table.py`; each file is read, checked and tidied by the store itself.
That takes some 20 ms of a processor for 512 rollouts, and putting them into the table some 10, so a second reader of the files'
format would win little. Newest steps come first. Files that come, are written again (a resumed run does) or are deleted are
noticed by their names, sizes and times on each request, at once, for a page that was notified of a change requests once.
A file that cannot be read costs its own rows only, and is named.

Columns of the batch may have any name, and DuckDB takes `Reward` for `reward`: so they are numbered here, and no name from a
file is ever part of a statement. Texts are cut to `LONGEST` characters and kept uncompressed, for unpacking them took longer
than searching them, and a second time in lower case, for a case-insensitive search took five times as long as a
case-sensitive one. Row groups are small, so that a hundred thousand rows are searched by more than one thread. Leaves out:
what is asked of it (`searching.py`), which runs have one (`index_shelf.py`).
"""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError, in_a_line
from guerdon.runs.rollout_files import read_table
from guerdon.runs.rollout_table import tidy
from guerdon.runs.whole_files import file_mark
from guerdon.studio.library import ShelvedRun

LONGEST = 65_536  # characters of a prompt, a completion or an answer that are kept and searched
SHORT = 4_096  # and of other texts
MOST_COLUMNS = 400  # of the batch; who has more sees the first
FRESH = 0.3  # seconds for which a look at a folder that has not changed is believed
TICK = 2.0  # seconds: of two changes of a folder that lie closer the second may leave no mark, on the coarsest file systems
TOGETHER = 8  # files that are put into the table at once
MOST_BYTES = 32_000_000  # of them
TOLD = 20  # files that could not be read are named, and no more
BETWEEN = "\x1f"  # prompt and completion, so that no phrase is part of both
FILE = re.compile(r"step-(\d{1,18})\.parquet")
PLAIN = {
    "step": "BIGINT", "episode": "VARCHAR", "ask": "VARCHAR", "attempt": "BIGINT", "segment": "BIGINT", "role": "VARCHAR",
    "kind": "VARCHAR", "family": "VARCHAR", "level": "BIGINT", "task_id": "VARCHAR", "end": "VARCHAR", "length": "BIGINT",
    "learned": "BOOLEAN", "paid": "DOUBLE", "answer": "VARCHAR", "prompt": "VARCHAR", "completion": "VARCHAR",
}  # fmt: skip
# the row's place in its file; how long the completion is in whole; prompt and completion in small letters, to be searched
OURS = {"row": "BIGINT", "characters": "BIGINT", "said": "VARCHAR"}
GIVEN = [
    name for name in PLAIN if name not in ("ask", "attempt", "kind")
]  # as the store gives them; these are made of others
MADE = {
    "ask": "split_part(episode, '.', 1) || '.' || split_part(episode, '.', 2)",
    "attempt": "TRY_CAST(split_part(episode, '.', 3) AS BIGINT)",
    "kind": "family || ':' || level",
    "said": f"lower(coalesce(prompt, '') || '{BETWEEN}' || coalesce(completion, ''))",
}
CUT = {
    name: LONGEST if name in ("prompt", "completion", "answer") else SHORT for name in GIVEN if PLAIN[name] == "VARCHAR"
}

Mark = tuple[int, ...]


@dataclass(frozen=True)
class Indexed:
    """How far an index is: files read of those there are, rows in it, those that could not be read."""

    files: int
    of: int
    rows: int
    faults: tuple[str, ...]
    damaged: int
    done: bool  # all are read, and nothing is left of those that are gone


class RolloutIndex:
    """The rollouts of a run. `place` is the attached database of its own that holds them, in a table `rows`."""

    def __init__(self, shelved: ShelvedRun, connection: Any, place: str, turn: threading.Lock) -> None:
        self.shelved, self.place = shelved, place
        self.columns: dict[str, int] = {}  # of the batch: the numbers that they have in the table
        self._connection, self._turn = connection, turn  # of filling: one file at a time, whichever the run
        self._known: dict[int, Mark] = {}  # what is in the table, or was tried
        self._faults: dict[int, str] = {}
        self._rows: dict[int, int] = {}  # in the table, of each step
        self._there: dict[int, Mark] = {}
        self._looked = -FRESH
        self._folder_mark: Mark = ()  # what the folder was like then; () is never believed
        self._lock = threading.Lock()
        self._filler: threading.Thread | None = None
        self._closing = False
        self._first = threading.Event()  # something can be shown
        kinds = {**PLAIN, **OURS}
        fields = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE {place}.rows ({fields})")

    def look(self, wait: float = 0.0) -> Indexed:
        """How it stands, and fill it with what came, was changed or went; a new index is waited for a moment."""
        with self._lock:
            if not self._is_fresh():
                self._there = self._listed()
                if self._there != self._known and not self._closing and self._filler is None:
                    self._filler = threading.Thread(target=self._fill, name=f"index of {self.shelved.id}", daemon=True)
                    self._filler.start()
                elif not self._there:
                    self._first.set()
        self._first.wait(wait)
        with self._lock:
            read = sum(self._known.get(step) == mark for step, mark in self._there.items())
            faults = tuple(self._faults[step] for step in sorted(self._faults)[:TOLD])
            rows, is_done = sum(self._rows.values()), self._known == self._there
            return Indexed(read, len(self._there), rows, faults, len(self._faults), is_done)

    def _is_fresh(self) -> bool:
        """Whether what was seen last must be what is there: by the folder's mark, and now and then by looking, for a file
        that is written in place leaves none."""
        is_young = self._folder_mark != () and time.monotonic() - self._looked < FRESH
        return is_young and self._folder_mark == file_mark(self.shelved.path / "rollouts")

    def _listed(self) -> dict[int, Mark]:
        """The files that are there now. The folder's mark is taken before, and kept only where it is old enough to change
        with whatever comes next."""
        folder = self.shelved.path / "rollouts"
        mark, self._looked = file_mark(folder), time.monotonic()
        self._folder_mark = mark if mark and time.time() - mark[-1] / 1e9 > TICK else ()
        return rollout_files_in(folder)

    @property
    def steps(self) -> list[int]:
        """Those of which rollouts are there, in the table or yet to be read."""
        return sorted(self._there)

    def close(self) -> None:
        """Stop filling, and wait until no thread fills."""
        with self._lock:
            self._closing = True
            filler = self._filler
        self._first.set()
        if filler is not None:
            filler.join()

    def _fill(self) -> None:
        """One file at first, to have something to show; then several at a time, which costs half as much."""
        while steps := self._next():
            with self._turn:
                self._take(steps)
            self._first.set()

    def _next(self) -> list[int]:
        """Steps whose rows are not those of their files, the newest first; none where there is nothing left to do."""
        with self._lock:
            differ = {step for step in {*self._there, *self._known} if self._there.get(step) != self._known.get(step)}
            if not differ or self._closing:
                self._filler = None
                self._first.set()
                return []
            return sorted(differ, reverse=True)[: TOGETHER if self._known else 1]

    def _take(self, steps: list[int]) -> None:
        """Read the files of some steps into the table, in the place of what was there of them."""
        marks = {step: self._there[step] for step in steps if step in self._there}
        tables, faults, size = {}, {}, 0
        for step in marks:
            try:
                tables[step] = self._tidied(self.shelved.folder.rollouts(step), step)
            except Exception as error:  # noqa: BLE001  whatever is wrong with a file is its own
                faults[step] = self._fault(step, error)
            else:
                size += tables[step].nbytes
            if size > MOST_BYTES:
                steps = steps[: steps.index(step) + 1]
                break
        try:
            self._write(steps, list(tables.values()))
        except Exception as error:  # noqa: BLE001  one of them, which the others must not pay for
            if len(steps) > 1:
                for step in steps:
                    self._take([step])
                return
            self._write(steps, [])
            faults[steps[0]] = self._fault(steps[0], error)
        with self._lock:
            for step in steps:
                for kept in (self._known, self._faults, self._rows):
                    kept.pop(step, None)
            self._known |= {step: marks[step] for step in steps if step in marks}
            self._rows |= {step: table.num_rows for step, table in tables.items() if step not in faults}
            self._faults |= faults

    def _fault(self, step: int, error: Exception) -> str:
        """Why a file is not in the table, in a line that names it as its owner would."""
        path = self.shelved.folder.rollouts(step)
        told = str(error).partition("\n")[0] if isinstance(error, UserError) else f"{path}: {in_a_line(error)}"
        return told.replace(str(self.shelved.folder.path), self.shelved.folder.named, 1)

    def _tidied(self, path: Path, step: int) -> Any:
        """The rows of a file as they stand in the table, its columns by the names that they have there."""
        import pyarrow as pa
        import pyarrow.compute as pc

        raw, meta = read_table(path, step)
        table = tidy(raw, meta, step)
        columns = {
            name: pc.utf8_slice_codeunits(table[name], 0, CUT[name]) if name in CUT else table[name] for name in GIVEN
        }
        columns["row"] = pa.array(range(table.num_rows), pa.int64())
        columns["characters"] = pc.utf8_length(table["completion"])
        for name, *_ in meta["columns"]:
            number = self._number(name, table)
            if number is not None:
                columns[f"c{number}"] = table[name]
                columns[f"r{number}"] = table[f"{name}:reason"]
        return pa.table(columns)

    def _number(self, name: Any, table: Any) -> int | None:
        """A batch's column by its number; None for one that has no plain numbers, or the name of one of ours."""
        import pyarrow as pa

        names = (name, f"{name}:reason")
        kinds = (pa.float64(), pa.string())
        if name in PLAIN or any(
            n not in table.column_names or table[n].type != k for n, k in zip(names, kinds, strict=True)
        ):
            return None
        if name not in self.columns and len(self.columns) < MOST_COLUMNS:
            number = len(self.columns)
            cursor = self._connection.cursor()
            cursor.execute(f"ALTER TABLE {self.place}.rows ADD COLUMN c{number} DOUBLE")
            cursor.execute(f"ALTER TABLE {self.place}.rows ADD COLUMN r{number} VARCHAR")
            cursor.close()
            self.columns = {**self.columns, name: number}
        return self.columns.get(name)

    def _write(self, steps: list[int], tables: list[Any]) -> None:
        """Put rows in the place of those of some steps, all or nothing."""
        import pyarrow as pa

        cursor = self._connection.cursor()
        try:
            cursor.begin()
            old = [step for step in steps if step in self._known]
            if old:
                cursor.execute(f"DELETE FROM {self.place}.rows WHERE step IN ({', '.join('?' * len(old))})", old)
            if tables:
                given = pa.concat_tables(tables, promote_options="default")
                cursor.register("given", given)
                names, made = (", ".join(f'"{name}"' for name in each) for each in (given.column_names, MADE))
                cursor.execute(
                    f"INSERT INTO {self.place}.rows ({names}, {made}) SELECT {names}, {', '.join(MADE.values())} FROM given"
                )
            cursor.commit()
        finally:
            cursor.close()  # and roll back what was not committed


def rollout_files_in(folder: Path) -> dict[int, Mark]:
    """The files of rollouts by their steps, each with what changes when it does."""
    marks: dict[int, Mark] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = FILE.fullmatch(entry.name)
                if name is not None and entry.name == f"step-{int(name[1]):08d}.parquet":
                    try:
                        now = entry.stat()
                    except OSError:
                        continue
                    marks[int(name[1])] = (now.st_ino, now.st_size, now.st_mtime_ns)
    except OSError:
        return {}
    return marks
