"""The few system calls that Python 3.11 has no name for, by ctypes: namespaces, mounts, capabilities, Landlock.

Imported inside boxes: needs the standard library alone.
Leaves out: what they are called for (`boxed_root.py`, `boxed_program.py`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from guerdon.sandbox.syscall_numbers import NUMBERS

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 32, 4096, 16384, 1 << 18
MOUNT_READ_ONLY, MOUNT_NOSUID, MOUNT_NODEV = 1, 2, 4  # of mount_setattr
MNT_DETACH = 2
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_SET_THP_DISABLE = 36, 38, 41

_libc = ctypes.CDLL(None, use_errno=True)


def syscall(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call it by its name; an OSError that names it where it fails."""
    given = [ctypes.c_long(part) if isinstance(part, int) else part for part in arguments]
    result = int(_libc.syscall(ctypes.c_long(NUMBERS[name]), *given))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def default_action(signal: int) -> None:
    """What Python's own `signal` does, for a fifth of the price: it makes members of enumerations."""
    _libc.signal(int(signal), None)


def prctl(option: int, value: int = 0) -> None:
    """Set something of this process."""
    syscall("prctl", option, value, 0, 0, 0)


def unshare(flags: int) -> None:
    """Enter namespaces of one's own."""
    try:
        syscall("unshare", flags)
    except OSError as error:
        if not flags & CLONE_NEWUSER:
            raise
        if error.errno == errno.ENOSPC:
            raise OSError(error.errno, "user namespaces are turned off (sysctl user.max_user_namespaces)") from None
        blame = "a container's seccomp profile, AppArmor, or sysctl kernel.unprivileged_userns_clone"
        raise OSError(error.errno, f"user namespaces are not allowed here (by {blame}): {error.strerror}") from None


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or a part of one that is there."""
    try:
        syscall("mount", source.encode(), target.encode(), kind.encode() or None, flags, options.encode() or None)
    except OSError as error:
        raise OSError(error.errno, f"mount {kind or source} on {target}: {os.strerror(error.errno or 0)}") from None


def make_read_only(target: str, *, recursive: bool = True, devices: bool = False) -> None:
    """A mount, and all below it: nothing can be written, no set-uid program gains anything, no device opened unless it may."""
    attributes = struct.pack("<QQQQ", MOUNT_READ_ONLY | MOUNT_NOSUID | (0 if devices else MOUNT_NODEV), 0, 0, 0)
    below = _AT_RECURSIVE if recursive else 0
    try:
        syscall("mount_setattr", _AT_FDCWD, target.encode(), below, attributes, len(attributes))
    except OSError as error:
        raise OSError(error.errno, f"make {target} read-only: {os.strerror(error.errno or 0)}") from None


def pivot_root(new: str) -> None:
    """Make a mounted folder the root, and let go of the old one."""
    os.chdir(new)
    syscall("pivot_root", b".", b".")
    syscall("umount2", b".", MNT_DETACH)
    os.chdir("/")


def drop_bounding_set() -> None:
    """No program that is executed from here on can have a capability."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            return  # there are no more


def drop_capabilities() -> None:
    """All of this process's."""
    header = struct.pack("<Ii", 0x20080522, 0)
    syscall("capset", header, bytes(24))


# --- Landlock ---------------------------------------------------------------------------------------------------------

SCOPES = 6  # the version from which on no signal leaves
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files, read folders
_WRITE = 1 << 1 | 1 << 14  # write files, truncate
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by ABI
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15


def landlock_abi() -> int:
    """Which Landlock the kernel has; 0 where it has none."""
    try:
        return syscall("landlock_create_ruleset", None, 0, 1)
    except (OSError, KeyError):
        return 0


def restrict_files(abi: int, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str] = ()) -> None:
    """From here on this process can read and execute these, and write those; where Landlock is able to, no TCP either, and no
    signal or abstract socket beyond those it starts itself."""
    rights = _FILE_RIGHTS[max(known for known in _FILE_RIGHTS if known <= abi)]
    network = 3 if abi >= 4 else 0
    scoped = 3 if abi >= SCOPES else 0
    attributes = struct.pack("<QQQ", rights, network, scoped)[: 8 if abi < 4 else 16 if abi < SCOPES else 24]
    ruleset = syscall("landlock_create_ruleset", attributes, len(attributes), 0)
    try:
        for paths, allowed in ((readable, _READ), (writable, rights), (devices, _READ | _WRITE)):
            for path in paths:
                _allow(ruleset, path, allowed & rights)
        syscall("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, allowed: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            allowed &= _ON_FILES
        syscall("landlock_add_rule", ruleset, 1, struct.pack("<Qi", allowed, place), 0)
    finally:
        os.close(place)
