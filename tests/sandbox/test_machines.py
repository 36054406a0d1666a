"""Machines, shells and kernels that lack something: it is said once, in one line, and never held against a program."""

from __future__ import annotations

import subprocess
import sys

import pytest

from guerdon.sandbox.syscall_numbers import MACHINE, TABLES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="full isolation takes Linux")
HONEST = """
import sys
from guerdon.core.errors import UserError
from guerdon.sandbox import Limits, SandboxPool
{before}
with SandboxPool(workers=1{isolation}) as pool:
    for _ in range(2):
        try:
            ran = pool.python_now({program!r}, limits=Limits(processes={processes}))
            print(ran.cause, ran.error)
        except UserError as refused:
            print("refused:", refused)
"""
WITHOUT = """
import ctypes, struct
from guerdon.sandbox import kernel_calls
from guerdon.sandbox.seccomp_filter import ALLOW, ERRNO, _step
steps = [_step(0x20, 0), _step(0x15, {number}, 0, 1), _step(6, ERRNO | 38), _step(6, ALLOW)]
body = ctypes.create_string_buffer(b"".join(steps))
kernel_calls.prctl(kernel_calls.PR_SET_NO_NEW_PRIVS, 1)
kernel_calls.syscall("seccomp", 1, 0, struct.pack("@HP", len(steps), ctypes.addressof(body)))
"""


def said(
    before: str = "",
    shell: str = "",
    isolation: str = "",
    program: str = "print(sum(range(10)))",
    processes: int = 1,
) -> list[str]:
    """What comes of a program, twice, in a process that begins so."""
    isolation = isolation and f", isolation={isolation!r}"
    source = HONEST.format(before=before, isolation=isolation, program=program, processes=processes)
    words = ["/bin/sh", "-c", f'{shell}\nexec "$0" -c "$1"', sys.executable, source]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.sampled(3, "limit")
@pytest.mark.parametrize(
    ("limit", "first"),
    [
        ("ulimit -n 40", "refused: "),
        ("ulimit -Sn 40", "done "),
        ("ulimit -v 250000", "broken could not be boxed"),
        ("ulimit -f 100", "broken could not be boxed"),
        ("ulimit -t 2", "broken could not be boxed"),
        ("ulimit -c 0; ulimit -s 1024", "done "),
    ],
)
def test_limits_of_the_shell_are_not_held_against_programs(limit, first):
    lines = said(shell=limit)
    assert len(lines) == 2 and all(line.startswith(first) for line in lines), lines
    if not first.startswith("done"):
        assert all(f"ulimit {limit.split()[1]}" in line for line in lines), lines


@pytest.mark.sampled(3, "missing")
@pytest.mark.parametrize("missing", ["pidfd_open", "pidfd_getfd", "seccomp", "mount_setattr"])
@pytest.mark.parametrize("isolation", ["full", "landlock"])
def test_a_kernel_without_a_call_is_refused_and_not_every_box_broken(missing, isolation):
    if isolation == "landlock" and missing == "mount_setattr":
        pytest.skip("there are no mounts in it")
    lines = said(before=WITHOUT.format(number=TABLES[MACHINE][missing]), isolation=isolation)
    assert len(lines) == 2 and all(line.startswith("refused: this machine can not give") for line in lines), lines


def test_limits_alone_do_without_descriptors_of_processes():
    assert said(before=WITHOUT.format(number=TABLES[MACHINE]["pidfd_open"]), isolation="limits") == ["done "] * 2


@pytest.mark.sampled(1, "landlock")
@pytest.mark.parametrize("landlock", [True, False])
def test_no_memory_is_shared_by_way_of_the_device_of_zeros(landlock):
    """With Landlock it can be read; without, nothing would keep a program from writing to it, and it is not there."""
    before = "" if landlock else WITHOUT.format(number=TABLES[MACHINE]["landlock_create_ruleset"])
    refused = said(before=before, program="import os; os.open('/dev/zero', os.O_RDWR)")
    assert all(line.startswith("raised ") and "'/dev/zero'" in line for line in refused), refused
    if landlock and "FileNotFoundError" not in refused[0]:
        assert said(program="assert open('/dev/zero', 'rb').read(3) == bytes(3)") == ["done "] * 2


SIGNALS = """
import os, time
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
time.sleep(0.2)
"""


@pytest.mark.sampled(1, "landlock")
@pytest.mark.parametrize("landlock", [True, False])
def test_no_signal_of_a_program_ends_the_first_process_of_its_box(landlock):
    """Landlock lets none through; without it the kernel passes on those that the process has a handler for."""
    before = "" if landlock else WITHOUT.format(number=TABLES[MACHINE]["landlock_create_ruleset"])
    assert said(before=before, program=SIGNALS, processes=4) == ["done "] * 2
