"""Boxes in a control group: memory with the kernel's, process ids and processor time; refused where there is none."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from attacks import attacks

from guerdon.core.errors import UserError
from guerdon.sandbox import Cause, Limits, SandboxPool, control_groups, probed_guarantees
from guerdon.sandbox.control_groups import ControlGroup

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
SOCKETS = """
import socket, os
kept = []
for _ in range({pairs}):
    kept += socket.socketpair()
for end in kept:
    end.setblocking(False)
    try:
        while True:
            end.send(bytes(1 << 15))
    except BlockingIOError:
        pass
x = bytearray({more} << 20)
print(len(x))
"""


@pytest.fixture
def group():
    try:
        made = ControlGroup()
    except OSError as error:
        pytest.skip(str(error))
    yield made
    made.close()
    assert not any(folder.exists() for folder in made.folders.values())


@pytest.mark.usefixtures("group")
def test_boxes_in_a_group_end_as_they_do_without():
    with SandboxPool(workers=1, cgroup=True) as pool:
        assert pool.python_now("print(6 * 7)").stdout == "42\n"
        assert pool.check_now("def f(x): return x", "assert f(1) == 1").ok
        assert pool.python_now("x = bytearray(250 << 20)").ok, "all that it may have"
        assert pool.python_now("x = bytearray(300 << 20)").cause is Cause.MEMORY
        few = Limits(cpu=20.0, wall=4.0, processes=8)
        for name in ("memory_in_children", "shared_memory_of_children"):
            (attack,) = (each for each in attacks("alone") if each.name == name)
            ran = pool.python_now(attack.source, stdin="{}", limits=few)
            assert ran.cause in (Cause.MEMORY, Cause.WALL), (name, ran)
        spent = pool.python_now(
            "import os\nwhile True:\n if os.fork() == 0: sum(range(10**5)); os._exit(0)\n os.wait()",
            limits=Limits(cpu=0.3, wall=60, processes=4),
        )
        assert spent.cause is Cause.CPU and spent.cpu < 1.5
        assert pool.python_now("print(1)").ok


@pytest.mark.usefixtures("group")
def test_what_the_kernel_keeps_for_a_program_counts():
    """Full sockets and memory that are allowed one by one, with a limit that has room for one of them."""
    tight = Limits(cpu=20.0, wall=60.0, memory=240 << 20, disk=1 << 20)
    with SandboxPool(workers=1, cgroup=True) as pool:
        assert pool.python_now(SOCKETS.format(pairs=14, more=1), limits=tight).ok
        assert pool.python_now(SOCKETS.format(pairs=1, more=200), limits=tight).ok


def test_no_group_is_left_and_honest_programs_lose_nothing(group):
    async def many(pool: SandboxPool) -> list[Cause]:
        hog = (
            "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (200 << 20)\n"
            "        time.sleep(2)\n        os._exit(0)\nfor _ in range(6):\n    os.wait()"
        )
        limits = Limits(wall=60, cpu=30, processes=8)
        asked = [pool.python("print(1)" if number % 4 else hog, limits=limits) for number in range(16)]
        return [ran.cause for ran in await asyncio.gather(*asked)]

    with SandboxPool(workers=2, cgroup=True) as pool:
        causes = asyncio.run(many(pool))
    assert all(cause is Cause.DONE for number, cause in enumerate(causes) if number % 4), causes
    assert all(cause is Cause.MEMORY for cause in causes[::4]), causes
    beside = next(iter(group.folders.values())).parent
    assert not [path for path in beside.glob("guerdon-*") if path not in group.folders.values()]


@pytest.mark.sampled(1, "cgroups")
@pytest.mark.parametrize("cgroups", ["", "0::/\n", "4:memory:/a\n8:pids:/a\n"])
def test_a_machine_without_groups_refuses(monkeypatch, cgroups):
    """No groups, only some of them, and version 2 without its controllers: one line, and no box runs without what was asked."""
    read = Path.read_text

    def told(path: Path, *given: str, **named: str) -> str:
        return cgroups if str(path) == "/proc/self/cgroup" else read(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", told)
    if cgroups == "0::/\n" and "memory" in told(Path("/proc/self/mountinfo")).split("cgroup2", 1)[-1]:
        pytest.skip("version 2 has its controllers here")
    with SandboxPool(workers=1, cgroup=True) as pool, pytest.raises(UserError, match="can not give cgroup=True: "):
        pool.python_now("print(1)")
    with SandboxPool(workers=1) as pool:
        assert pool.python_now("print(1)").ok


def test_doctor_says_what_holds_the_limits(monkeypatch):
    held = probed_guarantees.held_by()
    assert all(limit in held for limit in ("memory", "open files", "disk", "processor time", "processes", "output"))
    assert held.startswith("rlimits (") and "control groups" in held

    def none() -> str:
        raise OSError("this machine has none")

    monkeypatch.setattr(control_groups, "control_groups", none)
    assert probed_guarantees.held_by().endswith("no control groups: this machine has none")


@pytest.mark.parametrize(
    ("own", "above", "chosen"), [("memory pids", "", "scope/main"), ("", "cpu memory pids", "scope")]
)
def test_version_2_makes_groups_where_controllers_are_given(tmp_path, monkeypatch, own, above, chosen):
    """A group with processes gives none, unless it is the root: then the new one lies beside it."""
    main = tmp_path / "scope" / "main"
    main.mkdir(parents=True)
    (main / "cgroup.subtree_control").write_text(own)
    (main.parent / "cgroup.subtree_control").write_text(above)
    told = {
        "/proc/self/cgroup": "0::/scope/main\n",
        "/proc/self/mountinfo": f"30 24 0:26 / {tmp_path} rw,relatime - cgroup2 cgroup2 rw\n",
    }
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, *given: told.get(str(path)) or read(path, *given))
    version, groups = control_groups._own_groups()
    assert (version, {str(folder.relative_to(tmp_path)) for folder in groups.values()}) == (2, {chosen})
