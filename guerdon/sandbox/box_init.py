"""The first process of a box: it makes the working folder, starts the program, watches every limit, and tells what came of it.

The program cannot reach it: where a box has process ids of its own this is number 1, which no signal from inside ends,
and when it ends everything in the box ends. It answers refused system calls and knows them by name. All it reads of the
program is bounded.
Leaves out: what the program's own process does (`boxed_program.py`), and what the facts mean (`ran_program.py`).
"""

from __future__ import annotations

import _socket
import contextlib
import errno
import fcntl
import json
import marshal
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from guerdon.sandbox import kernel_calls, seccomp_filter
from guerdon.sandbox.box_memory import BoxMemory
from guerdon.sandbox.box_processes import BoxConfig, BoxProcesses
from guerdon.sandbox.boxed_program import BOXED, Ends, be_program
from guerdon.sandbox.boxed_root import WORK
from guerdon.sandbox.counted_calls import CountedCalls
from guerdon.sandbox.plain_data import GIVE_BACK, MOST_BYTES, read_frame, write_all
from guerdon.sandbox.syscall_numbers import CALLS

MOST_REQUEST = 256 << 20
MOST_SAID = 1 << 16  # bytes of what a program says of itself
MOST_REFUSED = 1000  # refused calls that are answered; whoever goes on trying is ended
_GONE = 1.0  # seconds in which a process that was killed has ended
_FORKS = {"fork", "vfork", "clone"}


def look_after(channel: int, config: BoxConfig) -> None:
    """Run what the channel asks for, and answer on it."""
    kernel_calls.default_action(signal.SIGCHLD)
    if sys.platform == "linux":
        kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        if config.isolation != "full":
            kernel_calls.prctl(kernel_calls.PR_SET_CHILD_SUBREAPER, 1)
    work = ""
    try:
        request = marshal.loads(read_frame(channel, MOST_REQUEST))
        work = _working_folder(request, config)
        box = _Box(channel, request, config, work)
        box.run()
        if config.isolation != "full":
            _remove(work)
        _answer(channel, box.facts(), box.blobs())
    except EOFError:
        return  # whoever asked is gone
    except BaseException as error:  # noqa: BLE001  told as the box's own fault
        facts = {"over": "broken", "error": f"{type(error).__name__}: {error}", "kind": "", "status": 0}
        _answer(channel, facts | {"cpu": 0.0, "wall": 0.0, "forbidden": [], "full": False}, [b""] * 4)
    finally:
        if work and config.isolation != "full":
            _remove(work)


def _answer(channel: int, facts: dict[str, Any], blobs: list[bytes]) -> None:
    head = json.dumps(facts | {"sizes": [len(blob) for blob in blobs]}).encode()
    with contextlib.suppress(OSError):
        write_all(channel, len(head).to_bytes(4, "little") + head + b"".join(blobs))


def _working_folder(request: dict[str, Any], config: BoxConfig) -> str:
    """An empty folder of the program's own, with the files that it is given in it."""
    disk = int(request["limits"]["disk"])
    if config.isolation == "full":
        kernel_calls.unshare(kernel_calls.CLONE_NEWNS | kernel_calls.CLONE_NEWIPC)
        inodes = max(64, min(disk >> 12, 4096))
        options = f"size={disk},nr_inodes={inodes},mode=700"
        kernel_calls.mount("work", WORK, "tmpfs", kernel_calls.MS_NOSUID | kernel_calls.MS_NODEV, options)
        work = WORK
    else:
        work = f"{config.scratch}/box-{os.urandom(12).hex()}"
        os.mkdir(work, 0o700)
    os.chdir(work)
    for name, text in request["files"].items():
        if folder := os.path.dirname(name):
            os.makedirs(folder, exist_ok=True)
        with open(name, "wb") as file:
            file.write(bytes.fromhex(text))
    return work


def _remove(work: str) -> None:
    """A working folder that is no mount, with all that is in it."""
    import shutil  # here, for boxes with mounts do without it

    shutil.rmtree(work, ignore_errors=True)


class _Box:
    """One program (with its tests, where it has some) from its start to its end."""

    def __init__(self, channel: int, request: dict[str, Any], config: BoxConfig, work: str) -> None:
        self.channel, self.request, self.config, self.work = channel, request, config, work
        self.limits, self.kind = request["limits"], str(request["kind"])
        self.out, self.err, self.report, self.verdict = (bytearray() for _ in range(4))
        self.poll = select.poll()
        self.handlers: dict[int, Callable[[int], None]] = {}
        self.over, self.error = "", ""
        self.forbidden: list[str] = []
        self.refused = 0
        self.statuses: dict[int, int] = {}  # of those that were reaped
        self.program_status: int | None = None
        self.began = time.monotonic()
        self.program = self.tester = 0
        self.full = False
        self.processes = BoxProcesses(self.limits["processes"], config)
        self.memory = BoxMemory(self.limits["memory"], self.processes, config)
        self.counted = CountedCalls(config, self.memory, self.processes)
        self.used: list[float] = []  # seconds of processor that its processes were last seen to have taken
        self.used_at = 0.0

    def run(self) -> None:
        """Start it, watch it to its end, and leave nothing of it alive."""
        self._watch(self.channel, lambda event: self._leave())
        try:
            self._start()
            kernel_calls.default_action(signal.SIGINT)  # without a handler no signal from inside reaches this process
            while not self.over and not self._ended():
                told = self._wait(self._seconds_to_next_look())
                self._check_memory()  # before all else: it grows while this process is busy
                for end, event in told:
                    if end in self.handlers:
                        self.handlers[end](event)
                    self._check_memory()
                self._reap()
                self._check_time()
        finally:
            self._end_all()
        self.wall = time.monotonic() - self.began
        for end in list(self.handlers):
            if end != self.channel:
                self._drain(end)
        with contextlib.suppress(OSError):
            room = os.statvfs(self.work)
            self.full = self.config.isolation == "full" and (room.f_bavail == 0 or room.f_ffree == 0)

    # --- starting

    def _start(self) -> None:
        out, err, report = (self._pipe(stream) for stream in (self.out, self.err, self.report))
        if self.kind != "check":
            self.program = self._fork(self.request, Ends(out, err, report))
        else:
            ask, asked = os.pipe()
            answered, answer = os.pipe()
            self.program = self._fork(self.request, Ends(out, err, report, ask, answer))
            # Only now the tests are read: the program was forked before, and never had them in its memory.
            tests = marshal.loads(read_frame(self.channel, MOST_REQUEST))
            verdict = self._pipe(self.verdict)
            self.tester = self._fork(tests, Ends(out, err, verdict, answered, asked))
            for end in (ask, asked, answered, answer, verdict):
                os.close(end)
        for end in (out, err, report):
            os.close(end)
        self.processes.begin(self.program, max(self.program, self.tester))
        self.memory.begin()

    def _fork(self, request: dict[str, Any], ends: Ends) -> int:
        hear, tell = _socket.socketpair()  # its own class is dearer by a tenth of a box
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                be_program(request, ends, tell.detach(), self.config, self.work, parent)
            finally:
                os._exit(1)
        tell.close()
        end = hear.detach()
        gone = os.pidfd_open(pid) if self.config.pidfds else -1  # readable once it has ended
        self._watch(end, lambda event: self._take_listener(end, pid, gone))
        if gone >= 0:
            self._watch(gone, lambda event: self._forget(gone) if event else None)
        return pid

    def _pipe(self, stream: bytearray) -> int:
        """The end of a pipe to write to; what comes out goes into the stream."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)

        def take(event: int) -> None:
            self._take(reader, stream)

        self._watch(reader, take)
        return writer

    def _watch(self, end: int, handler: Callable[[int], None]) -> None:
        self.handlers[end] = handler
        self.poll.register(end, select.POLLIN | select.POLLHUP)

    def _forget(self, end: int) -> None:
        if self.handlers.pop(end, None):
            self.poll.unregister(end)
            os.close(end)

    # --- watching

    def _leave(self) -> None:
        """Whoever asked is gone."""
        self._end_all()
        raise EOFError

    def _take(self, reader: int, stream: bytearray) -> None:
        try:
            part = os.read(reader, 1 << 16)
        except BlockingIOError:
            return
        if not part:
            self._forget(reader)
            return
        stream += part
        if stream is self.report or stream is self.verdict:
            most = MOST_BYTES if self.kind in GIVE_BACK else MOST_SAID
            if len(stream) > most:
                self._stop("output", f"gave back more than {most:,} bytes")
        elif len(self.out) + len(self.err) > self.limits["output"]:
            self._stop("output", f"printed more than {self.limits['output']:,} bytes")

    def _take_listener(self, end: int, pid: int, process: int) -> None:
        """The program's process says, before it is the program's, that it is boxed, or why it could not be. Then the descriptor
        on which refused calls are told is taken out of it: for descriptors that are sent all boxes share one limit."""
        word = os.read(end, 1000)
        if word.startswith(BOXED):
            try:
                listener = kernel_calls.syscall("pidfd_getfd", process, int(word.removeprefix(BOXED)), 0)
                self._watch(listener, lambda event: self._refuse(listener, event))
                if pid == self.program and self.memory.measures and not self.memory.several:
                    self.processes.see_maps(pid)
                os.write(end, BOXED)
            except OSError:
                if not select.select([process], [], [], _GONE)[0]:  # nobody in the box has ended it
                    raise
        elif word:
            self._stop("broken", word.decode("utf-8", "replace"))
        self._forget(end)

    def _refuse(self, listener: int, event: int) -> None:
        if not event & select.POLLIN:
            self._forget(listener)
            return
        record = bytearray(80)
        try:
            fcntl.ioctl(listener, seccomp_filter.RECEIVE, record)
            ident, thread, number, arguments = seccomp_filter.told(record)
            name = CALLS.get(number, f"number {number}")
            error = self._error_of(thread, name, arguments)
            fcntl.ioctl(listener, seccomp_filter.ANSWER, bytearray(seccomp_filter.answer(ident, error)))
        except OSError:
            return  # it died in the middle of the call
        if not error or (name == "mmap" and error == errno.ENOMEM):  # as any mapping fails beyond its limit
            return
        self.refused += 1
        if name not in self.forbidden:
            self.forbidden.append(name)
        if self.refused >= MOST_REFUSED:
            self._stop("forbidden", f"went on making system calls that it is refused: {name}")

    def _error_of(self, thread: int, name: str, arguments: tuple[int, ...]) -> int:
        """The error that a call which was told fails with; 0 where it may go on."""
        if name in _FORKS:
            return self.processes.start_error(thread, name, arguments[0])
        counted = self.counted.error(thread, name, arguments)
        return errno.EPERM if counted is None else counted

    def _seconds_to_next_look(self) -> float:
        left: float = self.limits["wall"] - (time.monotonic() - self.began)
        spare = min((self.limits["cpu"] - used for used in self._cpu_used()), default=left)
        most = (0.02 if self.limits["processes"] > 1 else 0.25) if hasattr(os, "pidfd_open") else 0.005
        soon = max(0.005, min(left, spare / 2 if spare > 0.05 else spare, most))
        return max(0.0, min(soon, self.memory.due - time.monotonic()))

    def _wait(self, seconds: float) -> list[tuple[int, int]]:
        """What there is to handle, after so many seconds or before."""
        if seconds < 0.002:  # a poll waits for whole milliseconds
            time.sleep(seconds)
            return self.poll.poll(0)
        return self.poll.poll(int(1000 * seconds))

    def _cpu_used(self) -> list[float]:
        """Seconds of processor that each of the processes took so far; of several that the program may have, all together.
        Several are asked again after 5 ms."""
        now = time.monotonic()
        if self.limits["processes"] > 1 and now - self.used_at < (
            0.05 if self.memory.near and not self.memory.stopped else 0.005
        ):
            return self.used
        self.used_at, self.used = now, (used := [])
        pids = [self.program, self.tester]
        if self.limits["processes"] > 1 and self.config.isolation == "full":
            used.append(self.processes.cpu())
            pids.remove(self.program)
        for pid in pids:
            if pid and pid not in self.statuses and sys.platform == "linux":
                with contextlib.suppress(OSError):
                    used.append(time.clock_gettime((~pid << 3) | 2))
        return used

    def _check_time(self) -> None:
        if not self._ended():
            if any(used > self.limits["cpu"] for used in self._cpu_used()):
                self._stop("cpu", f"took more than {self.limits['cpu']:g} s of processor time")
            elif time.monotonic() - self.began > self.limits["wall"]:
                self._stop("wall", f"took more than {self.limits['wall']:g} s")

    def _check_memory(self) -> None:
        if time.monotonic() < self.memory.due or self._ended():
            return
        if self.memory.over():
            took = f"took more than {self.limits['memory']:,} bytes of memory"
            alone = self.limits["processes"] == 1
            self._stop(
                "memory", f"{took}, with page tables and all it shared" if alone else f"its processes {took} together"
            )
        elif self.memory.stopped:  # whatever takes long is done now
            self._check_time()
            self.memory.go_on()

    def _ended(self) -> bool:
        return (self.tester or self.program) in self.statuses

    def _stop(self, over: str, error: str) -> None:
        if not self.over:
            self.over, self.error = over, error

    # --- ending

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                self.statuses[pid] = os.waitstatus_to_exitcode(status)
                if pid == self.program:
                    self.program_status = self.statuses[pid]

    def _end_all(self) -> None:
        """Kill whatever is left in the box, and wait until it is gone."""
        until = time.monotonic() + _GONE
        while self.tester in self.statuses and self.program not in self.statuses:
            time.sleep(0)  # let a program that is about to end say so
            self._reap()
            if time.monotonic() > until or not self.processes.exits(self.program):
                break
        said = self.program_status
        if self.config.isolation == "full":
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            self._kill_groups()
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        self.program_status = said

    def _kill_groups(self) -> None:
        """Without process ids of its own: its groups, and then whatever left them and came to us as orphans."""
        pids = {self.program, self.tester} - {0}
        while pids:
            for pid in pids:
                for kill in (os.killpg, os.kill):
                    with contextlib.suppress(OSError):
                        kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, 0)
            try:
                with open(f"/proc/self/task/{os.getpid()}/children") as file:
                    pids = {int(word) for word in file.read().split()}
            except OSError:
                return

    def _drain(self, end: int) -> None:
        """What is in a pipe still, now that nobody writes to it."""
        while end in self.handlers and not self.over:
            before = len(self.out) + len(self.err) + len(self.report) + len(self.verdict)
            self.handlers[end](0)
            if before == len(self.out) + len(self.err) + len(self.report) + len(self.verdict):
                break

    # --- telling

    def facts(self) -> dict[str, Any]:
        """What came of it, for `ran_program.py`."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "kind": self.kind,
            "over": self.over,
            "error": self.error,
            "status": self.program_status,
            "processes": self.limits["processes"],
            "tester": self.statuses.get(self.tester),
            "cpu": used.ru_utime + used.ru_stime,
            "wall": self.wall,
            "forbidden": self.forbidden,
            "full": self.full,
        }

    def blobs(self) -> list[bytes]:
        """What it printed and said, within bounds."""
        room = int(self.limits["output"])
        out = bytes(self.out[:room])
        return [out, bytes(self.err[: max(0, room - len(out))]), bytes(self.report), bytes(self.verdict)]
