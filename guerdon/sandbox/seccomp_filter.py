"""The filter of system calls that a boxed program runs under: a list of what is let through, as Linux's own byte code.

A call of this list is let through, some only with certain arguments. A call that is known and not in it is refused, and told
to the process that looks after the box, which knows it by its name. What no rlimit counts (watched files, file locks, pairs of
sockets, pipes) is told to the same process, which counts. A call of another machine's table kills; one that no table knows does
not exist.
Leaves out: who answers (`box_init.py`) and counts (`counted_calls.py`).
"""

from __future__ import annotations

import ctypes
import errno
import functools
import struct

from guerdon.sandbox.kernel_calls import syscall
from guerdon.sandbox.syscall_numbers import AUDIT_ARCH, MACHINE, NUMBERS

KILL, ERRNO, NOTIFY, ALLOW = 0x80000000, 0x00050000, 0x7FC00000, 0x7FFF0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _AND, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x05, 0x06
_X32 = 0x40000000
_NEW_LISTENER = 1 << 3
_SET_MODE_FILTER = 1

_ALLOWED = """
read write close lseek munmap mprotect brk futex fstat newfstatat openat rt_sigaction rt_sigprocmask rt_sigreturn
clock_gettime gettimeofday time getpid gettid exit exit_group open stat lstat statx access faccessat faccessat2 poll
ppoll select pselect6 pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 dup dup2 dup3
sched_yield mremap pause nanosleep clock_nanosleep clock_getres getitimer alarm setitimer sendfile copy_file_range
truncate ftruncate fallocate getdents getdents64 getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir
creat link linkat unlink unlinkat symlink symlinkat readlink readlinkat chmod fchmod fchmodat fchmodat2 chown fchown
lchown fchownat umask utime utimes futimesat utimensat getrlimit setrlimit getrusage sysinfo times uname getuid
getgid geteuid getegid getresuid getresgid getgroups getppid getpgrp getpgid getsid getpriority capget rt_sigpending
rt_sigtimedwait rt_sigsuspend sigaltstack statfs fstatfs sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min sched_rr_get_interval sched_getaffinity sched_getattr arch_prctl set_tid_address
set_robust_list get_robust_list restart_syscall rseq membarrier getcpu getrandom getxattr lgetxattr fgetxattr
listxattr llistxattr flistxattr timer_create timer_settime timer_gettime timer_getoverrun timer_delete
timerfd_create timerfd_settime timerfd_gettime epoll_create epoll_create1 epoll_wait epoll_pwait epoll_pwait2
eventfd eventfd2 signalfd signalfd4 wait4 waitid futex_waitv futex_wake futex_wait futex_requeue mseal munlock
sendto recvfrom recvmsg shutdown getsockname getpeername getsockopt
"""  # of sockets only what can be done to the ends of a socketpair, and no sending of descriptors, which no limit counts
# They succeed and do nothing. The working folder is in memory, and on the interpreter's files they would keep the disk busy or
# drop what other processes have in the page cache.
_PRETENDED = ("fsync", "fdatasync", "sync_file_range", "msync", "fadvise64", "readahead")
_SILENT = {  # refused so often, by libraries that then do without, that it says nothing of a program
    "clone3": errno.ENOSYS,
    "openat2": errno.ENOSYS,
    "map_shadow_stack": errno.ENOSYS,
    "mlock": errno.EPERM,
    "mbind": errno.EPERM,
    "get_mempolicy": errno.EPERM,
    "set_mempolicy": errno.EPERM,
}
_IOCTLS = (
    0x5401,
    0x5413,
    0x541B,
    0x5421,
    0x5450,
    0x5451,
)  # of terminals (asked only), bytes waiting, non-blocking, close on exec
_PRCTLS = (1, 2, 3, 15, 16, 21, 23, 39)  # names, death signals of one's own children, and questions
_NAME_MAPPING = 0x53564D41  # PR_SET_VMA: as on a kernel without it, for each name is the kernel's memory
_FCNTLS_REFUSED = (8, 10, 15, 1024, 1026, 1031)  # who is signalled, leases, watches, larger pipes
LOCKS = (6, 7, 37, 38)  # commands of fcntl that lock a part of a file: nothing limits how many there are
_MADVICE_REFUSED = (12, 21)  # have the kernel merge equal pages of all processes, write pages out to the disk
_MADVICE_POPULATE = (22, 23, 25)  # fill a mapping in one call, or a large page of it
_SIGNALS = {"kill": 1, "tkill": 1, "tgkill": 2}  # which argument is the signal
_ADD = 1  # EPOLL_CTL_ADD
_UNSHARE = 2  # CLOSE_RANGE_UNSHARE: a second table of 128 files
_HUGE = 0x40000  # MAP_HUGETLB: pages of a pool that all processes of the machine share
_POPULATE = 0x8000  # MAP_POPULATE: fills a mapping in one call, during which SIGSTOP waits
SHARED_ALONE = 0x21  # MAP_SHARED and MAP_ANONYMOUS: its pages stay while one of them is mapped
_SIGCONT = 18
_FILES = 0x400  # CLONE_FILES
_DUMPABLE = 4  # PR_SET_DUMPABLE
_OWN = 0x7FFFFFF1  # stands for a program's own process id, until that is known
_THREAD = 0x10000  # CLONE_THREAD
_NAMESPACES = 0x7E020080  # flags of clone that make namespaces


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value & 0xFFFFFFFF)


def _one_of(argument: int, values: tuple[int, ...], otherwise: int) -> list[bytes]:
    """Let the call through where the low half of an argument is one of these."""
    steps = [_step(_LOAD, 16 + 8 * argument)]
    for value in values:
        steps += [_step(_EQUAL, value, 0, 1), _step(_RETURN, ALLOW)]
    return [*steps, _step(_RETURN, otherwise)]


def _none_of(argument: int, values: tuple[int, ...], otherwise: int) -> list[bytes]:
    steps = [_step(_LOAD, 16 + 8 * argument)]
    for value in values:
        steps += [_step(_EQUAL, value, 0, 1), _step(_RETURN, otherwise)]
    return [*steps, _step(_RETURN, ALLOW)]


def _unless(argument: int, flags: int, action: int) -> list[bytes]:
    """Go on, unless any of these flags is set in an argument."""
    return [_step(_LOAD, 16 + 8 * argument), _step(_ANY_OF, flags, 0, 1), _step(_RETURN, action)]


def _unless_own_files(action: int) -> list[bytes]:
    """Go on, unless a clone would make a thread with a table of open files of its own."""
    return [
        _step(_LOAD, 16),
        _step(_ANY_OF, _THREAD, 0, 2),
        _step(_ANY_OF, _FILES, 1, 0),
        _step(_RETURN, action),
    ]


def _may_become_closed() -> list[bytes]:
    """Go on, unless a prctl closes this process to others."""
    return [
        _step(_LOAD, 16),
        _step(_EQUAL, _DUMPABLE, 0, 3),
        _step(_LOAD, 24),
        _step(_EQUAL, 0, 0, 1),
        _step(_RETURN, ALLOW),
    ]


@functools.cache
def filter_for(*, processes: bool, executes: bool, sessions: bool, signals: bool) -> bytes:
    """The filter for a program: whether it may start processes, execute files, leave its session, and send signals to others
    than itself."""
    refused = NOTIFY
    free = [name for name in _ALLOWED.split() if name in NUMBERS]
    judged = {
        "ioctl": _one_of(1, _IOCTLS, ERRNO | errno.ENOTTY),
        "prctl": [
            *_none_of(0, (_NAME_MAPPING,), ERRNO | errno.EINVAL)[:-1],
            *([] if processes else _may_become_closed()),
            *_one_of(0, _PRCTLS, refused),
        ],
        # For one process a lock does nothing but to keep others out, who are not in its box.
        "fcntl": _none_of(1, LOCKS, NOTIFY if processes else ERRNO)[:-1] + _none_of(1, _FCNTLS_REFUSED, refused),
        "prlimit64": _one_of(0, (0, _OWN), refused),
        "sched_setaffinity": [_step(_RETURN, refused)] if processes else _one_of(0, (0, _OWN), refused),
        "personality": _one_of(0, (0xFFFFFFFF,), refused),
        "epoll_ctl": _none_of(1, (_ADD,), refused),
        "madvise": _none_of(2, (*_MADVICE_REFUSED, *(_MADVICE_POPULATE if processes else ())), refused),
        "pipe": [_step(_RETURN, NOTIFY)],
        "pipe2": [_step(_RETURN, NOTIFY)],
        "close_range": [*_unless(2, _UNSHARE, refused), _step(_RETURN, ALLOW)],
        "mmap": [
            *_unless(3, _HUGE | (_POPULATE if processes else 0), refused),
            *(_step(_ANY_OF, flag, 0, 1 + last) for flag, last in ((0x20, 1), (0x01, 0))),
            _step(_RETURN, NOTIFY),
            _step(_RETURN, ALLOW),
        ],
    }
    judged |= {name: [_step(_RETURN, ERRNO)] for name in _PRETENDED}
    if processes:  # whoever is stopped to be measured is not woken by a timer's SIGCONT; who can do without is told to
        judged["timer_create"] = [_step(_RETURN, ERRNO | errno.ENOSYS)]
    if processes:  # every start of a process or thread is told, and whoever is told counts
        error = ERRNO | errno.EPERM
        judged["clone"] = [*_unless(0, _NAMESPACES, error), *_unless_own_files(error), _step(_RETURN, NOTIFY)]
    else:
        own_files = [*_unless_own_files(refused), *_unless(0, _THREAD, ALLOW)]
        judged["clone"] = [*_unless(0, _NAMESPACES, refused), *own_files, _step(_RETURN, refused)]
    if signals:  # but whoever is stopped to be measured stays so
        judged |= {name: _none_of(at, (_SIGCONT,), ERRNO | errno.EPERM) for name, at in _SIGNALS.items()}
    else:
        judged["kill"] = judged["tgkill"] = _one_of(0, (_OWN,), refused)
    if sessions:
        free += ["setsid", "setpgid"]
    if executes or processes:
        free.append("execve")
    return _assembled(free, judged, refused)


def _assembled(free: list[str], judged: dict[str, list[bytes]], refused: int) -> bytes:
    """Find the number's action by halving: when it is installed the kernel goes through the filter once for every number
    there is, and that is most of what it costs."""
    actions = {number: [_step(_RETURN, refused)] for number in NUMBERS.values()}
    actions |= {NUMBERS[name]: [_step(_RETURN, ERRNO | error)] for name, error in _SILENT.items() if name in NUMBERS}
    actions |= {NUMBERS[name]: [_step(_RETURN, ALLOW)] for name in free if name in NUMBERS}
    actions |= {NUMBERS[name]: body for name, body in judged.items() if name in NUMBERS}
    unknown = [_step(_RETURN, ERRNO | errno.ENOSYS)]
    runs: list[tuple[int, list[bytes]]] = []  # from which number on which action
    for number in range(max(actions) + 2):
        action = actions.get(number, unknown)
        if not runs or runs[-1][1] != action:
            runs.append((number, action))
    if MACHINE == "x86_64":
        runs.append((_X32, [_step(_RETURN, KILL)]))
    head = [_step(_LOAD, 4), _step(_EQUAL, AUDIT_ARCH[MACHINE], 1, 0), _step(_RETURN, KILL), _step(_LOAD, 0)]
    return b"".join([*head, *_halved(runs)])


def _halved(runs: list[tuple[int, list[bytes]]]) -> list[bytes]:
    if len(runs) == 1:
        return runs[0][1]
    middle = len(runs) // 2
    below, above = _halved(runs[:middle]), _halved(runs[middle:])
    if len(below) < 256:
        return [_step(_AT_LEAST, runs[middle][0], len(below), 0), *below, *above]
    return [_step(_AT_LEAST, runs[middle][0], 0, 1), _step(_JUMP, len(below)), *below, *above]


def install(program: bytes, own_pid: int) -> int:
    """Put this thread and all it starts under a filter, for good. Gives the descriptor on which refusals are told."""
    program = with_pid(program, own_pid)
    body = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(body))
    return syscall("seccomp", _SET_MODE_FILTER, _NEW_LISTENER, header)


def with_pid(program: bytes, own_pid: int) -> bytes:
    """A filter for the program of this process id."""
    return program.replace(_step(_EQUAL, _OWN, 0, 1), _step(_EQUAL, own_pid, 0, 1))


# --- the descriptor on which refusals are told ------------------------------------------------------------------------

RECEIVE, ANSWER = 0xC0502100, 0xC0182101


def told(record: bytes | bytearray) -> tuple[int, int, int, tuple[int, ...]]:
    """Of a record of a call: its id, the thread that makes it, the call's number, and its arguments."""
    ident, thread, _, number, _, _, *arguments = struct.unpack_from("<QIIiIQ6Q", record)
    return ident, thread, number, tuple(arguments)


def answer(ident: int, error: int) -> bytes:
    """The answer to it: it failed so, or where there is no error it may go on."""
    return struct.pack("<QqiI", ident, 0, -error, 0 if error else 1)


def starts_process(name: str, flags: int) -> bool:
    """Whether a call is one that starts a process, and not a thread."""
    return name in ("fork", "vfork") or (name == "clone" and not flags & _THREAD)
