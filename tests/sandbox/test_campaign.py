"""200 hostile programs of 20 kinds beside 20 honest neighbours: each has a cause of its own, and none takes what is not its.

What each takes is measured by a control group around the worker, the kernel's memory included. For one process its own limits
are off, so that what holds here holds on a machine without any; several are held by it, for without one they are over their
limit until it is seen.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Iterator

import pytest

from guerdon.sandbox import Cause, Limits, Ran, SandboxPool
from guerdon.sandbox.control_groups import ControlGroup
from guerdon.sandbox.sandbox_pool import LOST

VARIANTS = 10
NEIGHBOURS = 20
MORE = 1.1  # of a limit, the kernel's memory included
LIMITS = Limits(cpu=2.0, wall=60.0)
SEVERAL = Limits(cpu=2.0, wall=60.0, processes=8)
FILL = """
def fill(ends):
    for end in ends:
        end.setblocking(False)
        try:
            while True:
                end.send(bytes({size}))
        except BlockingIOError:
            pass
"""
# A kind: its limits, the causes that are its own, and the program of its n-th variant. All have a fuse.
KINDS: dict[str, tuple[Limits, str, str]] = {
    "sockets": (
        LIMITS,
        "forbidden",
        FILL + "import socket\nkept = []\nfor _ in range(60):\n kept += socket.socketpair()\n fill(kept[-2:])",
    ),
    "sockets of children": (
        SEVERAL,
        "forbidden",
        "import os, socket, time\nfor _ in range(2 + {n} % 5):\n if os.fork() == 0:\n  kept = []\n"
        "  try:\n"
        "   for _ in range(60): kept += socket.socketpair()\n  except OSError: os._exit(1)\n"
        "  os._exit(0)\n"
        "assert not any([os.wait()[1] for _ in range(2 + {n} % 5)])",
    ),
    "pipes": (
        LIMITS,
        "raised",
        "import os\nfor _ in range(4000):\n a, b = os.pipe()\n os.set_blocking(b, False)\n os.write(b, bytes({size}))",
    ),
    "tables of files": (
        LIMITS,
        "forbidden",
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.syscall(436, {n}, 100, 2 | 4 * ({n} % 2)): raise "
        "OSError(ctypes.get_errno(), 'close_range')",
    ),
    "descriptors in flight": (
        LIMITS,
        "forbidden",
        "import array, os, socket\na, b = socket.socketpair()\n"
        "for _ in range(4): a.sendmsg([b'x'], [(1, 1, array.array('i', [0] * (1 + 9 * {n})))])",
    ),
    "epoll": (
        LIMITS,
        "forbidden",
        "import os, select\nkept = [select.epoll() for _ in range(30 + {n})]\n"
        "for _ in range(20):\n a, b = os.pipe()\n"
        " for number in range(100, 126):\n  os.dup2(a, number)\n"
        "  for poll in kept: poll.register(number)\n  os.close(number)",
    ),
    "file locks": (
        Limits(cpu=20.0, wall=60.0),
        "forbidden",
        "import fcntl\nkept = []\nfor name in range(60):\n kept.append(open(str(name), 'wb'))\n"
        " for at in range(500 + 50 * {n}): fcntl.lockf(kept[-1], fcntl.LOCK_EX, 1, 2 * at)",
    ),
    "processes": (
        SEVERAL,
        "processes",
        "import os, time\nfor _ in range(20 + {n}):\n if os.fork() == 0: time.sleep(30); os._exit(0)",
    ),
    "failing clones": (
        SEVERAL,
        "processes",
        "import ctypes, os, time\nlibc = ctypes.CDLL(None)\n"
        "number = dict(x86_64=56, aarch64=220)[os.uname().machine]\n"
        "for _ in range(50 + 50 * {n}): libc.syscall(number, 0x800 | 17, 0, 0, 0, 0)\n"
        "for _ in range(20):\n if os.fork() == 0: time.sleep(30); os._exit(0)",
    ),
    "threads": (
        LIMITS,
        "processes",
        "import threading, time\n"
        "for _ in range(500 + {n}): threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
    ),
    "memory": (LIMITS, "memory", "kept = []\nwhile len(kept) < 4000: kept.append(bytearray(b'x') * ({size} << 12))"),
    "memory of children": (
        SEVERAL,
        "memory",
        "import os, time\nfor _ in range(6):\n if os.fork() == 0:\n"
        "  kept = bytearray(b'x') * ((60 + 10 * {n}) << 20)\n  time.sleep(5)\n"
        "for _ in range(6): os.wait()",
    ),
    "shared memory of children": (
        SEVERAL,
        "memory",
        "import mmap, os, time\nfor _ in range(6):\n if os.fork() == 0:\n"
        "  kept = mmap.mmap(-1, (60 + 10 * {n}) << 20)\n"
        "  for at in range(0, len(kept), 4096): kept[at] = 1\n  time.sleep(5)\nfor _ in range(6): os.wait()",
    ),
    "processor": (
        LIMITS,
        "cpu",
        "import threading\ndef spin():\n while True: pass\n"
        "for _ in range({n}): threading.Thread(target=spin, daemon=True).start()\nspin()",
    ),
    "processor of children": (
        SEVERAL,
        "cpu",
        "import os\nfor _ in range(1 + {n} % 3): os.fork() or None\nwhile True: pass",
    ),
    "files": (
        LIMITS,
        "disk",
        "import os\nfor name in range(300_000):\n with open(str(name), 'wb') as file: file.write(bytes({n} * 5000))",
    ),
    "files without names": (
        LIMITS,
        "disk|raised",
        "import os\nkept = []\nfor name in range(4000):\n kept.append(open('x', 'wb'))\n"
        " kept[-1].write(bytes(200_000 + {size}))\n kept[-1].flush()\n os.remove('x')",
    ),
    "output": (LIMITS, "output", "while True: print('x' * {size})"),
    "watching": (
        LIMITS,
        "forbidden",
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.inotify_init1({n} % 2 * 0x800) < 0: raise "
        "OSError(ctypes.get_errno(), 'inotify')",
    ),
    "packet filters": (
        LIMITS,
        "forbidden",
        "import socket\na, b = socket.socketpair()\n"
        "a.setsockopt(1, [26, 50, 51, 7, 8, 32, 33, 16, 27, 15][{n}], bytes(16))",
    ),
}
HONEST = (
    "import asyncio, socket, sys\na, b = socket.socketpair()\nn = int(input())\n"
    "a.send(str(n * n).encode())\nprint(b.recv(99).decode())\nasyncio.run(asyncio.sleep(0))\n"
)


def programs() -> Iterator[tuple[str, Limits, set[Cause], str]]:
    for kind, (limits, causes, source) in KINDS.items():
        for n in range(VARIANTS):
            text = source.replace("{n}", str(n)).replace("{size}", str(1 << (6 + n)))
            yield f"{kind}, {n}", limits, {Cause(cause) for cause in causes.split("|")}, text


def test_there_are_200_of_20_kinds():
    each = [*programs()]
    assert (len(each), len(KINDS), len({source for *_, source in each})) == (200, 20, 200)


class _Measured:
    """The memory of a worker's control group, at its highest since it was last asked."""

    def __init__(self, group: ControlGroup) -> None:
        folder = group.folders["memory"]
        self.base = group.base
        self.file = folder / ("memory.peak" if group.version == 2 else "memory.max_usage_in_bytes")

    def begin(self) -> None:
        self.file.write_text("0")

    def peak(self) -> int:
        return int(self.file.read_text()) - self.base


@pytest.mark.slow
def test_200_hostile_programs_beside_honest_neighbours(monkeypatch):
    """Every cause is one of its kind's own, memory, disk and processor are within 110 %, and no neighbour notices."""
    groups: list[ControlGroup] = []
    settled = ControlGroup.settled

    def noted(group: ControlGroup) -> None:
        settled(group)
        groups.append(group)

    monkeypatch.setattr(ControlGroup, "settled", noted)
    begin = ControlGroup.begin

    def measuring(group: ControlGroup, limits: Limits, programs: int) -> None:
        alone = dataclasses.replace(limits, memory=8 * limits.memory)
        begin(group, alone if limits.processes == 1 else limits, programs)

    monkeypatch.setattr(ControlGroup, "begin", measuring)
    try:
        ControlGroup().close()
        measures = True
    except OSError:
        measures = False
    wrong: list[str] = []
    over = threading.Event()
    with SandboxPool(workers=1, cgroup=measures) as hostile, SandboxPool(workers=2) as neighbours:
        neighbours.python_now("")
        honest = threading.Thread(target=_keep_asking, args=(neighbours, over, wrong))
        honest.start()
        try:
            assert hostile.python_now("").ok
            measured = _Measured(groups[0]) if measures else None
            for name, limits, causes, source in programs():
                if measured is not None:
                    measured.begin()
                ran = hostile.python_now(source, limits=limits)
                wrong += _faults(name, limits, causes, ran)
                most = MORE * (limits.memory + limits.disk + limits.output)
                if measured is not None and measured.peak() > most:
                    wrong.append(
                        f"{name} took {measured.peak() >> 20} MiB with the kernel's, where {most / 2**20:.0f} are the most"
                    )
        finally:
            over.set()
            honest.join()
        wrong += [f"{pool.counts[LOST]} boxes were lost" for pool in (hostile, neighbours) if pool.counts[LOST]]
        if measures:
            assert len(groups) == 1, "the worker was started anew"
    assert not wrong, "\n".join(wrong)


def _faults(name: str, limits: Limits, causes: set[Cause], ran: Ran) -> list[str]:
    found = [] if ran.cause in causes else [f"{name} ended as {ran.cause}: {ran.error}"]
    if ran.cpu > MORE * limits.cpu:
        found.append(f"{name} took {ran.cpu:.2f} s of processor time, where {limits.cpu} are the limit")
    return found


def _keep_asking(pool: SandboxPool, over: threading.Event, wrong: list[str]) -> None:
    """20 honest programs at a time, until the last hostile one is over."""
    patient = Limits(cpu=20.0, wall=120.0)

    async def ask() -> list[Ran]:
        asked = (pool.python(HONEST, stdin=str(number), limits=patient) for number in range(NEIGHBOURS))
        return await asyncio.gather(*asked)

    while not over.is_set():
        for number, ran in enumerate(asyncio.run(ask())):
            if ran.cause is not Cause.DONE or ran.stdout != f"{number * number}\n":
                wrong.append(f"an honest neighbour came to {ran}")
        over.wait(0.1)
