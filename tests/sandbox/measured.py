"""What a worker's boxes really take, seen from outside by a control group that limits nothing: memory with the kernel's at its
highest, and the processes and open files of a box.

The pool itself knows nothing of the group, so that what holds here holds on a machine without any.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.sandbox import SandboxPool
from guerdon.sandbox.control_groups import ControlGroup

_EVERY = 0.01


class Measured:
    """What the boxes of one worker took since `begin`."""

    def __init__(self, group: ControlGroup) -> None:
        self.group = group
        folder = group.folders["memory"]
        self.file = folder / ("memory.peak" if group.version == 2 else "memory.max_usage_in_bytes")
        self.base = self.files = self.processes = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def begin(self) -> None:
        """From now on."""
        if not self.base:
            self.group.settled()
            self.base = self.group.base
            self.thread.start()
        self.file.write_text("0")
        self.files = self.processes = 0

    def memory(self) -> int:
        """Bytes at the highest, the kernel's included, beyond what an idle worker has."""
        return int(self.file.read_text()) - self.base

    def end(self) -> None:
        """Look no more."""
        self.over.set()
        if self.thread.ident:
            self.thread.join()

    def _watch(self) -> None:
        while not self.over.wait(_EVERY):
            boxes: dict[str, list[str]] = {}
            for pid in (self.group.folders["memory"] / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    if _lives(Path(f"/proc/{pid}/status").read_text()):
                        boxes.setdefault(str(Path(f"/proc/{pid}/ns/pid").readlink()), []).append(pid)
            for each in boxes.values():  # by process ids of their own, of which the first is the supervisor's
                each.sort(key=int)
                self.processes = max(self.processes, len(each) - 1)
                for pid in each[1:]:
                    with contextlib.suppress(OSError):
                        self.files = max(self.files, len([*Path(f"/proc/{pid}/fd").iterdir()]))


def _lives(status: str) -> bool:
    return not any(line.startswith("State:") and line.split()[1] in "ZX" for line in status.splitlines())


@contextlib.contextmanager
def measured_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SandboxPool, Measured]]:
    """A pool of one worker that has begun, and what it takes. Skips where there is no group to measure with."""
    try:
        group = ControlGroup()
    except OSError as error:
        pytest.skip(str(error))
    started = subprocess.Popen

    def start(*given: Any, **named: Any) -> Any:
        process = started(*given, **named)
        group.add(process.pid)
        return process

    measured = Measured(group)
    try:
        with SandboxPool(workers=1) as pool:
            with monkeypatch.context() as patched:
                patched.setattr(subprocess, "Popen", start)
                assert pool.python_now("").ok
            measured.begin()
            yield pool, measured
            measured.end()
    finally:
        measured.end()
        group.close()
