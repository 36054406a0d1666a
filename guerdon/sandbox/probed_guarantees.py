"""What holds on this machine: each guarantee is tried, by a program that attempts what it must not be able to do.

Leaves out: the guarantees themselves, which are given elsewhere (`box_init.py`, `boxed_program.py`, `boxed_root.py`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from guerdon.core.errors import UserError
from guerdon.sandbox import control_groups
from guerdon.sandbox.limits import Isolation, Limits, known_isolation
from guerdon.sandbox.ran_program import Cause, Ran
from guerdon.sandbox.sandbox_pool import SandboxPool

_QUICK = Limits(cpu=0.5, wall=5.0, memory=64 << 20, disk=1 << 20, output=1 << 12)
_SAYS = "import os\ntry:\n    {attempt}\nexcept OSError as error:\n    print('held')\nelse:\n    print('open')\n"


@dataclass(frozen=True)
class Guarantee:
    """One thing that a program in a box cannot do, and whether that holds on this machine.

    >>> from guerdon.sandbox import guarantees
    >>> next(each for each in guarantees() if each.name == "network")
    Guarantee(name='network', holds=True, detail='no socket can be made')
    """

    name: str
    holds: bool
    detail: str


def guarantees(isolation: Isolation = "full") -> tuple[Guarantee, ...]:
    """What holds of an isolation on this machine, each tried by really trying. One that cannot be given is a single line.

    >>> from guerdon.sandbox import guarantees
    >>> [each.name for each in guarantees() if not each.holds]
    []
    """
    isolation = known_isolation(isolation)
    try:
        with tempfile.TemporaryDirectory() as folder, SandboxPool(workers=1, isolation=isolation) as pool:
            secret = Path(folder, "secret")
            secret.write_text("secret")
            return tuple(_tried(pool, str(secret)))
    except UserError as refused:
        return (Guarantee(isolation, holds=False, detail=str(refused)),)


def held_by() -> str:
    """Which limits of programs are enforced by what on this machine, in words."""
    always = (
        "rlimits (memory of one process, open files), a file system of fixed size (disk) and the box's first process"
        " (memory of several, page tables, mappings, pipes, sockets, processor time, processes, output)"
    )
    try:
        groups = control_groups.control_groups()
        return f"{always}; with cgroup=True also {groups} (memory with the kernel's, processes, processor time)"
    except OSError as error:
        return f"{always}; no control groups: {error}"


def _tried(pool: SandboxPool, secret: str) -> list[Guarantee]:
    """Nothing here harms a machine on which it is let through: it asks, and does not do."""

    def run(source: str, limits: Limits = _QUICK) -> Ran:
        return pool.python_now(source, limits=limits)

    def ends(name: str, detail: str, source: str, *causes: Cause) -> Guarantee:
        ran = run(source)
        holds = ran.cause in causes
        return Guarantee(name, holds, detail if holds else f"not held: {ran.error or 'it went through'}")

    def refused(name: str, detail: str, attempt: str) -> Guarantee:
        ran = run(_SAYS.format(attempt=attempt))
        holds = ran.stdout == "held\n"
        return Guarantee(name, holds, detail if holds else f"not held: {ran.error or 'it went through'}")

    def prints(name: str, detail: str, source: str, expected: Callable[[str], bool]) -> Guarantee:
        ran = run(source)
        holds = ran.ok and expected(ran.stdout)
        return Guarantee(name, holds, detail if holds else f"not held: {ran.error or 'it went through'}")

    hidden = set(os.environ) - {"HOME", "TMPDIR", "PATH", "LANG", "LC_ALL"}
    first = run("print(1)")
    if first.stdout != "1\n":
        return [Guarantee("programs", holds=False, detail=f"no program runs at all: {first.error}")]
    return [
        ends("processor time", "ended when it is spent", "while True: pass", Cause.CPU),
        ends("memory", "no more than its limit", "x = bytearray(200 << 20)", Cause.MEMORY),
        ends("output", "ended when it prints more", "print('x' * 10_000)", Cause.OUTPUT),
        prints("disk", "the working folder has a size", _FILL, lambda text: text == "full\n"),
        ends("processes", "none can be started", "import os; os.fork() or os._exit(0)", Cause.PROCESSES),
        refused("network", "no socket can be made", "import socket; socket.socket()"),
        refused("files", "none of yours can be read", f"open({secret!r})"),
        refused("writing", "only in the working folder", f"open({str(Path(secret).parent / 'new')!r}, 'w')"),
        prints(
            "environment",
            "none of your variables",
            "import os; print(*os.environ)",
            lambda text: not hidden & set(text.split()),
        ),
        prints(
            "own process ids", "no other process is seen", "import os; print(os.getpid())", lambda text: int(text) < 10
        ),
        refused("system calls", "those that could harm are refused", "import fcntl; os.memfd_create('x')")
        if sys.platform == "linux"
        else Guarantee("system calls", holds=False, detail="not held: there is no filter on this system"),
    ]


_FILL = """
try:
    for number in range(3):
        with open(f"file{number}", "wb") as file:
            file.write(bytes(900_000))
    print("open")
except OSError:
    print("full")
"""
