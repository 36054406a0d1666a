"""A zygote, seen from the process that wants boxes: start it, send it requests, read what comes back as hostile.

Leaves out: which request goes to which (`sandbox_pool.py`), what happens inside (`zygote.py`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import json
import marshal
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Sequence
from typing import Any

from guerdon.core.errors import UserError
from guerdon.sandbox.box_requests import BoxRequest
from guerdon.sandbox.control_groups import ControlGroup
from guerdon.sandbox.limits import Isolation
from guerdon.sandbox.plain_data import MOST_BYTES
from guerdon.sandbox.ran_program import Cause, Ran, ran_from

START = 60.0  # seconds that a zygote may take to start
GRACE = 10.0  # seconds beyond its wall time after which a box is given up
RAN_OUT = "ran out of memory, the kernel's included"
_HEAD = 1 << 20
_MODULES = """
fork_hooks zygote boxed_limits boxed_root box_init box_memory box_processes boxed_program boxed_sql changed_arguments
counted_calls kernel_calls plain_data seccomp_filter syscall_numbers unit_tests
"""  # all that runs inside
# What a zygote begins with. The code of its modules comes through the socket, under names that say nothing of this machine.
_BEGIN = """
import marshal, os, sys

def read(count):
    text = b""
    while len(text) < count:
        text += os.read(end, count - len(text)) or os._exit(1)
    return text

class Given:
    def find_spec(self, name, path=None, target=None):
        if name in codes:
            spec = Spec(name, self, origin=f"<sandbox>/{name.rpartition('.')[2]}.py", is_package=not codes[name])
            spec.has_location = True
            return spec
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(codes[module.__name__] or "", module.__dict__)

end, Spec = int(sys.argv[1]), sys.modules["_frozen_importlib"].ModuleSpec
codes = marshal.loads(read(int.from_bytes(read(4), "little")))
sys.meta_path.insert(0, Given())
from guerdon.sandbox.fork_hooks import start
start(end)
"""


class SandboxLost(Exception):
    """The zygote is gone, or says what makes no sense."""


class ZygoteHandle:
    """One zygote and the socket to it."""

    def __init__(
        self, isolation: Isolation, see: Sequence[str], warm: Sequence[str] = (), cgroup: bool = False
    ) -> None:
        self.group: ControlGroup | None = None
        if cgroup:
            try:
                self.group = ControlGroup()
            except OSError as error:
                raise UserError(
                    f"this machine can not give cgroup=True: {error}; leave it out to use rlimits alone, or start in a"
                    " delegated group (docs/sandbox.md, Limits)"
                ) from None
        clock = None if self.group is None else self.group.clock()
        self.control, theirs = socket.socketpair()
        python = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
        with theirs:
            self.process = subprocess.Popen(
                [python, "-s", "-S", "-P", "-c", _BEGIN, str(theirs.fileno())],
                # No variable of ours goes in. A fixed seed of hashes: sets are in the same order in every run.
                env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), *([] if clock is None else [clock[0]])],
                start_new_session=True,
            )
        config: dict[str, Any] = {"isolation": isolation, "see": list(see), "warm": list(warm), "clock": clock}
        if clock is not None:
            os.close(clock[0])
            assert self.group is not None
            self.group.add(self.process.pid)
        # Where boxes have no mounts: whatever is killed in the middle, this goes when the zygote does.
        self.scratch = "" if isolation == "full" else tempfile.mkdtemp(prefix="guerdon-sandbox-")
        config["scratch"] = self.scratch
        try:
            self.control.settimeout(START)
            _send(self.control, _code())
            _send(self.control, json.dumps(config).encode())
            ready = json.loads(_receive(self.control, _head(self.control)))
        except (OSError, ValueError, SandboxLost) as error:
            self.close()
            raise SandboxLost(
                f"the sandbox did not start: {python} ended with {self.process.returncode}: {error}"
            ) from None
        if not ready.get("ready"):
            self.close()
            raise UserError(refusal(isolation, str(ready.get("error"))))
        if self.group is not None:
            self.group.settled()

    def run(self, request: BoxRequest, began: Any) -> Ran:
        """What came of a request. `began` is given the channel, whose closing ends the box."""
        if self.group is not None:
            self.group.begin(request.limits, len(request.frames))
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                try:
                    socket.send_fds(self.control, [b"x"], [theirs.fileno()])
                except OSError as error:
                    raise SandboxLost(f"the sandbox is gone: {error}") from None
            began(ours)
            until = time.monotonic() + request.limits.wall + GRACE
            try:
                for frame in request.frames:
                    ours.settimeout(max(0.01, until - time.monotonic()))
                    _send(ours, frame)
                ours.settimeout(max(0.01, until - time.monotonic()))
                facts, blobs = _read_answer(ours, until, request.limits.output)
            except (OSError, ValueError, KeyError, TypeError, SandboxLost) as error:
                if self.group is not None and self.group.ran_out():
                    return Ran(Cause.MEMORY, RAN_OUT)
                raise SandboxLost(f"the sandbox did not answer: {type(error).__name__}: {error}") from None
        ran = ran_from(facts, blobs)
        if self.group is not None and self.group.ran_out():  # also where it went on without those that were killed
            return dataclasses.replace(ran, cause=Cause.MEMORY, error=RAN_OUT)
        return ran

    def close(self) -> None:
        """End it, and with it everything it forked."""
        self.control.close()
        self.process.kill()
        with contextlib.suppress(OSError):
            self.process.wait()
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)
        if self.group is not None:
            self.group.close()


@functools.cache
def _code() -> bytes:
    """The code of the modules that run inside, for the interpreter that this one is."""
    codes: dict[str, types.CodeType | None] = {"guerdon": None, "guerdon.sandbox": None}
    for module in _MODULES.split():
        name = f"guerdon.sandbox.{module}"
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.loader is not None
        codes[name] = _renamed(spec.loader.get_code(name), f"<sandbox>/{module}.py")  # type: ignore[attr-defined]
    return marshal.dumps(codes)


def _renamed(code: types.CodeType, file: str) -> types.CodeType:
    """Code that says it stands in another file, and all code in it."""
    parts = tuple(_renamed(part, file) if isinstance(part, types.CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=parts)


def refusal(isolation: str, why: str) -> str:
    """One line for a machine that cannot hold programs as firmly as was asked."""
    weaker = {"full": "'landlock' or 'limits'", "landlock": "'limits'"}.get(isolation)
    hint = f"; isolation={weaker} asks for less" if weaker else ""
    return f"this machine can not give isolation={isolation!r}: {why}{hint}"


def _send(end: socket.socket, message: bytes) -> None:
    end.sendall(struct.pack("<I", len(message)) + message)


def _head(end: socket.socket) -> int:
    (length,) = struct.unpack("<I", _receive(end, 4))
    if length > _HEAD:
        raise SandboxLost(f"a message of {length:,} bytes")
    return int(length)


def _receive(end: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = end.recv(min(count, 1 << 20))
        if not part:
            raise SandboxLost("it ended")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _read_answer(end: socket.socket, until: float, output: int) -> tuple[dict[str, Any], list[bytes]]:
    facts = json.loads(_receive(end, _head(end)))
    sizes = facts["sizes"]
    if len(sizes) != 4 or not all(
        isinstance(size, int) and 0 <= size <= max(output, MOST_BYTES) + (1 << 16) for size in sizes
    ):
        raise SandboxLost("an answer of impossible size")
    return facts, [_receive(end, size) for size in sizes]
