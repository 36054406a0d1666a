"""What passes between boxes and the world: plain data, and the code of the filter, gone through by a machine of our own."""

from __future__ import annotations

import json
import math
import struct
import time

import pytest

from guerdon.sandbox import seccomp_filter
from guerdon.sandbox.plain_data import DEEPEST, MOST_OF_ONE_HASH, NotPlain, plain_form, plain_value
from guerdon.sandbox.syscall_numbers import AUDIT_ARCH, TABLES

ODD_VALUES = [
    *(None, True, 0, -1, 2**53, -(2**53), 2**200, 0.0, -0.0, 1e308, 5e-324, float("inf"), 1 + 2j, complex(-0.0, 1e9)),
    *("", "text", "\ud800\0\U0001f600", b"", bytes(range(256)), [], (), {}, set(), frozenset()),
    {None: 1, (1, (2.0, "x")): [{1, 2.5}, {"a"}, frozenset({b"b"})], frozenset({3}): {"l": ["i", "0x1"]}},
    [["i", "0x1"], ["d"], ("t",), [[[[]]]]],
]


def exactly(value):
    """A value with its types, which `==` does not look at."""
    if isinstance(value, dict):
        return dict, [(exactly(key), exactly(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [exactly(each) for each in value]
    return type(value), value


@pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
def test_plain_data_comes_back_as_it_was(value):
    back = plain_value(json.loads(json.dumps(plain_form(value))))
    assert exactly(back) == exactly(value) and repr(back) == repr(value)


def test_subclasses_become_what_they_are_made_of():
    import collections
    import enum

    class Colour(enum.IntEnum):
        RED = 3

    pair = collections.namedtuple("pair", "a b")
    values = [pair(1, 2), collections.OrderedDict(a=1), collections.defaultdict(int, b=2), Colour.RED, bytearray(b"x")]
    back = plain_value(plain_form(values))
    assert exactly(back) == exactly([(1, 2), {"a": 1}, {"b": 2}, 3, b"x"])
    assert math.isnan(plain_value(plain_form(float("nan"))))


def test_what_is_no_plain_data_is_refused():
    deep: list = []
    for _ in range(DEEPEST + 1):
        deep = [deep]
    for value in (object(), len, [print], {1: Exception()}, deep, 1 << (1 << 27)):
        with pytest.raises(NotPlain):
            plain_form(value)
    form: list = ["l"]
    for _ in range(DEEPEST + 1):
        form = ["l", form]
    for odd in (
        {},
        [],
        ["?"],
        [1],
        ["i"],
        ["i", 1],
        ["i", "z"],
        ["f", "x"],
        ["d", 1],
        ["d", ["l"], 1],
        ["s", ["l"]],
        form,
        ["b", "0"],
    ):
        with pytest.raises((NotPlain, ValueError)):
            plain_value(odd)


def test_keys_of_one_hash_are_refused_before_they_take_hours():
    colliding = [["i", hex(number * (2**61 - 1))] for number in range(1, 20_000)]
    began = time.process_time()
    for form in (["s", *colliding], ["z", *colliding], ["d", *(part for key in colliding for part in (key, 0))]):
        with pytest.raises(NotPlain, match="one hash"):
            plain_value(form)
    assert time.process_time() - began < 5
    assert len(plain_value(["s", *range(20_000)])) == 20_000
    few = colliding[: MOST_OF_ONE_HASH + 1]  # many such sets take as long as one that is large
    for form in (["s", *few], ["l", ["z", *few]], ["d", *(part for key in few for part in (key, 0))]):
        with pytest.raises(NotPlain, match="one hash"):
            plain_value(form)
    assert len(plain_value(["s", *few[1:]])) == MOST_OF_ONE_HASH


REFUSED = """
pipe2 inotify_init1 inotify_add_watch flock mincore sendmsg sendmmsg setsockopt socketpair
ptrace mount unshare setns bpf keyctl perf_event_open io_uring_setup userfaultfd socket connect bind memfd_create execveat
process_vm_writev pidfd_getfd pidfd_open init_module chroot setuid capset seccomp splice open_by_handle_at shmget mq_open
"""


def verdict(program: bytes, number: int, arch: int, *arguments: int) -> int:
    """What Linux does with a call under a filter."""
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    data = struct.pack("<iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    at = held = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("<I", data, value)
            case 0x54:
                held &= value
            case 0x05:
                at += value
            case 0x15 | 0x35 | 0x45:
                holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
                at += if_true if holds else if_false
            case 0x06:
                return value


@pytest.mark.parametrize("machine", sorted(TABLES))
def test_the_filter_of_each_machine(machine, monkeypatch):
    table, arch = TABLES[machine], AUDIT_ARCH[machine]
    monkeypatch.setattr(seccomp_filter, "NUMBERS", table)
    monkeypatch.setattr(seccomp_filter, "MACHINE", machine)
    assert {"x86_64": (0, 257, 435, 317), "aarch64": (63, 56, 435, 277)}[machine] == tuple(
        table[name] for name in ("read", "openat", "clone3", "seccomp")
    )

    def filters(**given):
        knobs = {"processes": False, "executes": False, "sessions": False, "signals": False} | given
        return seccomp_filter.with_pid(seccomp_filter.filter_for.__wrapped__(**knobs), 7)

    strict, wide = filters(), filters(processes=True, executes=True, sessions=True, signals=True)
    NOTIFY, ALLOW, KILL, ENOSYS = seccomp_filter.NOTIFY, seccomp_filter.ALLOW, seccomp_filter.KILL, 0x50026

    def call(program: bytes, name: str, *arguments: int) -> int:
        return verdict(program, table[name], arch, *arguments)

    for name in REFUSED.split():
        assert call(strict, name) == call(wide, name) == NOTIFY, name
    free = {name for name in seccomp_filter._ALLOWED.split() if name in table}
    of_oneself = {"prlimit64", "sched_setaffinity"}
    some = {"fcntl", "mmap", "epoll_ctl", "madvise", "close_range"}
    assert {name for name in table if call(strict, name) == ALLOW} == free | of_oneself | some
    assert call(strict, "clone3") == call(wide, "clone3") == ENOSYS
    for name in seccomp_filter._PRETENDED:
        assert call(strict, name) == call(wide, name) == 0x50000, name
    thread, process, namespace = 0x10F00, 17, 0x10000000
    own_files = thread & ~0x400
    assert call(strict, "clone", own_files) == NOTIFY and call(wide, "clone", own_files) == 0x50001
    assert call(wide, "clone", thread) == NOTIFY
    assert [call(strict, "close_range", 0, 9, flags) for flags in (0, 2, 4, 6)] == [ALLOW, NOTIFY, ALLOW, NOTIFY]
    assert [call(strict, "mmap", 0, 0, 3, flags) for flags in (0x22, 0x40022)] == [ALLOW, NOTIFY]
    assert [call(strict, "madvise", 0, 0, advice) for advice in (4, 8, 12, 14, 21)] == [
        *(ALLOW, ALLOW),
        *(NOTIFY, ALLOW, NOTIFY),
    ]
    assert [call(strict, "epoll_ctl", 3, operation) for operation in (1, 2, 3)] == [NOTIFY, ALLOW, ALLOW]
    for program, locked in ((strict, 0x50000), (wide, NOTIFY)):
        assert [call(program, "fcntl", 3, lock) for lock in (5, 6, 7, 36, 37, 38)] == [
            *(ALLOW, locked, locked),
            *(ALLOW, locked, locked),
        ]
        assert call(program, "prctl", 0x53564D41, 0) == 0x50016, "a name for a mapping"
    assert [call(strict, "prctl", *given) for given in ((4, 0), (4, 1), (15, 0), (22, 2), (38, 1))] == [
        *(ALLOW, NOTIFY, ALLOW),
        *(NOTIFY, NOTIFY),
    ]
    assert call(wide, "prctl", 4, 0) == NOTIFY
    assert [call(wide, "madvise", 0, 0, advice) for advice in (4, 22, 23, 25)] == [ALLOW, NOTIFY, NOTIFY, NOTIFY]
    assert [call(strict, "clone", flags) for flags in (thread, process, thread | namespace)] == [ALLOW, NOTIFY, NOTIFY]
    assert [call(wide, "clone", flags) for flags in (process, process | namespace)] == [NOTIFY, 0x50001]
    assert [call(strict, "kill", pid) for pid in (7, 1, 0, 2**32 - 1)] == [ALLOW, NOTIFY, NOTIFY, NOTIFY]
    assert [call(strict, "fcntl", 3, command) for command in (3, 4, 8, 1031)] == [ALLOW, ALLOW, NOTIFY, NOTIFY]
    assert call(strict, "execve") == NOTIFY and call(wide, "execve") == ALLOW
    assert verdict(strict, table["read"], AUDIT_ARCH["x86_64" if machine == "aarch64" else "aarch64"]) == KILL
    assert verdict(strict, 5000, arch) == ENOSYS
    if machine == "x86_64":
        assert verdict(strict, 0x40000000, arch) == KILL and verdict(strict, -1, arch) == KILL
        assert call(strict, "fork") == call(wide, "vfork") == NOTIFY
