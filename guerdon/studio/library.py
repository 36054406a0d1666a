"""The library: which runs there are under the folders that the studio was given, each opened once and read as it grows.

A run is known to the page by an `id` made of where it lies, so that whatever a folder is called does no harm in an address.
A folder that holds no readable run is there too, with its `fault`: one broken folder must not hide the others.
Leaves out: what is shown of a run (`runs`), its rollouts (`rollouts`).
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from guerdon.core.errors import UserError
from guerdon.runs import labels
from guerdon.runs.events import Log, LogReader
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Missing, Run
from guerdon.runs.whole_files import absolute, file_mark

DEPTH = 4  # folders below one that was given in which runs are looked for
MOST = 20_000  # runs
FRESH = 0.5  # seconds for which a look at the disk is believed
INNER = "inner"  # where a study keeps its runs


class LiveRun(Run):
    """A run that may be being written: its events are read once each, its run.json when it changes."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__(folder)
        self.reader = LogReader(folder.events)
        self.lock = threading.Lock()

    def log(self) -> Log:
        if self.folder.events.exists() and not self.folder.events.is_file():
            raise UserError(f"{self.folder.named}/events.jsonl is not a file")
        with self.lock:
            return self.reader.read()


class ShelvedRun:
    """A folder with a run.json: its `id`, what people call it, and the run in it once it can be read."""

    def __init__(self, path: Path, name: str, within: str = "") -> None:
        self.path, self.name, self.within = path, name, within  # within: the id of the study that it is a run of
        self.id = id_of(path)
        self.folder = RunFolder(path)
        self.folder.named = name
        written_to = (self.folder.config_file, self.folder.events, path / labels.FOLDER / labels.FILE)
        self._marked = (
            *written_to,
            path / "rollouts",
        )  # a folder changes when a file comes into it, not when one grows
        self._opened: tuple[tuple[int, ...], LiveRun] | None = None

    @property
    def run(self) -> LiveRun:
        """The run as it is now; refused where its run.json cannot be believed, or is gone."""
        mark = file_mark(self.folder.config_file)
        if not mark:
            raise Missing(f"{self.name} is not there any more")
        opened = self._opened
        if opened is None or opened[0] != mark:
            self._opened = opened = (mark, LiveRun(self.folder))
        return opened[1]

    @property
    def fault(self) -> str:
        """Why it cannot be read, in a line; empty where it can."""
        try:
            self.run.log()
        except UserError as error:
            return str(error)
        return ""

    def marks(self) -> tuple[tuple[int, ...], ...]:
        """What changes when the run does: of its config, events, rollouts and labels."""
        return tuple(map(file_mark, self._marked))


class Library:
    """The runs under some places: run folders themselves, and folders in which to look for them."""

    def __init__(self, places: Iterable[str | Path], trust: bool = False) -> None:
        """`trust`: Python files that runs name are run for the bench, also for runs of other users."""
        self.trust = trust
        self.places = [Path(place) for place in places]
        self._shelf: dict[str, ShelvedRun] = {}
        self._looked = -FRESH
        self._lock = threading.Lock()

    def runs(self) -> list[ShelvedRun]:
        """Every run there is now, in the order of their names, those of a study after it."""
        with self._lock:
            if time.monotonic() - self._looked >= FRESH:
                before = {(each.path, each.within): each for each in self._shelf.values()}
                there = [(path, within) for place in self.places for path, within in run_folders(place)]
                shelf = (
                    before.get((path, within)) or ShelvedRun(path, str(path), within) for path, within in there[:MOST]
                )
                self._shelf = {each.id: each for each in shelf}
                self._looked = time.monotonic()
            return list(self._shelf.values())

    def shelved(self, id: str) -> ShelvedRun:
        """A run by its id."""
        there = self._shelf.get(id) or next((each for each in self.runs() if each.id == id), None)
        if there is None:
            raise Missing(f"there is no run {id[:40]} here any more")
        return there

    def run(self, id: str) -> LiveRun:
        return self.shelved(id).run


def id_of(path: Path) -> str:
    return hashlib.sha256(os.fsencode(absolute(path))).hexdigest()[:12]


def run_folders(place: Path, depth: int = DEPTH, root: Path | None = None) -> Iterator[tuple[Path, str]]:
    """Run folders at or below a place, each with the id of the study that it is part of, if it is. Links are not followed below
    it, but those from a study to runs that it shares with others of the place."""
    root = root or place
    if is_there(place / "run.json"):
        yield place, ""
        there = [*folders_in(place / INNER), *links_within(place / INNER, root)]
        yield from ((inner, id_of(place)) for inner in sorted(there) if is_there(inner / "run.json"))
    elif depth:
        for folder in folders_in(place):
            yield from run_folders(folder, depth - 1, root)


def is_there(path: Path) -> bool:
    try:
        return stat.S_IFMT(path.lstat().st_mode) != 0
    except OSError:
        return False


def links_within(place: Path, root: Path) -> list[Path]:
    """The links in a folder whose ends lie below `root`."""
    try:
        with os.scandir(place) as entries:
            links = [Path(e.path) for e in entries if e.is_symlink()]
    except OSError:
        return []
    return [link for link in links if Path(os.path.realpath(link)).is_relative_to(os.path.realpath(root))]


def folders_in(place: Path) -> list[Path]:
    """The folders in one, but hidden ones."""
    try:
        with os.scandir(place) as entries:
            names = [e.name for e in entries if not e.name.startswith(".") and e.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [place / name for name in sorted(names)]
