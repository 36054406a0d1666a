"""The run folder: where each file lies in it, and which process may write there.

A new run claims its folder before it writes: the folder is made and locked, then gets its run.json.
Of two processes that start at the same moment, one gets the folder; the other takes the next name, or is refused.
A claim that a kill cut short leaves an empty folder, which is not a run and can be claimed again.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.runs.checksums import KEY, is_whole, sealed
from guerdon.runs.run_config import check_fields, read_small
from guerdon.runs.whole_files import absolute, disk_errors, refuse_odd, remove, sweep, write_json

# of run folders; those of 1, which guerdon 0.1 wrote, are read and not gone on with. Checksums came within 2: who does not know
# them passes over a key in run.json and two in a line of events, and what was written without them is read as before
FORMAT = 2
LOCK = ".lock"


class RunFolder:
    """Paths of a run, which stay where they are wherever this process goes; `named` is what the user calls the folder. One
    process writes at a time; the others are refused."""

    def __init__(self, path: str | Path, here: Path | None = None) -> None:
        """`here` is where a path that is not whole starts from: by default the working directory."""
        if not isinstance(path, str | os.PathLike):
            raise UserError(f"a run is named by its folder, not {path!r}")
        self.named = str(path)
        self.path = absolute(path) if here is None else here / path
        self._held: BinaryIO | None = None

    def shown(self, path: Path) -> str:
        """A path in the folder as the user would type it."""
        return str(self.named / path.relative_to(self.path))

    @property
    def config_file(self) -> Path:
        return self.path / "run.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def models(self) -> Path:
        return self.path / "models"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def result(self) -> Path:
        """What a study's body returned."""
        return self.path / "result.json"

    @property
    def inner(self) -> Path:
        """The runs of a study."""
        return self.path / "inner"

    def rollouts(self, step: int) -> Path:
        return self.path / "rollouts" / f"step-{step:08d}.parquet"

    def fault(self, step: int) -> Path:
        """The batch that broke a step."""
        return self.path / "faults" / f"step-{step:08d}.parquet"

    def exists(self) -> bool:
        return self.config_file.is_file()

    def read_config(self) -> dict[str, Any]:
        """What the run is. One that does not match its checksum is not believed: another seed gives another run."""
        try:
            config = json.loads(read_small(self.config_file))
        except OSError as error:
            raise UserError(f"{self.named} is not a run folder: it has no readable run.json") from error
        except (ValueError, RecursionError) as error:
            raise Damaged(f"{self.named} is not a run folder: it has no readable run.json") from error
        if not isinstance(config, dict) or not isinstance(config.get("format", FORMAT), int):
            raise Damaged(f"{self.named} is not a run folder: its run.json is not a JSON object")
        if not is_whole(config):
            raise Damaged(
                f"{self.named}/run.json does not match its checksum, so it was damaged or changed by hand: put a copy of it"
                f' back, or delete its line "{KEY}" to accept its current content'
            )
        if config.get("format", FORMAT) > FORMAT:
            raise UserError(
                f"{self.named} was written by guerdon {written_by(config)}, in format {config['format']} of run folders;"
                f" this one reads up to {FORMAT}: upgrade guerdon"
            )
        check_fields(config, self.named)
        return {k: v for k, v in config.items() if k != KEY}

    def run_id(self) -> str:
        """The run's unique id; empty for one from before runs had ids."""
        return str(self.read_config().get("id") or "")

    def create(self, config: dict[str, Any]) -> None:
        """Start a run here."""
        with self.claim():
            write_json(
                self.config_file, sealed(config)
            )  # what makes the folder a run: a kill before this leaves nothing in the way

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the folder for a new run. One that holds another run, or anything else, is refused and stays as it is."""
        self.refuse_others()
        with self.lock():
            self.refuse_others()  # another process may have been faster
            yield

    def refuse_others(self) -> None:
        """Refuse to begin a run where another one, or anything else, is."""
        # looked at first: what another process begins meanwhile is then seen as a run
        is_taken = self.path.exists() and (not self.path.is_dir() or any(p.name[0] != "." for p in self.path.iterdir()))
        if self.exists():
            name = self.read_config().get("recipe", "?")
            raise UserError(
                f"{self.named} holds another run ({name}); resume it with --resume {self.named}, or choose another --out"
            )
        if is_taken:
            raise UserError(f"{self.named} is not empty and not a run; choose another --out")

    def clear(self) -> None:
        """Drop the run, for it to be made again. The holder of the folder keeps its lock."""
        assert self._held is not None, "only what is held is cleared"
        with disk_errors(self.path):
            for each in self.path.iterdir():
                if each.name != LOCK:
                    remove(each)

    @contextlib.contextmanager
    def lock(self, wait: bool = False) -> Iterator[None]:
        """Hold the folder for this process, and make it if need be; however the process ends, the folder is free again. Who
        holds it may ask for it again. One that another process holds is refused, or waited for. What killed writers left
        half-written is swept."""
        if self._held is not None:
            yield
            return
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            refuse_odd(self.path / LOCK)
            held = open(self.path / LOCK, "ab")  # noqa: SIM115 - closed by the `with` below
        with held:  # what breaks inside is not about this file
            try:
                fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError as error:
                raise UserError(f"{self.named} is being written by another process") from error
            sweep(self.path)
            self._held = held
            try:
                yield
            finally:
                self._held = None


def written_by(config: dict[str, Any]) -> str:
    versions = config.get("versions")
    return str(versions.get("guerdon", "of another version")) if isinstance(versions, dict) else "of another version"


def next_name(base: Path, stem: str, here: Path) -> RunFolder:
    """The folder that `next_free` would take now; nothing is made."""
    folders = (RunFolder(base / f"{stem}-{number:03d}", here) for number in itertools.count(1))
    return next(folder for folder in folders if not folder.path.exists())


@contextlib.contextmanager
def next_free(base: Path, stem: str, here: Path) -> Iterator[RunFolder]:
    """runs/STEM-001, -002, ...: the first that is not there, made and held. `base` starts from `here`."""
    for number in itertools.count(1):
        folder = RunFolder(base / f"{stem}-{number:03d}", here)
        with disk_errors(folder.path):
            folder.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                folder.path.mkdir()  # one process alone can make it
            except FileExistsError:
                continue
        with folder.lock():
            yield folder
        return


def resume_command(folder: RunFolder) -> str:
    return f"guerdon train --resume {shlex.quote(folder.named)}"
