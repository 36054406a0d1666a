"""260 hostile programs of 26 kinds beside 20 honest neighbours: each has a cause of its own, and none takes what is not its.

Each limit is measured by itself, from outside of the box: memory with the kernel's, disk, output, open files, processes,
processor time and waiting. No control group holds these boxes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from measured import Measured, measured_pool

from guerdon.sandbox import Cause, Limits, Ran, SandboxPool
from guerdon.sandbox.sandbox_pool import LOST

VARIANTS = 10
NEIGHBOURS = 20
MORE = 1.1  # of a limit
FILES = 8 << 20  # bytes of the kernel's for the names and sizes of 4,096 files
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
        "forbidden|raised",  # whichever comes first: sockets of the box, or descriptors of a child
        "import os, socket, time\nfor _ in range(2 + {n} % 5):\n if os.fork() == 0:\n  kept = []\n"
        "  try:\n"
        "   for _ in range(60): kept += socket.socketpair()\n  except OSError: os._exit(1)\n"
        "  os._exit(0)\n"
        "assert not any([os.wait()[1] for _ in range(2 + {n} % 5)])",
    ),
    "pipes": (
        LIMITS,
        "forbidden",
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
        Limits(cpu=20.0, wall=60.0, processes=2),
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
        "memory|raised",
        "import mmap, os, time\nfor _ in range(6):\n if os.fork() == 0:\n"
        "  kept = mmap.mmap(-1, (60 + 10 * {n}) << 20)\n"
        "  for at in range(0, len(kept), 4096): kept[at] = 1\n  time.sleep(5)\n  os._exit(0)\n"
        "assert not any([os.wait()[1] for _ in range(6)])",
    ),
    "shared memory of which a page is left": (
        LIMITS,
        "raised",
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\nsize = (1 + {n}) << 23\n"
        "for _ in range((4 << 30) // size):\n"
        " place = libc.mmap(None, ctypes.c_size_t(size), 3, 0x21, -1, 0)\n"
        " if place == 2**64 - 1: raise OSError(12, 'mmap')\n"
        " ctypes.memset(place, 1, size)\n libc.munmap(ctypes.c_void_p(place + 4096), ctypes.c_size_t(size - 4096))",
    ),
    "page tables": (
        LIMITS,
        "memory",
        "import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\nfor number in range(1, 60_000):\n"
        " at = 0x100000000 + (number << (30 - {n} % 2))\n"
        " ctypes.memset(libc.mmap(ctypes.c_void_p(at), ctypes.c_size_t(4096), 3, 0x22, -1, 0), 1, 1)\ntime.sleep(1)",
    ),
    "mappings of children": (
        SEVERAL,
        "memory",
        "import ctypes, os, time\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "for _ in range(7):\n if os.fork() == 0: break\n"
        "place = libc.mmap(None, ctypes.c_size_t(200 << 20), 0, 0x22, -1, 0)\n"
        "for at in range(0, 200 << 20, 8192): libc.mprotect(ctypes.c_void_p(place + at), ctypes.c_size_t(4096), 1)\n"
        "kept = bytearray(b'x') * ((24 + {n}) << 20)\ntime.sleep(30)",
    ),
    "memory under the name of a size": (
        LIMITS,
        "memory",
        "import ctypes\nctypes.CDLL(None).prctl(15, b'%d kB' % {n} if {n} % 2 else b'{n}x kB', 0, 0, 0)\n"
        "kept = []\nwhile len(kept) < 4000: kept.append(bytearray(b'x') * ({size} << 12))",
    ),
    "many descriptors of a file": (
        LIMITS,
        "raised",
        "import os\nend = os.open('x', os.O_CREAT)\nfor number in range(200 + {n}): os.dup2(end, 100 + number)",
    ),
    "waiting": (
        Limits(wall=1.0),
        "wall",
        "import threading, time\nfor _ in range({n}): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "time.sleep(60)",
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


def test_there_are_260_of_26_kinds():
    each = [*programs()]
    assert (len(each), len(KINDS), len({source for *_, source in each})) == (260, 26, 260)


@pytest.mark.slow
def test_hostile_programs_beside_honest_neighbours(monkeypatch):
    """Every cause is one of its kind's own, each limit is within 110 %, and no neighbour notices."""
    wrong: list[str] = []
    over = threading.Event()
    with measured_pool(monkeypatch) as (hostile, measured), SandboxPool(workers=2) as neighbours:
        neighbours.python_now("")
        honest = threading.Thread(target=_keep_asking, args=(neighbours, over, wrong))
        honest.start()
        try:
            own = _own(hostile, measured)
            for name, limits, causes, source in programs():
                for last in (
                    False,
                    False,
                    True,
                ):  # a machine that is busy elsewhere is no hole: that would be there every time
                    measured.begin()
                    ran = hostile.python_now(source, limits=limits)
                    found = _faults(limits, causes, ran, measured, own[limits.processes > 1])
                    if not found or last:
                        break
                wrong += [f"{name} {fault}" for fault in found]
        finally:
            over.set()
            honest.join()
        wrong += [f"{pool.counts[LOST]} boxes were lost" for pool in (hostile, neighbours) if pool.counts[LOST]]
    assert not wrong, "\n".join(wrong)


def _own(pool: SandboxPool, measured: Measured) -> tuple[int, int]:
    """What an interpreter takes that does nothing, and several of it."""
    took = []
    for limits, source in ((LIMITS, ""), (SEVERAL, "for _ in range(7):\n if os.fork() == 0: break\n")):
        measured.begin()
        assert pool.python_now(f"import os, time\n{source}time.sleep(0.5)", limits=limits).ok
        took.append(measured.memory())
    return took[0], took[1]


def _faults(limits: Limits, causes: set[Cause], ran: Ran, measured: Measured, own: int) -> list[str]:
    """Each limit by itself."""
    alone = limits.processes == 1
    found = [] if ran.cause in causes else [f"ended as {ran.cause}: {ran.error}"]
    disk = Cause.DISK in causes
    for what, took, limit in (
        ("MiB of memory", measured.memory() / 2**20, (limits.memory + own / MORE) / 2**20),
        # The files of a box are in memory: whoever keeps nothing else takes no more than its disk.
        ("MiB of disk", measured.memory() / 2**20 if disk else 0, (limits.disk + FILES + own / MORE) / 2**20),
        ("bytes of output", len(ran.stdout) + len(ran.stderr), limits.output),
        ("open files", measured.files, 128 if alone else max(32, min(128, 512 // limits.processes))),
        ("processes", measured.processes, limits.processes),
        ("s of processor time", ran.cpu, limits.cpu),
        ("s", ran.wall, limits.wall),
    ):
        if took > MORE * limit:
            found.append(f"took {took:.2f} {what}, where {limit:.2f} are the limit")
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
