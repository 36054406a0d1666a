"""The process that rewards of the bench are forked from: it has imported what they need and runs no user code.

Each socket that comes over its control socket gets a process of its own, which opens one reward and answers about it until the
socket is closed or the studio ends it. Whatever the reward does there (hang, exit, print, crash) affects only that process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from types import ModuleType
from typing import Any

from guerdon.core.errors import UserError, in_a_line
from guerdon.core.json_values import json_value
from guerdon.studio.bench.reward_bench import RewardBench
from guerdon.workers.processes import die_with_parent


def main() -> None:
    control = socket.socket(fileno=os.dup(0))
    sys.modules["__main__"] = ModuleType("__main__")  # what a reward finds there is not this program
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the studio, which then closes the control socket
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end are not awaited
    while True:
        said, sockets, _, _ = socket.recv_fds(control, 1, 1)
        if not said:
            return
        if os.fork() == 0:
            control.close()
            _become(socket.socket(fileno=sockets[0]))
        os.close(sockets[0])


def _become(line: socket.socket) -> None:
    """One reward's process, from its beginning to its end."""
    status = 1
    try:
        os.setsid()
        die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(nothing, each)  # what a reward prints goes nowhere
        serve(line)
        status = 0
    finally:
        os._exit(status)


def serve(line: socket.socket) -> None:
    """Answer a line of JSON for a line of JSON; the first opens the reward."""
    file = line.makefile("rwb")
    bench: RewardBench | None = None

    def say(answer: Any) -> None:
        file.write(json.dumps(json_value(answer), allow_nan=False).encode() + b"\n")
        file.flush()

    say({"pid": os.getpid()})
    for asked in file:
        given: dict[str, Any] = json.loads(asked)
        do = given.pop("do")
        try:
            if do == "open":
                bench = RewardBench(**given)
                say({"answer": bench.about()})
            else:
                say({"answer": getattr(bench, do)(**given)})
        except UserError as error:
            say({"error": str(error)})
        except BaseException as error:  # noqa: BLE001  it may be anything of the user's
            say({"error": in_a_line(error)})
