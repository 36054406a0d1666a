"""The indexes that are open: one for each run that is searched, in databases of their own in one temporary folder.

DuckDB is one for all of them, with so many threads and so much memory; what does not fit lies in the folder, which is gone when
the studio ends. It may read and write nothing else, and loads no extension. Of many runs those asked for last stay open.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from guerdon.core.errors import UserError, require_extra

try:
    import duckdb
except ModuleNotFoundError as error:
    raise require_extra("duckdb", "studio") from error
from guerdon.runs.run import Missing
from guerdon.studio.library import Library
from guerdon.studio.rollouts.rollout_index import RolloutIndex
from guerdon.studio.rollouts.scratch import ScratchFolder

OPEN = 8  # runs, and as many may be searched at once
MEMORY = "192MB"
THREADS = 4  # at most
SECONDS = 5.0  # for a question


class TooLong(UserError):
    """A question that took longer than people wait."""


class IndexShelf:
    """Opens the index of a run when it is asked for."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._open: OrderedDict[str, RolloutIndex] = OrderedDict()
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._in_use: dict[str, int] = {}
        self._count = 0
        self._folder: ScratchFolder
        self._connection: Any = None
        self._end: Any = None
        threading.Thread(target=_warm, name="warming", daemon=True).start()

    def _begin(self) -> None:
        """Make the folder and the database on the first request: most applications are never asked for rollouts."""
        if self._connection is None:
            self._folder = ScratchFolder()
            self._connection = self._connected()
            self._end = weakref.finalize(self, _end, self._open, self._connection, self._folder)

    def _connected(self) -> Any:
        folder = str(self._folder.path)
        settings = {"autoload_known_extensions": False, "autoinstall_known_extensions": False}
        connection = duckdb.connect(":memory:", config={name: str(value).lower() for name, value in settings.items()})
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute(f"SET threads = {max(1, min(THREADS, os.cpu_count() or 1))}")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET force_compression = 'uncompressed'")
        connection.execute("SET wal_autocheckpoint = '64MB'")
        quoted = folder.replace("'", "''")
        connection.execute(f"SET temp_directory = '{quoted}/spilled'")
        connection.execute(f"SET allowed_directories = ['{quoted}']")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection

    def close(self) -> None:
        """Close every index and remove the folder."""
        if self._end is not None:
            self._end()

    @contextlib.contextmanager
    def indexes(self, ids: Sequence[str]) -> Iterator[list[RolloutIndex]]:
        """Those of some runs, which stay open as long as they are used."""
        names = list(dict.fromkeys(filter(None, ids)))
        if not names:
            raise UserError("which run? say run=ID")
        if len(names) > OPEN:
            raise UserError(f"{len(names)} runs at once are too many: {OPEN} can be searched together")
        with self._lock:
            self._begin()
            there = [self._index(id) for id in names]
            for id in names:
                self._in_use[id] = self._in_use.get(id, 0) + 1
        try:
            yield there
        finally:
            with self._lock:
                for id in names:
                    self._in_use[id] -= 1
                self._drop()

    @contextlib.contextmanager
    def question(self, seconds: float = SECONDS) -> Iterator[Any]:
        """A cursor that sees one state of everything, and is interrupted when its time is over."""
        with self._lock:
            self._begin()
        cursor = self._connection.cursor()
        over = threading.Event()

        def interrupt() -> None:
            over.set()
            cursor.interrupt()

        timer = threading.Timer(seconds, interrupt)
        timer.daemon = True
        timer.start()
        try:
            cursor.begin()
            yield cursor
        except duckdb.InterruptException as error:
            if not over.is_set():
                raise
            raise TooLong(
                f"this took longer than {seconds:g} s: ask for less, a step or a kind, or a plainer text"
            ) from error
        except duckdb.OutOfMemoryException as error:
            raise TooLong("this wants more memory than the studio takes: ask for less, a step or a kind") from error
        finally:
            timer.cancel()
            cursor.close()

    def _index(self, id: str) -> RolloutIndex:
        try:
            shelved = self.library.shelved(id)
            _ = shelved.run
        except Missing:
            if not self._in_use.get(id) and id in self._open:
                self._forget(id)
            raise
        if id not in self._open:
            self._count += 1
            place = f"run{self._count}"
            path = str(self._folder.path / f"{place}.duckdb").replace("'", "''")
            self._connection.execute(f"ATTACH '{path}' AS {place} (ROW_GROUP_SIZE 16384)")
            self._open[id] = RolloutIndex(shelved, self._connection, place, self._turn)
        self._open.move_to_end(id)
        return self._open[id]

    def _drop(self) -> None:
        """Close those that were asked for longest ago."""
        unused = [id for id in self._open if not self._in_use.get(id)]
        for id in unused[: max(0, len(self._open) - OPEN)]:
            self._forget(id)

    def _forget(self, id: str) -> None:
        index = self._open.pop(id)
        self._in_use.pop(id, None)
        index.close()
        self._connection.execute(f"DETACH {index.place}")
        for left in self._folder.path.glob(f"{index.place}.duckdb*"):
            left.unlink(missing_ok=True)


def _warm() -> None:
    """Load what reading the first file would wait half a second for."""
    import pyarrow.parquet  # noqa: F401


def _end(indexes: OrderedDict[str, RolloutIndex], connection: Any, folder: ScratchFolder) -> None:
    for index in indexes.values():
        index.close()
    indexes.clear()
    connection.close()
    folder.remove()
