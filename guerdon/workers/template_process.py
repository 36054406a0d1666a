"""The process that forks workers: it imports what a worker needs, runs no code of the user's, and forks when it is told to
(a millisecond, where a new interpreter takes a tenth of a second).

It also does what a worker inside a hung regex could not: it kills the workers, and whatever they have started, when the parent
is gone, and says how each of them died. Imports the standard library and cloudpickle alone.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from types import ModuleType

from guerdon.workers import processes
from guerdon.workers.records import BORN, DIED, NEWS, ORDER, READY, SPAWN
from guerdon.workers.worker import become_worker


class Template:
    def __init__(self, control: socket.socket, memory: int) -> None:
        self.control, self.memory = control, memory
        self.number: dict[int, int] = {}  # by process id
        self.bell, ring = os.pipe()
        os.set_blocking(ring, False)
        processes.adopt_orphans()
        signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, or the wakeup below is not rung
        signal.set_wakeup_fd(ring)

    def run(self) -> None:
        control = self.control.fileno()
        while True:
            ready, _, _ = select.select([control, self.bell], [], [])
            if self.bell in ready:
                os.read(self.bell, 4096)
                self.bury()
            if control in ready and not self.obey():
                for pid in self.number:
                    processes.kill_group(pid)
                processes.end_children()
                return

    def obey(self) -> bool:
        """One order of the parent's; false when the parent is gone."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self.control, ORDER.size, 2)
        except ConnectionError:
            message = b""
        if len(message) < ORDER.size:
            return False
        order, number = ORDER.unpack(message)
        if order == SPAWN:
            self.spawn(number, *descriptors)
        else:
            for pid in [p for p, n in self.number.items() if n == number]:
                processes.kill_group(pid)
        return True

    def spawn(self, number: int, requests: int, answers: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if pid == 0:
            self.control.close()
            os.close(self.bell)
            become_worker(requests, answers, self.memory)
        os.close(requests)
        os.close(answers)
        if pid < 0:
            self.tell(DIED, number, -1)
            return
        self.number[pid] = number
        with contextlib.suppress(OSError):  # the worker does it too: whoever comes first
            os.setpgid(pid, pid)
        self.tell(BORN, number, pid)

    def tell(self, news: bytes, number: int, value: int) -> None:
        with contextlib.suppress(ConnectionError):
            self.control.sendall(NEWS.pack(news, number, value))

    def bury(self) -> None:
        """Tell the parent of every worker that has died, and kill what it has left, in its process group or out of it."""
        while (done := _ended()) is not None:
            number = self.number.pop(done, None)
            if number is not None:
                processes.kill_group(done)  # before it is reaped: until then nobody else can have its number
            _, status = os.waitpid(done, 0)
            if number is not None:
                self.tell(DIED, number, status)
            for pid in processes.children(os.getpid()):
                if pid not in self.number:
                    processes.kill(pid)  # an orphan of a worker's: it comes back here once it is dead


def _ended() -> int | None:
    with contextlib.suppress(ChildProcessError):
        done = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if done is None else done.si_pid
    return None


def main() -> None:
    import cloudpickle  # noqa: F401  loaded once, here, for all workers

    control = socket.socket(fileno=os.dup(0))
    control.sendall(NEWS.pack(READY, 0, 0))
    sys.modules["__main__"] = ModuleType(
        "__main__"
    )  # a function of the user's __main__ must not find this program there
    gc.freeze()
    Template(control, int(sys.argv[1])).run()
