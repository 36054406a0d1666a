"""Workers as processes of this machine: forked from one that has the libraries loaded, each at one end of a pair of sockets.

A worker says twice a second that it lives, in a thread of its own: one that is stopped or swapped out says nothing. A job
whose answer never came is sent again; answers to other jobs than the one that is waited for are dropped.
When the run ends, however it does, its sockets close, and the workers end with them.
Leaves out: who gets which job (`crew.py`), what is done with it (`station.py`).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.scale.job import Answer, Job, Lost

HEAD = struct.Struct("<cQ")  # of a message: its kind, and the length of what follows
BEAT, HELLO, ANSWER, JOB, SETUP = b"B", b"H", b"A", b"J", b"S"
STATE = struct.Struct("<QQ")  # what a beat says: the job that came last, and the one that is being played (0: none)
PAUSE = 0.5  # seconds between two beats
SHARED = Path("/dev/shm")
SPARE = 64 << 20  # bytes of it that are left to others


class Pipe:
    """Messages over a socket, written by several threads and read by one."""

    def __init__(self, end: socket.socket) -> None:
        self.end, self.lock = end, threading.Lock()

    def send(self, kind: bytes, body: bytes) -> None:
        with self.lock:
            self.end.sendall(HEAD.pack(kind, len(body)))
            self.end.sendall(body)

    def receive(self) -> tuple[bytes, bytes]:
        kind, size = HEAD.unpack(self._read(HEAD.size))
        return kind, self._read(size)

    def _read(self, size: int) -> bytes:
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            got = self.end.recv_into(view[at:])
            if got == 0:
                raise EOFError
            at += got
        return bytes(data)


class Shelf:
    """Where local workers find weights: files in memory, or in the system's folder for temporary ones."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=_prefix(os.getpid()), dir=SHARED if SHARED.is_dir() else None))

    def put(self, name: str, data: bytes) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < len(data) + SPARE:
            where = f"{len(data) >> 20} MiB of weights for the workers: {self.folder.parent} has {free >> 20} MiB free"
            raise UserError(
                f"no room in shared memory for {where}; enlarge it (docker run --shm-size), or use --workers ray"
            )
        (self.folder / name).write_bytes(data)

    def drop(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _prefix(pid: int) -> str:
    """How the names of a process's shelves begin."""
    return f"guerdon-{pid}-"


class LocalWorker:
    """One worker process, as the run sees it."""

    def __init__(self, setup: Any, shelf: Shelf, patience: float) -> None:
        self.patience, self.where = patience, socket.gethostname()
        ours, theirs = socket.socketpair()
        with theirs:
            _template().spawn(theirs)
        self.pipe, self.process = Pipe(ours), _Process(0)
        ours.settimeout(max(patience, 60.0))  # it loads what is named in run.json
        try:
            self.pipe.send(SETUP, pickle.dumps((setup, str(shelf.folder))))
            self.hello = pickle.loads(self._until(HELLO)[1])
        except (OSError, EOFError) as error:
            self.close()
            raise Lost("ended while it started") from error
        self.process = _Process(self.hello.pid)
        ours.settimeout(patience)

    def do(self, job: Job) -> Answer:
        message = pickle.dumps(job, 5)
        try:
            self.pipe.send(JOB, message)
            while True:
                kind, body = self._until(ANSWER, BEAT)
                if kind == BEAT:
                    if STATE.unpack(body) == (job.number, 0):  # it has played it, and what it said is not here
                        self.pipe.send(JOB, message)
                    continue
                answer: Answer = pickle.loads(body)
                if answer.number == job.number:
                    return answer
        except TimeoutError as error:
            raise Lost(f"said nothing for {self.patience:g} s") from error
        except (OSError, EOFError) as error:
            raise Lost("ended") from error

    def _until(self, *kinds: bytes) -> tuple[bytes, bytes]:
        while (message := self.pipe.receive())[0] not in kinds:
            pass
        return message

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.pipe.end.shutdown(socket.SHUT_RDWR)
        self.pipe.end.close()
        self.process.kill()


class _Process:
    """A process by a handle, where the system has such: a number may have become another process's."""

    def __init__(self, pid: int) -> None:
        self.pid, self.handle, self.lock = pid, -1, threading.Lock()
        if pid and hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):  # it has ended
                self.handle = os.pidfd_open(pid)

    def kill(self) -> None:
        with self.lock:
            if self.handle >= 0:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(self.handle, signal.SIGKILL)
                os.close(self.handle)
                self.handle = -1


# --- the template ----------------------------------------------------------------------------------------------------


class _Template:
    """The process that workers are forked from: loading the libraries takes seconds, a fork some milliseconds."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair()
        code = "import json, sys; sys.path[:] = json.loads(sys.argv[1])\nfrom guerdon.scale.local import template; template()"
        words = [sys.executable, "-c", code, json.dumps([str(Path(each).absolute()) for each in sys.path])]
        words.append(str(os.getpid()))
        with theirs:
            self.process = subprocess.Popen(words, stdin=theirs.fileno(), start_new_session=True)

    def spawn(self, end: socket.socket) -> None:
        socket.send_fds(self.control, [b"W"], [end.fileno()])

    def close(self) -> None:
        """It ends by itself, and so do its workers."""
        self.control.close()
        self.process.wait()

    @property
    def lives(self) -> bool:
        return self.process.poll() is None


_made: dict[int, _Template] = {}  # by process: a fork of this one needs its own
_making = threading.Lock()


def _template() -> _Template:
    with _making:
        template = _made.get(os.getpid())
        if template is None or not template.lives:
            template = _made[os.getpid()] = _Template()
            atexit.register(template.close)
        return template


def template() -> None:
    """Fork a worker for each end of a socket that comes, until the run is gone."""
    import guerdon.scale.station  # noqa: F401 - once, for all workers
    from guerdon.training.catalog import listings

    listings()  # remembered

    control, run = socket.socket(fileno=os.dup(0)), int(sys.argv[2])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number in (signal.SIGINT, signal.SIGHUP):  # Ctrl-C is the run's, which finishes its step
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, ends, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            for place in (SHARED, Path(tempfile.gettempdir())):  # what a run that was killed has left in memory
                for left in place.glob(f"{_prefix(run)}*"):
                    shutil.rmtree(left, ignore_errors=True)
            os._exit(0)
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _work(Pipe(socket.socket(fileno=ends[0])))
        os.close(ends[0])


def _work(pipe: Pipe) -> None:
    """A worker: to the end of the run, or to its own."""
    from guerdon.scale.station import hello

    state = [0, 0]
    try:
        _, body = pipe.receive()
        setup, folder = pickle.loads(body)
        station, said = hello(setup, lambda name: (Path(folder) / name).read_bytes())
        pipe.send(HELLO, pickle.dumps(said))
        threading.Thread(target=_beat, args=(pipe, state), daemon=True).start()
        while station is not None:
            _, body = pipe.receive()
            job = pickle.loads(body)
            state[:] = [job.number, job.number]
            answer = pickle.dumps(station.do(job), 5)
            with pipe.lock:  # no beat may say that it is done before the answer is on its way
                state[1] = 0
                pipe.end.sendall(HEAD.pack(ANSWER, len(answer)))
                pipe.end.sendall(answer)
    except (OSError, EOFError):
        pass
    finally:
        os._exit(0)


def _beat(pipe: Pipe, state: list[int]) -> None:
    """Say that this process lives. When the run is gone, end it, whatever it is doing."""
    pause = threading.Event()
    while not pause.wait(PAUSE):
        try:
            with pipe.lock:
                pipe.end.sendall(HEAD.pack(BEAT, STATE.size) + STATE.pack(*state))
        except OSError:
            os._exit(0)
