"""Rewards of the bench as the studio sees them: processes that are asked, and ended when they take too long.

The studio itself runs no user code. A reward is opened once, and again when its file has changed.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from guerdon.core.errors import UserError
from guerdon.runs.whole_files import file_mark
from guerdon.workers.processes import kill_group

OPENED = 3  # rewards at once; the one that was asked longest ago goes
STARTING = 60.0  # seconds for the template to import and for a reward's file to load
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from guerdon.studio.bench.bench_template import main; main()"
Marks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class RewardName:
    """Which reward: one by name, or a run's own where that is None; the run's folder; and the Python files it is made of."""

    spec: str | None
    folder: str | None
    files: tuple[str, ...] = field(default=(), compare=False)

    @property
    def shown(self) -> str:
        return self.spec or "the run's reward"

    def marks(self) -> Marks:
        """What changes when one of the files does."""
        return tuple(file_mark(Path(file)) for file in self.files)


class RewardProcess:
    """A process with one reward in it."""

    def __init__(self, template: socket.socket, name: RewardName) -> None:
        self.name, self.marks = name, name.marks()
        self.line, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(template, [b"+"], [theirs.fileno()])
        self.file: BinaryIO = self.line.makefile("rwb")  # type: ignore[assignment]
        self.line.settimeout(STARTING)
        self.pid = 0
        try:
            self.pid = int(self._read()["pid"])
            self.about = self.ask("open", {"spec": name.spec, "folder": name.folder}, STARTING)
        except BaseException:
            self.end()
            raise

    def ask(self, do: str, given: dict[str, Any], limit: float) -> Any:
        """A question and its answer, or a line with the reason why there is none; then the process may be gone."""
        self.line.settimeout(limit)
        try:
            self.file.write(json.dumps({"do": do, **given}).encode() + b"\n")
            self.file.flush()
            answer = self._read()
        except TimeoutError as error:
            self.end()
            raise UserError(f"{self.name.shown} took longer than {limit:g} s and was stopped") from error
        except (OSError, ValueError) as error:
            self.end()
            why = f"the process of {self.name.shown} ended: it crashed, or left by os._exit"
            raise UserError(why) from error
        if "error" in answer:
            raise UserError(answer["error"])
        return answer["answer"]

    def _read(self) -> dict[str, Any]:
        line = self.file.readline()
        if not line:
            raise OSError("the line is closed")
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def is_gone(self) -> bool:
        return self.line.fileno() < 0

    def end(self) -> None:
        """It and whatever it started."""
        if self.pid:
            kill_group(self.pid)
        for each in (self.file, self.line):
            try:
                each.close()
            except OSError:  # it has ended already, with words for it in the pipe
                self.line.close()


class RewardRooms:
    """All rewards that are on the bench of one application. However the studio ends, they end with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[RewardName, RewardProcess] = OrderedDict()
        self._busy: dict[RewardName, threading.Lock] = {}

    def ask(self, name: RewardName, do: str, given: dict[str, Any], limit: float) -> tuple[Any, list[str]]:
        """An answer about a reward, and the names of its files that were changed since it was asked last."""
        with self._lock:
            turn = self._busy.setdefault(name, threading.Lock())
        with turn:
            process, changed = self._process(name)
            if do == "about":
                return process.about, changed
            return process.ask(do, given, limit), changed

    def prepare(self) -> None:
        """Start what takes seconds, before a user waits for it."""
        _template.socket()

    def close(self) -> None:
        """End them all."""
        with self._lock:
            there = [self._open.pop(name) for name in [*self._open]]
        for each in there:
            each.end()

    def _process(self, name: RewardName) -> tuple[RewardProcess, list[str]]:
        """The reward's process, restarted where it has ended or a file of the reward has changed."""
        with self._lock:
            there = self._open.pop(name, None)
        changed: list[str] = []
        if there is not None:
            now = name.marks()
            changed = [Path(f).name for f, a, b in zip(name.files, there.marks, now, strict=True) if a != b]
            if changed or there.is_gone:
                there.end()
                there = None
        made = there or RewardProcess(_template.socket(), name)
        with self._lock:
            self._open[name] = made
            oldest = [self._open.pop(each) for each in [*self._open][:-OPENED]]
        for each in oldest:
            each.end()
        return made, changed


class _Template:
    """The process that rewards are forked from, one for this program: started when it is wanted first, and again should it have
    ended. It ends with this program, at the latest when the system closes the control socket, and its children end with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def socket(self) -> socket.socket:
        with self._lock:
            if self._control is None or not _is_alive(self._control):
                self._control, theirs = socket.socketpair()
                paths = [path for path in sys.path if isinstance(path, str)]
                with theirs:
                    self._process = subprocess.Popen(
                        [sys.executable, "-P", "-c", _PROGRAM, *paths],
                        stdin=theirs.fileno(),
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
                        start_new_session=True,
                    )
            return self._control

    def close(self) -> None:
        with self._lock:
            if self._control is not None and self._process is not None:
                self._control.close()
                self._process.kill()
                self._process.wait()


def _is_alive(control: socket.socket) -> bool:
    """Whether the other end is open: it never sends anything, so there is nothing to read but its end."""
    try:
        return control.recv(1, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


_template = _Template()
atexit.register(_template.close)
