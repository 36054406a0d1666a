"""A temporary folder for indexes that is gone when its owner is: what one that was killed left is swept by the next."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

PREFIX = "guerdon-studio-"
LOCK = "lock"


class ScratchFolder:
    """Held by a lock that ends with the process."""

    def __init__(self) -> None:
        sweep_scratch(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._held: BinaryIO = open(self.path / LOCK, "wb")  # noqa: SIM115  held until it is removed
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._held.close()


def sweep_scratch(place: Path) -> None:
    """Remove the folders that no process holds any more."""
    for lock in place.glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError), open(lock, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
