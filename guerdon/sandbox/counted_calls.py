"""System calls that a program may make, but not without end: what they take is the kernel's memory, and no rlimit counts it.

Leaves out: which calls are told (`seccomp_filter.py`), who answers them (`box_init.py`), processes (`box_processes.py`).
"""

from __future__ import annotations

import errno
import os

from guerdon.sandbox.box_memory import BoxMemory
from guerdon.sandbox.box_processes import BoxConfig
from guerdon.sandbox.seccomp_filter import SHARED_ALONE

MOST_WATCHED = 10_000  # descriptors added to an epoll: 200 bytes each, and one may stand there under many numbers
MOST_LOCKS = 20_000  # calls that lock a part of a file, or unlock it: 200 bytes for each part
MOST_SOCKETS = 64  # that are open at a time: each holds 200 to 280 KB that nobody has read
_UNIX, _STREAM, _KIND = 1, 1, 0xF
_PAGE = os.sysconf("SC_PAGE_SIZE")


class CountedCalls:
    """Those of one box."""

    def __init__(self, config: BoxConfig, memory: BoxMemory) -> None:
        self.config, self.memory = config, memory
        self.watched = self.locks = self.pairs = 0

    def error(self, name: str, arguments: tuple[int, ...]) -> int | None:
        """The error that a call fails with, 0 where it may go on; None for what is not counted."""
        if name == "mmap" and arguments[3] & SHARED_ALONE == SHARED_ALONE:
            return self.memory.share(-(-arguments[1] // _PAGE) * _PAGE)
        if name == "epoll_ctl":
            self.watched += 1
            return errno.ENOMEM if self.watched > MOST_WATCHED else 0
        if name == "fcntl" and arguments[1] in (6, 7, 37, 38):
            self.locks += 1
            return errno.ENOLCK if self.locks > MOST_LOCKS else 0
        if name == "socketpair" and arguments[0] == _UNIX and arguments[1] & _KIND == _STREAM:
            self.pairs += 1
            return errno.EMFILE if 2 * self.pairs > MOST_SOCKETS and self._open_sockets() >= MOST_SOCKETS else 0
        return None

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
