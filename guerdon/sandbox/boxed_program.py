"""The program's own process: it gives up everything, in the order that lets it, and then runs what it was asked to.

The filter of system calls comes last: nothing after it is ours but plain Python. What this process says of itself on
`report` is the program's word, and is believed no further than that.
Leaves out: watching it (`box_init.py`), unit tests (`unit_tests.py`), SQL (`boxed_sql.py`).
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import errno
import fcntl
import io
import json
import linecache
import os
import random
import resource
import signal
import sys
import threading
import traceback
import types
from dataclasses import dataclass
from typing import Any, NoReturn

from guerdon.sandbox import kernel_calls, seccomp_filter
from guerdon.sandbox.box_processes import BoxConfig
from guerdon.sandbox.boxed_limits import set_limits, slow_several
from guerdon.sandbox.boxed_root import DEVICES, SETTINGS, SYSTEM, WORK, python_places
from guerdon.sandbox.boxed_sql import RefusedQuery, answer_queries, answer_query
from guerdon.sandbox.plain_data import NotPlain, plain_form, plain_value, to_json, write_all
from guerdon.sandbox.unit_tests import serve_tests, take_tests

BOXED = b"boxed"  # what a process says when it has given up all it had
FILE = "program.py"  # what a program is called in its own tracebacks
_REPORT, _FROM, _TO, _TELL = 3, 4, 5, 6  # where descriptors are put; there are no others
_DONE = b'{"end":"done"}'
_OURS = __file__.rpartition("/")[0]  # whose lines no traceback shows
ENVIRONMENT = {
    "HOME": WORK,
    "TMPDIR": WORK,
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
}
_BEHIND = 3  # how much several processes stand behind the one that looks after them, which must see them in time


@dataclass(frozen=True)
class Ends:
    """The descriptors of a program: to print on, to report on, and for unit tests to be asked and answer on."""

    out: int
    err: int
    report: int
    hear: int = -1
    say: int = -1


def be_program(request: dict[str, Any], ends: Ends, tell: int, config: BoxConfig, work: str, parent: int) -> NoReturn:
    """Never comes back."""
    kind = request["kind"]
    _take_descriptors(ends, tell, request.get("stdin"))
    _take_environment(request, work, config)
    try:
        _give_up(request, config, work, parent)
    except BaseException as error:  # noqa: BLE001  nothing untrusted ran
        os.write(_TELL, f"could not be boxed: {type(error).__name__}: {error}".encode()[:1000])
        os._exit(1)
    if kind == "program":
        _execute([str(word) for word in request["argv"]])
    _open_streams()
    _forget_us()
    if kind == "tests":
        take_tests(request, _FROM, _TO, _REPORT)
    elif kind == "sql":
        _finish(lambda: answer_query(request["script"], request["query"]))
    elif kind == "queries":
        cpu = request["limits"]["cpu"]
        _finish(lambda: answer_queries(request["scripts"], request["queries"], cpu, _told_of))
    elif kind == "call":
        _finish(lambda: _called(request))
    elif kind == "check":
        namespace = _main()
        _finish(lambda: _served(request, namespace), say_done=False)
    else:
        _run_source(request["source"])
    os._exit(0)


# --- giving up --------------------------------------------------------------------------------------------------------


def _take_descriptors(ends: Ends, tell: int, stdin: str | None) -> None:
    """Put what the program has at its numbers, and close everything else."""
    given = os.open(os.devnull, os.O_RDONLY) if stdin is None else _sealed(stdin.encode("utf-8", "backslashreplace"))
    wanted = [given, ends.out, ends.err, ends.report, ends.hear, ends.say, tell]
    high = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) if end >= 0 else -1 for end in wanted]
    for number, end in enumerate(high):
        if end >= 0:
            os.dup2(end, number, inheritable=number < 3)
        else:
            with contextlib.suppress(OSError):
                os.close(number)
    os.closerange(len(high), 1 << 20 if sys.platform == "linux" else 4096)


def _sealed(data: bytes) -> int:
    """A file in memory that holds this and can not be changed."""
    if not hasattr(os, "memfd_create"):
        hear, say = os.pipe()
        if os.fork() == 0:
            with contextlib.suppress(OSError):
                os.close(hear)
                write_all(say, data)
            os._exit(0)
        os.close(say)
        return hear
    end = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    write_all(end, data)
    os.lseek(end, 0, os.SEEK_SET)
    fcntl.fcntl(end, 1033, 0xF)  # F_ADD_SEALS: neither written, grown, shrunk nor unsealed
    return end


def _take_environment(request: dict[str, Any], work: str, config: BoxConfig) -> None:
    if work != WORK:
        os.environ.update(HOME=work, TMPDIR=work)
    if request["limits"]["processes"] > 1:
        for hooks in config.fork_hooks:
            os.register_at_fork(**hooks)
    # A session is a scheduling group, which takes milliseconds to make: for several processes, so that whoever measures them
    # does not share their turns.
    if request["limits"]["processes"] > 1:
        os.setsid()
    else:
        os.setpgid(0, 0)
    os.umask(0o077)
    if request["kind"] == "tests":
        os.chdir("/")  # what the program wrote is none of their business
    else:
        sys.path.insert(0, work)
    # A package's own folder is imported from the one above it, of which nothing else is seen.
    places = (place for place in config.see if os.path.isdir(place))
    sys.path += [os.path.dirname(place) if os.path.exists(f"{place}/__init__.py") else place for place in places]


def _give_up(request: dict[str, Any], config: BoxConfig, work: str, parent: int) -> None:
    """Limits, privileges, files, and last the system calls."""
    limits, kind = request["limits"], request["kind"]
    many, linux = limits["processes"] > 1, sys.platform == "linux"
    if linux:
        kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    set_limits(limits, config)
    if many:
        os.nice(_BEHIND)
    if not linux:
        os.close(_TELL)
        return
    with contextlib.suppress(OSError):
        kernel_calls.drop_capabilities()
    kernel_calls.prctl(
        kernel_calls.PR_SET_DUMPABLE, 1
    )  # or nobody could take the listener, nor tell what memory is shared
    kernel_calls.prctl(kernel_calls.PR_SET_NO_NEW_PRIVS, 1)
    if many:
        slow_several()
    boxed = config.isolation == "full"
    if config.landlock:
        readable = ["/"] if boxed else [place for place in _readable(config) if os.path.exists(place)]
        devices = [
            place for place in ("/dev/null", "/dev/full") if os.path.exists(place)
        ]  # memory shared by /dev/zero: uncounted
        kernel_calls.restrict_files(config.landlock, readable, [] if kind == "tests" else [work], devices)
    if config.isolation == "limits":
        os.close(_TELL)
        return
    program = seccomp_filter.filter_for(
        processes=many,
        executes=kind == "program",
        sessions=boxed,
        signals=many and (boxed or config.landlock >= kernel_calls.SCOPES),
    )
    listener = seccomp_filter.install(program, os.getpid())
    os.write(_TELL, BOXED + b"%d" % listener)
    if os.read(_TELL, len(BOXED)) != BOXED:
        os._exit(1)
    os.close(_TELL)
    os.close(listener)
    if not many:
        kernel_calls.prctl(kernel_calls.PR_SET_DUMPABLE, 0)


def _readable(config: BoxConfig) -> list[str]:
    return [*SYSTEM, *SETTINGS, *DEVICES, *python_places(), *config.see]


# --- running ----------------------------------------------------------------------------------------------------------


def _execute(argv: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(argv[0], argv, dict(os.environ))
    except (OSError, ValueError) as error:
        _say({"end": "raised", "error": f"can not execute {argv[0]}: {getattr(error, 'strerror', None) or error}"})
    os._exit(127)


def _open_streams() -> None:
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), encoding="utf-8")  # type: ignore[misc]
    out, err = (io.BufferedWriter(io.FileIO(number, "w")) for number in (1, 2))
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(out, encoding="utf-8")  # type: ignore[misc]
    handler = "backslashreplace"
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(err, "utf-8", handler, line_buffering=True)  # type: ignore[misc]


def _forget_us() -> None:
    """The program begins as any script does."""
    atexit._clear()
    sys.argv[:] = [FILE]
    random.seed(0)  # the same program prints the same every time


def _main() -> dict[str, Any]:
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=FILE, __builtins__=builtins)
    sys.modules["__main__"] = module
    return module.__dict__


def _compiled(source: str) -> types.CodeType:
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    return compile(source, FILE, "exec", dont_inherit=True)


def _run_source(source: str) -> None:
    namespace = _main()

    def run() -> None:
        exec(_compiled(source), namespace)
        _wind_up()

    def at_its_end(error: SystemExit) -> bool:
        """Whether it left by its last statement, as `sys.exit(main())` does."""
        frames = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_globals is namespace]
        return bool(frames) and frames[0] >= ast.parse(source).body[-1].lineno

    _finish(run, at_its_end)


def _wind_up() -> None:
    """What Python does when a script is through."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(Exception):  # whatever the program has put there
        sys.stdout.flush()


def _called(request: dict[str, Any]) -> Any:
    """The value of a function of the program's, called with plain data."""
    if request["pickled"]:
        import cloudpickle  # it is seen, or the caller was told to let it be

        function = cloudpickle.loads(bytes.fromhex(request["pickled"]))
    else:
        namespace = _main()
        exec(_compiled(request["source"]), namespace)
        function = namespace[request["name"]]
    arguments = plain_value(request["arguments"])
    values = [function(**given) for given in arguments]
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    return values


def _served(request: dict[str, Any], namespace: dict[str, Any]) -> None:
    exec(_compiled(request["source"]), namespace)
    serve_tests(namespace, _FROM, _TO)


def _finish(run: Any, at_its_end: Any = None, *, say_done: bool = True) -> NoReturn:
    """Run it, and say how it ended."""
    own = os.getpid()
    try:
        value = run()
        report = _DONE if value is None else to_json({"end": "value", "value": plain_form(value)})
        code = 0
    except NotPlain as error:
        report, code = to_json({"end": "raised", "error": str(error)}), 1
    except SystemExit as error:
        code, report = _left(error, at_its_end)
    except BaseException as error:  # noqa: BLE001  the program's
        code, report = 1, _raised(error)
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    if (say_done or code) and os.getpid() == own:  # and not what it forked
        with contextlib.suppress(OSError):
            write_all(_REPORT, report)
    os._exit(code)


def _left(error: SystemExit, at_its_end: Any) -> tuple[int, bytes]:
    code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    if not isinstance(error.code, int | None):
        with contextlib.suppress(BaseException):
            print(error.code, file=sys.stderr)
    if code & 0xFF:
        return code & 0xFF, to_json({"end": "raised", "error": f"ended with code {code & 0xFF}"})
    if at_its_end is not None and at_its_end(error):
        with contextlib.suppress(BaseException):
            _wind_up()
        return 0, _DONE
    return 0, to_json({"end": "left", "error": "SystemExit before it was through"})


def _raised(error: BaseException) -> bytes:
    """What an exception says, whatever it does when it is asked."""
    if isinstance(error, MemoryError):
        with contextlib.suppress(ValueError, OSError):
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    kind, line = _in_words(error)
    with contextlib.suppress(BaseException):
        traceback.print_exception(type(error), error, _frames(error), limit=20)
        sys.stderr.flush()
    return json.dumps({"end": "raised", "kind": kind, "error": line}).encode()


def _told_of(error: BaseException) -> tuple[str, str, str]:
    """What one of several queries raised: its kind, its line, and what it would have printed had it been alone."""
    return *_in_words(error), "".join(traceback.format_exception(type(error), error, _frames(error), limit=20))


def _frames(error: BaseException) -> types.TracebackType | None:
    """Where it was raised, without frames of ours."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OURS):
        frames = frames.tb_next
    return frames


def _in_words(error: BaseException) -> tuple[str, str]:
    """The kind of an exception, and its line."""
    kind = ""
    if isinstance(error, MemoryError):
        kind = "memory"
    elif isinstance(error, RefusedQuery):
        kind = "forbidden"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        kind = "disk"
    elif isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        kind = "processes"
    line = type(error).__name__
    with contextlib.suppress(BaseException):
        line = f"{line}: {str(error)[:1000]}" if str(error) else line
    if kind == "memory":
        line = "ran out of memory"
    if kind == "forbidden":
        line = str(error)
    return kind, line


def _say(said: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        write_all(_REPORT, to_json(said))
