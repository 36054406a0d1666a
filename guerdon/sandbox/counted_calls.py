"""System calls that a program may make, but not without end: what they take is the kernel's memory, and no rlimit counts it; or
it is taken from others of the same user, as the memory for pipes is.

Leaves out: which calls are told (`seccomp_filter.py`), who answers them (`box_init.py`), processes (`box_processes.py`).
"""

from __future__ import annotations

import errno
import os

from guerdon.sandbox.box_memory import BoxMemory
from guerdon.sandbox.box_processes import BoxConfig, BoxProcesses
from guerdon.sandbox.seccomp_filter import LOCKS, SHARED_ALONE

MOST_WATCHED = 10_000  # descriptors added to an epoll: 200 bytes each, and one may stand there under many numbers
MOST_LOCKS = 20_000  # calls that lock a part of a file, or unlock it: 200 bytes for each part
MOST_SOCKETS = 32  # that are open at a time
MOST_PIPES = 10  # that are open at a time, for each process: a user's pipes share 16,384 pages, 16 each
MOST_PIPES_TOGETHER = 256
_OF_SOCKET, _OF_PIPE = 280_000, 1 << 16  # bytes that nobody has read, at most
_OWN_FILES = 6  # that each process has open from its begin
_UNIX, _STREAM, _KIND = 1, 1, 0xF
_PAGE = os.sysconf("SC_PAGE_SIZE")


class CountedCalls:
    """Those of one box."""

    def __init__(self, config: BoxConfig, memory: BoxMemory, processes: BoxProcesses) -> None:
        self.config, self.memory, self.processes = config, memory, processes
        memory.buffers = self.buffers
        self.watched = self.locks = self.pairs = self.pipes = 0
        self.most_pipes = min(MOST_PIPES * processes.most, MOST_PIPES_TOGETHER)

    def error(self, thread: int, name: str, arguments: tuple[int, ...]) -> int | None:
        """The error that a thread's call fails with, 0 where it may go on; None for what is not counted."""
        if name == "mmap" and arguments[3] & SHARED_ALONE == SHARED_ALONE:
            return self.memory.share(-(-arguments[1] // _PAGE) * _PAGE)
        if name == "epoll_ctl":
            self.watched += 1
            return errno.ENOMEM if self.watched > MOST_WATCHED else 0
        if name == "fcntl" and arguments[1] in LOCKS:
            self.locks += 1
            return errno.ENOLCK if self.locks > MOST_LOCKS else self._lock_error(thread, arguments[0])
        if name == "socketpair" and arguments[0] == _UNIX and arguments[1] & _KIND == _STREAM:
            self.pairs += 1
            return errno.EMFILE if 2 * self.pairs > MOST_SOCKETS and self._open_sockets() >= MOST_SOCKETS else 0
        if name in ("pipe", "pipe2"):
            self.pipes += 1
            return errno.EMFILE if self.pipes > self.most_pipes and self._open_pipes() >= self.most_pipes else 0
        return None

    def buffers(self, exactly: bool) -> int:
        """Bytes that the kernel keeps if all sockets and pipes are full: of those that were made, or exactly of those that are
        open."""
        sockets, pipes = min(2 * self.pairs, MOST_SOCKETS), min(self.pipes, self.most_pipes)
        if exactly:
            sockets = min(sockets, self._open_sockets()) if sockets else 0
            pipes = min(pipes, self._open_pipes()) if pipes else 0
        return sockets * _OF_SOCKET + pipes * _OF_PIPE

    def _lock_error(self, thread: int, number: int) -> int:
        """Only files of the box may be locked: for others those would wait who are not in it."""
        try:
            end = self.processes.file_of(thread, number)
        except (OSError, StopIteration):
            return errno.EBADF
        try:
            return 0 if os.fstat(end).st_dev == os.lstat(".").st_dev else errno.EPERM
        finally:
            os.close(end)

    def _open_pipes(self) -> int:
        """Pipes that are open; of one process, whose files nobody is told, as many as it can have, and 0 before Linux 6.2."""
        if self.processes.most == 1:
            return sum(max(0, self.processes.open_files(pid) - _OWN_FILES) // 2 for pid in self.processes.living)
        self.processes.look()
        links = {link for pid in self.processes.living for link in self.processes.files_of(pid)}
        return sum(link.startswith("pipe:") for link in links)

    def _open_sockets(self) -> int:
        """Sockets in the box's own network, with the few that are ours; 0 where it has none of its own, or nobody tells."""
        if self.config.isolation != "full" or self.config.proc < 0:
            return 0
        try:
            end = os.open("self/net/unix", os.O_RDONLY, dir_fd=self.config.proc)
        except OSError:
            return 0
        with open(end, "rb") as file:
            return file.read().count(b"\n") - 1
