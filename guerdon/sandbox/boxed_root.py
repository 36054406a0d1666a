"""Namespaces of one's own, and a root with nothing in it but the interpreter and the system's libraries, all of it read-only.

Runs once in each zygote, before anything untrusted. Unprivileged it works through a user namespace. Root builds the root
as root, whom every folder opens, and then becomes an unprivileged user in a user namespace: root would escape limits.
Leaves out: what each program gets of its own, its process ids and its working folder (`box_init.py`).
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence

from guerdon.sandbox.kernel_calls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    make_read_only,
    mount,
    pivot_root,
    syscall,
    unshare,
)

NOBODY = 65534  # the user that root becomes
INSIDE = 1000  # who a program believes to be
WORK = "/box"  # where a program's own folder is mounted
SYSTEM = (  # not all of /usr: images keep a user's own things in /usr/src and /usr/local
    *("/lib", "/lib64", "/lib32", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/share"),
    *("/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/local/bin", "/usr/local/lib"),
)
SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PEOPLE = f"box:x:{INSIDE}:{INSIDE}::{WORK}:/bin/sh\n"


def enter(see: Sequence[str], devices: Sequence[str] = DEVICES) -> None:
    """Namespaces, and the root. Afterwards the next process that is forked is the first of its own process ids."""
    if os.geteuid() == 0:
        # Root of a user namespace has perhaps no other user to become: it is nobody's root then, and stays who it is.
        mapper, told, tell = _mapper(os.getpid())  # while there is still a /proc for it
        unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
        _build(see, devices)
        unshare(CLONE_NEWUSER | CLONE_NEWPID)
        os.write(tell, b"x")
        if os.read(told, 1) != b"x":
            raise OSError("root could not map an unprivileged user into a user namespace")
        os.close(tell)
        os.close(told)
        os.waitpid(mapper, 0)
        with contextlib.suppress(PermissionError):  # forbidden in some user namespaces, where there is nothing to gain
            syscall("setgroups", 0, None)
    else:
        user, group = os.geteuid(), os.getegid()
        unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID)
        for name, line in (
            ("setgroups", "deny"),
            ("uid_map", f"{INSIDE} {user} 1"),
            ("gid_map", f"{INSIDE} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)
        _build(see, devices)
    os.setresgid(INSIDE, INSIDE, INSIDE)
    os.setresuid(INSIDE, INSIDE, INSIDE)


def _mapper(pid: int) -> tuple[int, int, int]:
    """A process that stays root, waits for a word, gives our user namespace its one user, and ends."""
    hear, tell = os.pipe()
    told, say = os.pipe()
    mapper = os.fork()
    if mapper:
        os.close(hear)
        os.close(say)
        return mapper, told, tell
    os.close(tell)
    try:
        if not os.read(hear, 1):
            os._exit(1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(f"{INSIDE} {_unprivileged(name)} 1")
        os.write(say, b"x")
    finally:
        os._exit(0)


def _unprivileged(name: str) -> int:
    """Whom root becomes: of those that there are here, the one who is known to have nothing."""
    with open(f"/proc/self/{name}") as file:
        ranges = [(int(first), int(count)) for first, _, count in (line.split() for line in file)]
    if any(first <= NOBODY < first + count for first, count in ranges):
        return NOBODY
    return max(first + count - 1 for first, count in ranges)


def _build(see: Sequence[str], devices: Sequence[str]) -> None:
    """The root: an empty file system in memory, with read-only views of what is needed to run. And the machine's name."""
    syscall("sethostname", b"box", 3)
    places = [place for place in dict.fromkeys([*SYSTEM, *SETTINGS, *python_places(), *see]) if os.path.lexists(place)]
    base = next(folder for folder in ("/tmp", "/mnt", "/var", "/usr") if os.path.isdir(folder))
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("base", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755")
    for name in ("new", "old"):
        os.mkdir(f"{base}/{name}", 0o755)
    os.chdir(base)
    syscall("pivot_root", b".", b"old")  # which also uncovers what the base had covered
    os.chdir("/")
    mount("root", "/new", "tmpfs", MS_NOSUID | MS_NODEV, "size=256k,mode=755")
    folders = [place for place in places if not os.path.islink(f"/old{place}")]
    for place in places:
        if not any(place.startswith(f"{folder}/") for folder in folders):
            _show(place)
    for hidden in hidden_packages():
        if os.path.isdir(f"/new{hidden}") and hidden not in see:
            mount("none", f"/new{hidden}", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755")
            for place in see:
                if place.startswith(f"{hidden}/"):
                    _show(place)
            make_read_only(f"/new{hidden}", recursive=False)
    for device in devices:
        _show(device, device=True)
    for folder in (WORK, "/etc"):
        os.makedirs(f"/new{folder}", 0o755, exist_ok=True)
    for name in ("passwd", "group"):
        with open(f"/new/etc/{name}", "w") as file:
            file.write(_PEOPLE if name == "passwd" else f"box:x:{INSIDE}:\n")
    for folder in ("/tmp", "/dev/shm"):
        if not os.path.lexists(f"/new{folder}"):  # there where something in it is to be seen: read-only then
            os.symlink(WORK, f"/new{folder}")
    make_read_only("/new", recursive=False)
    pivot_root("/new")


def _show(place: str, *, device: bool = False) -> None:
    """A read-only view of a place of the old root in the new one; of a link, the link."""
    old, new = f"/old{place}", f"/new{place}"
    try:
        kind = os.lstat(old).st_mode
    except OSError:
        return
    os.makedirs(os.path.dirname(new), 0o755, exist_ok=True)
    if stat.S_ISLNK(kind):
        with contextlib.suppress(FileExistsError):
            os.symlink(os.readlink(old), new)
        return
    if stat.S_ISDIR(kind):
        os.makedirs(new, 0o755, exist_ok=True)
    else:
        os.close(os.open(new, os.O_CREAT | os.O_RDONLY, 0o444))
    mount(old, new, "", MS_BIND | MS_REC)
    make_read_only(new, devices=device)


def python_places() -> list[str]:
    """Where the interpreter, its library and the libraries beside it lie."""
    places = [os.path.realpath(sys.executable), os.path.dirname(os.path.realpath(os.__file__))]
    places += [f"{os.path.realpath(prefix)}/lib" for prefix in (sys.base_prefix, sys.base_exec_prefix)]
    return places


def hidden_packages() -> list[str]:
    """Folders of installed packages below those: nobody's business unless they are asked for."""
    library = os.path.dirname(os.path.realpath(os.__file__))
    return [f"{library}/site-packages", f"{library}/dist-packages"]
