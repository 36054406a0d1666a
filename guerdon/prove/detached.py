"""Proofs in the background, and how far they are: a file for each process that proves, among its runs.

The file is locked for as long as the process lives, so that a killed process is not taken for a running one. What it had done
is in the ledger of the runs: the same command continues from there.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.runs.whole_files import write_text

FOLDER = ".proofs"  # among the runs


def detach(words: Sequence[str], runs: Path) -> Path:
    """Start `guerdon prove` with these words in a session of its own, which no terminal ends; the file that it writes to."""
    folder = runs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"
    with log.open("w") as out:
        command = [sys.executable, "-m", "guerdon.cli.main", "prove", *words]
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    return log


class ProofProgress:
    """The progress of this process's proofs, reported on request."""

    def __init__(self, runs: Path, words: Sequence[str]) -> None:
        self.path = runs / FOLDER / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.json"
        self.told: dict[str, Any] = {"command": shlex.join(["guerdon", *words]), "done": 0, "total": 0, "last": ""}

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """While the proofs run; `ended` stays false where the process was killed or the proofs failed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.write(ended=False, began=time.time())
            try:
                yield
            except UserError:
                if not self.told["total"]:  # refused before there was anything to prove
                    self.path.unlink(missing_ok=True)
                    self.path.with_suffix(".lock").unlink(missing_ok=True)
                raise
            self.write(ended=True)

    def write(self, **changes: Any) -> None:
        self.told |= {**changes, "updated": time.time()}
        write_text(self.path, json.dumps(self.told))


def status(runs: Path) -> list[dict[str, Any]]:
    """Every process that proved among some runs, the oldest first: its command, how many runs of how many are done, whether
    it runs, ended or stopped, and a line with that."""
    return [_told(path) for path in sorted((runs / FOLDER).glob("*.json"))]


def _told(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(path.read_text())
    state = "ended" if told["ended"] else "running" if _is_held(path.with_suffix(".lock")) else "stopped"
    minutes = (told["updated"] - told["began"]) / 60
    runs = f"{told['done']} of {told['total']} runs"
    rest = {
        "ended": f"ended after {minutes:.0f} min",
        "running": f"running for {(time.time() - told['began']) / 60:.0f} min{_left(told)}",
        "stopped": f"stopped after {minutes:.0f} min; the same command continues",
    }
    return {**told, "state": state, "line": f"{told['command']}: {runs}, {rest[state]}"}


def _left(told: dict[str, Any]) -> str:
    if not told["done"]:
        return ""
    each = (told["updated"] - told["began"]) / told["done"]
    return f", about {each * (told['total'] - told['done']) / 60:.0f} min for the runs wanted by now"


def _is_held(lock: Path) -> bool:
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
