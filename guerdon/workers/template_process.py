"""The template: the process that forks workers. It imports what a worker needs and runs no code of the user's.

A fork takes a millisecond, a new interpreter a tenth of a second.
When the pool's process is gone, the template kills the workers and whatever they have started.
A worker inside a hung regex could not do that for itself.
It also reports how each worker died. Imports the standard library and cloudpickle alone.

Leaves out: which worker is to be started or killed, and why (`dispatcher.py`).
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
from guerdon.workers.wire import BORN, DIED, ORDER, READY, REPORT, SPAWN
from guerdon.workers.worker import become_worker


class TemplateProcess:
    """Follows the dispatcher's orders, and reports, until the control socket is closed."""

    def __init__(self, control: socket.socket, memory: int) -> None:
        self.control, self.memory = control, memory
        self.numbers: dict[int, int] = {}  # of workers, by process id
        self.wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        processes.adopt_orphans()
        signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, or the wakeup below is not rung
        signal.set_wakeup_fd(wake_writer)

    def run(self) -> None:
        control = self.control.fileno()
        while True:
            ready, _, _ = select.select([control, self.wake_reader], [], [])
            if self.wake_reader in ready:
                os.read(self.wake_reader, 4096)
                self.reap()
            if control in ready and not self.follow_order():
                for pid in self.numbers:
                    processes.kill_group(pid)
                processes.end_children()
                return

    def follow_order(self) -> bool:
        """Start or kill a worker, as the dispatcher orders; false when the dispatcher is gone."""
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
            for pid in [p for p, n in self.numbers.items() if n == number]:
                processes.kill_group(pid)
        return True

    def spawn(self, number: int, requests: int, answers: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if pid == 0:
            self.control.close()
            os.close(self.wake_reader)
            become_worker(requests, answers, self.memory)
        os.close(requests)
        os.close(answers)
        if pid < 0:
            self.report(DIED, number, -1)
            return
        self.numbers[pid] = number
        with contextlib.suppress(OSError):  # the worker does it too: the first one wins
            os.setpgid(pid, pid)
        self.report(BORN, number, pid)

    def report(self, event: bytes, number: int, value: int) -> None:
        with contextlib.suppress(ConnectionError):
            self.control.sendall(REPORT.pack(event, number, value))

    def reap(self) -> None:
        """Report every worker that has died, and kill what it has left, in its process group or out of it."""
        while (done := _ended()) is not None:
            number = self.numbers.pop(done, None)
            if number is not None:
                processes.kill_group(done)  # before it is reaped: until then no other process can have its number
            _, status = os.waitpid(done, 0)
            if number is not None:
                self.report(DIED, number, status)
            for pid in processes.children(os.getpid()):
                if pid not in self.numbers:
                    processes.kill(pid)  # an orphan of a worker's: it comes back here once it is dead


def _ended() -> int | None:
    with contextlib.suppress(ChildProcessError):
        done = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if done is None else done.si_pid
    return None


def main() -> None:
    import cloudpickle  # noqa: F401  loaded once, here, for all workers

    control = socket.socket(fileno=os.dup(0))
    control.sendall(REPORT.pack(READY, 0, 0))
    # A function of the user's __main__ must not find this program there.
    sys.modules["__main__"] = ModuleType("__main__")
    gc.freeze()
    TemplateProcess(control, int(sys.argv[1])).run()
