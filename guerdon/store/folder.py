"""Where things lie in a run folder, and who may write there."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.store.files import disk_errors, write_json

FORMAT = 2  # of run folders; those of 1, which guerdon 0.1 wrote, are read and not gone on with


class RunFolder:
    """Paths of a run. One process writes at a time; the others are refused."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def card(self) -> Path:
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
    def inner(self) -> Path:
        """The runs of a study."""
        return self.path / "inner"

    def rollouts(self, step: int) -> Path:
        return self.path / "rollouts" / f"step-{step:08d}.parquet"

    def fault(self, step: int) -> Path:
        """The batch that broke a step."""
        return self.path / "faults" / f"step-{step:08d}.parquet"

    def exists(self) -> bool:
        return self.card.is_file()

    def read_card(self) -> dict[str, Any]:
        try:
            found = json.loads(self.card.read_text())
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path} is not a run folder: it has no readable run.json") from error
        assert isinstance(found, dict)
        if found.get("format", FORMAT) > FORMAT:
            raise UserError(
                f"{self.path} was written by guerdon {written_by(found)}, in format {found['format']} of run folders; this one"
                f" reads up to {FORMAT}: upgrade guerdon"
            )
        return found

    def create(self, card: dict[str, Any]) -> None:
        """Start a run here. A folder that holds another run, or anything else, is refused."""
        if self.exists():
            other = self.read_card()
            name = other.get("recipe", "?")
            raise UserError(
                f"{self.path} holds another run ({name}); go on with it by --resume {self.path}, or choose another --out"
            )
        if self.path.exists() and (not self.path.is_dir() or any(p.name[0] != "." for p in self.path.iterdir())):
            raise UserError(f"{self.path} is not empty and not a run; choose another --out")
        write_json(self.card, card)  # what makes the folder a run: a kill before this leaves nothing in the way

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for this process; however it ends, the folder is free again."""
        with disk_errors(self.path):
            held = open(self.path / ".lock", "wb")  # noqa: SIM115 - closed by the `with` below
        with held:  # what breaks inside is not about this file
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(f"{self.path} is being written by another process") from error
            yield


def written_by(card: dict[str, Any]) -> str:
    return str(card.get("versions", {}).get("guerdon", "of another version"))


def next_free(base: Path, stem: str) -> Path:
    """runs/STEM-001, -002, ...: the first that is not there."""
    taken = {p.name for p in base.glob(f"{stem}-*")} if base.is_dir() else set()
    number = 1
    while f"{stem}-{number:03d}" in taken:
        number += 1
    return base / f"{stem}-{number:03d}"


def resume_command(path: Path) -> str:
    shown = os.path.relpath(path) if not os.path.relpath(path).startswith("..") else str(path)
    return f"guerdon train --resume {shown}"
