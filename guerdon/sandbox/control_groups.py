"""A control group for the boxes of one zygote: the kernel itself holds them to memory, its own included, and to process ids.

Rlimits count for one process each and leave out what the kernel keeps for it: buffers of sockets and pipes, page tables, file
locks. A control group counts all of it, and the processor time of processes that ended before anybody looked. It takes a
machine that lets this process make one: version 1 below its own, version 2 beside its own, for a group of version 2 that has
processes gives no controllers to those below it.
Leaves out: who asks for one (`sandbox_pool.py`), what a program without one is held by (`box_processes.py`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from guerdon.sandbox.limits import Limits

MOST_THREADS = 64
SLACK = 24 << 20  # bytes for the box's own processes, and what the kernel keeps for each
_WANTED = ("memory", "pids", "cpuacct")
_OWN_PIDS = 6  # the zygote's two, a box's first process with a thread of its own, and the tests' process
_PATIENCE = 5.0  # seconds for processes that were killed to leave a group


@dataclass(frozen=True)
class _Files:
    """What a version calls its files."""

    memory_limit: str
    memory: str
    killed: tuple[str, str]  # the file, and the word before the number of processes killed for memory
    cpu: tuple[str, str, float]  # the file, the word before the time, and what it is told in


_FIRST = _Files(
    "memory.limit_in_bytes", "memory.usage_in_bytes", ("memory.oom_control", "oom_kill "), ("cpuacct.usage", "", 1e-9)
)
_SECOND = _Files("memory.max", "memory.current", ("memory.events", "oom_kill "), ("cpu.stat", "usage_usec ", 1e-6))


class ControlGroup:
    """One group, below that of this process. An OSError says why there can be none."""

    def __init__(self) -> None:
        self.version, own = _own_groups()
        self.files = _SECOND if self.version == 2 else _FIRST
        name = f"guerdon-{os.getpid()}-{secrets.token_hex(4)}"
        self.folders: dict[str, Path] = {}
        made: list[Path] = []
        try:
            for controller, parent in own.items():
                folder = parent / name
                if folder not in made:
                    folder.mkdir()
                    made.append(folder)
                self.folders[controller] = folder
            for controller, file in (
                *(("memory", file) for file in (self.files.memory_limit, self.files.memory, self.files.killed[0])),
                *(("pids", "pids.max"), ("cpuacct", self.files.cpu[0])),
            ):
                if not (self.folders[controller] / file).exists():
                    raise OSError(f"the control group of this process delegates no {controller} to child groups")
        except OSError as error:
            for folder in made:
                folder.rmdir()
            raise OSError(f"no control group can be made below this process's: {error.strerror or error}") from None
        self.base = self.limit = 0
        self.killed = 0

    def add(self, pid: int) -> None:
        """A process, and all that it starts from now on."""
        for folder in dict.fromkeys(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def settled(self) -> None:
        """What is in it now is not a program's to pay."""
        self.base = self._number("memory", self.files.memory)

    def begin(self, limits: Limits, programs: int) -> None:
        """The next box has these limits, and so many processes that have the memory of one each."""
        limit = self.base + programs * limits.memory + limits.disk + limits.output + SLACK
        if limit != self.limit:
            self._write("memory", self.files.memory_limit, limit)
            self.limit = limit
        self._write("pids", "pids.max", limits.processes + MOST_THREADS + _OWN_PIDS)
        self.killed = self._killed()

    def ran_out(self) -> bool:
        """Whether the kernel has killed for memory since the box began."""
        return self._killed() > self.killed

    def clock(self) -> tuple[int, str, float]:
        """An open file that tells the processor time of all, the word before it, and what it is told in."""
        file, word, unit = self.files.cpu
        return os.open(self.folders["cpuacct"] / file, os.O_RDONLY | os.O_CLOEXEC), word, unit

    def close(self) -> None:
        """Remove it, once those who were in it are gone."""
        until = time.monotonic() + _PATIENCE
        for folder in dict.fromkeys(self.folders.values()):
            while folder.exists() and time.monotonic() < until:
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.01)

    def _killed(self) -> int:
        file, word = self.files.killed
        text = (self.folders["memory"] / file).read_text()
        return next((int(line.removeprefix(word)) for line in text.splitlines() if line.startswith(word)), 0)

    def _number(self, controller: str, file: str) -> int:
        return int((self.folders[controller] / file).read_text())

    def _write(self, controller: str, file: str, value: int) -> None:
        (self.folders[controller] / file).write_text(str(value))


def _own_groups() -> tuple[int, dict[str, Path]]:
    """The version of control groups, and by controller the folder of the group that this process is in."""
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    groups: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, place = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2" and "" in own:
            groups[""] = _below(place, root, own[""])
        elif kind == "cgroup":
            groups |= {each: _below(place, root, own[each]) for each in options.split(",") if each in own}
    if all(each in groups for each in _WANTED):
        return 1, {each: groups[each] for each in _WANTED}
    if "" in groups:
        return 2, dict.fromkeys(_WANTED, _parent(groups[""]))
    raise OSError("this machine has no control groups for memory and process ids")


def _parent(own: Path) -> Path:
    """Of version 2: the group that gives memory and process ids to those below it, this process's or the one above."""
    for folder in (own, own.parent):
        with contextlib.suppress(OSError):
            if {"memory", "pids"} <= set((folder / "cgroup.subtree_control").read_text().split()):
                return folder
    return own


def _below(place: str, root: str, path: str) -> Path:
    """Where a group lies, by where a part of the tree is mounted."""
    return Path(place, os.path.relpath(path, root))


def control_groups() -> str:
    """What a pool with `cgroup=True` would be held by here, in words; an OSError where there is nothing."""
    group = ControlGroup()
    group.close()
    return f"control groups, version {group.version}"
