"""The zygote: a bare interpreter inside the namespaces, which forks the first process of every box.

It starts with an empty environment, sees no request and holds nothing of any: it is handed the end of a channel, forks, and the
box's first process (`box_init.py`) reads from the channel what to run. So no program finds another's words in its memory.
Whoever holds the other end of `control` may have boxes; when that is closed, everything here ends.
Leaves out: who starts it (`sandbox_pool.py`).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
import traceback
from typing import Any, NoReturn

from guerdon.sandbox import boxed_root, kernel_calls
from guerdon.sandbox.box_init import look_after
from guerdon.sandbox.box_processes import BoxConfig
from guerdon.sandbox.boxed_program import ENVIRONMENT
from guerdon.sandbox.plain_data import read_frame, send_frame
from guerdon.sandbox.seccomp_filter import filter_for, install
from guerdon.sandbox.syscall_numbers import MACHINE, NUMBERS, TABLES

LEAST_FILES = 256  # that this process may have open
WARM = """
array bisect cmath collections.abc copy datetime decimal enum fractions functools heapq itertools json math numbers operator
queue random re statistics string textwrap threading time types typing unicodedata
"""  # what programs most often import: loaded once, for all. Every megabyte more makes each box dearer, used or not
_M_ARENA_MAX = -8


def main(control_end: int, register_at_fork: Any, hooks: list[dict[str, Any]]) -> None:
    """Serve whoever holds the other end of this socket. `register_at_fork` is Python's own, `hooks` what modules would have
    registered with it (`fork_hooks.py`)."""
    control = socket.socket(fileno=control_end)
    config = json.loads(read_frame(control_end))
    try:
        ready = _prepared(config, hooks)
    except BaseException as error:  # noqa: BLE001  whoever started it is told, and decides
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        send_frame(control_end, json.dumps({"error": text, "trace": traceback.format_exc()}).encode())
        os._exit(1)
    os.register_at_fork = register_at_fork
    if config["isolation"] == "full":
        child = os.fork()  # the first process of its own process ids: they all end with it
        if child:
            control.close()
            with contextlib.suppress(BaseException):
                os.waitpid(child, 0)
            os._exit(0)
    _settle()
    send_frame(control_end, json.dumps({"ready": True}).encode())
    _serve(control, ready)


def _prepared(config: dict[str, Any], hooks: list[dict[str, Any]]) -> BoxConfig:
    """Load what programs want, then leave the world behind."""
    sys.argv[:] = sys.orig_argv[:] = ["python"]
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    own = sys.path[:]
    sys.path += [str(place) for place in config["see"]]
    for name in [*WARM.split(), *config["warm"]]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.path[:] = own
    linux = sys.platform == "linux"
    if linux:
        with contextlib.suppress(AttributeError):
            # Or each thread reserves 64 MiB of the addresses that a program may have.
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
        kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    _try_limits()
    pidfds = _try_pidfds(config["isolation"])
    addresses, resident = _memory()
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY) if linux else -1
    isolation, see = config["isolation"], [str(place) for place in config["see"]]
    if isolation != "limits":
        _try_filter()
    abi = kernel_calls.landlock_abi() if linux and isolation != "limits" else 0
    if isolation == "full":
        # What is shared by way of /dev/zero is not counted: without Landlock nothing keeps programs from writing to it.
        boxed_root.enter(see, [device for device in boxed_root.DEVICES if abi or device != "/dev/zero"])
        kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, signal.SIGKILL)  # which a change of user has undone
    if isolation == "landlock" and not abi:
        raise OSError("this kernel has no Landlock")
    if isolation != "limits":
        filter_for(processes=False, executes=False, sessions=isolation == "full", signals=False)  # made once, for all
    if isolation != "full":
        importlib.import_module("shutil")  # with which working folders are removed
    return BoxConfig(
        isolation,
        tuple(see),
        abi,
        config["scratch"],
        addresses,
        resident,
        _counts_apart(),
        proc,
        pidfds,
        None if config["clock"] is None else (config["clock"][0], str(config["clock"][1]), float(config["clock"][2])),
        tuple(hooks),
    )


def _try_limits() -> None:
    """Every descriptor of a program is put above 100 before it has its number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < LEAST_FILES:
        raise OSError(f"only {hard} files may be open at a time, where boxes take {LEAST_FILES} (raise it: ulimit -n)")
    if soft != resource.RLIM_INFINITY and soft < LEAST_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (LEAST_FILES, hard))


def _try_pidfds(isolation: str) -> bool:
    """Whether there are descriptors of processes. Boxes that have to be firm take them."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        return True
    except (AttributeError, OSError) as error:
        if isolation == "limits":
            return False
        why = getattr(error, "strerror", None) or "this Python has none"
        raise OSError(f"the kernel has no process descriptors (pidfd_open, Linux 5.3): {why}") from None


def _try_filter() -> None:
    """That programs can be put under a filter is known before there is one."""
    if not NUMBERS:
        raise OSError(f"there is no system call filter for {MACHINE}, but for {' and '.join(sorted(TABLES))}")
    hear, tell = os.pipe()
    wait, go_on = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(go_on)
            kernel_calls.prctl(kernel_calls.PR_SET_DUMPABLE, 1)
            kernel_calls.prctl(kernel_calls.PR_SET_NO_NEW_PRIVS, 1)
            program = filter_for(processes=False, executes=False, sessions=True, signals=False)
            os.write(tell, b"%d" % install(program, os.getpid()))
            os.read(wait, 1)
            os._exit(0)
        except OSError as error:
            os._exit((error.errno or 1) & 0xFF)
    os.close(tell)
    taken = ""
    if listener := os.read(hear, 100):
        process = os.pidfd_open(child)
        try:
            os.close(kernel_calls.syscall("pidfd_getfd", process, int(listener), 0))
        except OSError as error:
            taken = f"a process can not take a descriptor of its child (pidfd_getfd, Linux 5.6): {error.strerror}"
        os.close(process)
    for end in (hear, wait, go_on):
        os.close(end)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if taken:
        raise OSError(taken)
    if code:
        why = os.strerror(code) if code > 0 else f"signal {-code}"
        raise OSError(code, f"system calls cannot be filtered here (seccomp): {why}")


def _counts_apart() -> bool:
    """Since Linux 5.14 a limit on processes is for those of the same user namespace; before, for all of the user's."""
    major, minor, *_ = (int("".join(filter(str.isdigit, part)) or 0) for part in f"{os.uname().release}.0".split("."))
    return (major, minor) >= (5, 14)


def _memory() -> tuple[int, int]:
    """Bytes of addresses and of memory that the interpreter has before any program, which are not a program's to pay."""
    try:
        with open("/proc/self/statm") as file:
            size, resident, shared, *_ = (int(word) * os.sysconf("SC_PAGE_SIZE") for word in file.read().split())
        return size, resident - shared
    except OSError:
        return 64 << 20, 16 << 20


def _settle() -> None:
    """What can be given up for good before the first box."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # boxes that ended are nobody's: no zombies
    if sys.platform == "linux":
        kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        kernel_calls.prctl(kernel_calls.PR_SET_DUMPABLE, 0)
        kernel_calls.drop_bounding_set()
    for name in [name for name in sys.modules if name.partition(".")[0] == "guerdon"]:
        del sys.modules[name]  # programs begin as any script does
    sys.dont_write_bytecode = True
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket, config: BoxConfig) -> NoReturn:
    own = os.pidfd_open(os.getpid()) if config.isolation == "full" else -1
    while True:
        try:
            word, ends, _, _ = socket.recv_fds(control, 1, 1)
        except InterruptedError:
            continue
        if not word or len(ends) != 1:
            os._exit(0)
        if config.isolation == "full":
            kernel_calls.unshare(kernel_calls.CLONE_NEWPID)
        if os.fork() == 0:
            control.close()
            try:
                if own >= 0:
                    os.close(own)
                look_after(ends[0], config)
            except BaseException:  # noqa: BLE001  it must not go on as a second zygote, whatever happened
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(ends[0])
        if own >= 0:
            kernel_calls.syscall("setns", own, kernel_calls.CLONE_NEWPID)
