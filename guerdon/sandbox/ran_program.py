"""What came of a program in a box: one cause, one line, and what it printed.

The facts come from the process that looks after the box (`box_init.py`); what the program says of itself is heard as
anything a stranger says, within bounds. Leaves out: running it (`sandbox_pool.py`).
"""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from guerdon.sandbox.plain_data import GIVE_BACK, NotPlain, plain_value
from guerdon.sandbox.unit_tests import GONE

LONGEST_LINE = 500
_ORDINARY_END = {"done", "value", "raised", "left"}
_TOLD = {"memory", "disk", "processes", "forbidden"}
_TOLD_BY_TESTS = {"assertion", "broken"}


class Cause(StrEnum):
    """Why a program in a box ended.

    >>> from guerdon.sandbox import Cause, run_python
    >>> run_python("import os; os._exit(0)").cause is Cause.LEFT
    True
    """

    DONE = "done"  # ran to its end
    RAISED = "raised"  # an exception, or an exit code other than 0
    ASSERTION = "assertion"  # an assert of a unit test failed
    CPU = "cpu"
    WALL = "wall"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    OUTPUT = "output"
    FORBIDDEN = "forbidden"  # it was refused a system call, and did not end well
    CRASHED = "crashed"  # a signal ended it
    LEFT = "left"  # it ended before it was through: os._exit, or SystemExit in the middle
    BROKEN = "broken"  # the box itself failed: never the program's fault


@dataclass(frozen=True)
class Ran:
    """What came of a program: why it ended, in a word (`cause`) and in a line (`error`), what it printed, what it used.

    `value` is what it gave back as plain data (`run_sql`, `SandboxPool.call`); `code` its exit code; `forbidden` the system
    calls that it was refused, also where it went on without them.

    >>> from guerdon.sandbox import run_python
    >>> ran = run_python("print(1 / 0)")
    >>> ran.ok, str(ran.cause), ran.error
    (False, 'raised', 'ZeroDivisionError: division by zero')
    """

    cause: Cause
    error: str = ""
    stdout: str = ""
    stderr: str = ""
    code: int | None = None
    value: Any = None
    cpu: float = 0.0
    wall: float = 0.0
    forbidden: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it ran to its end."""
        return self.cause is Cause.DONE


def broken(error: str) -> Ran:
    """What is said where the box failed, not the program."""
    return Ran(Cause.BROKEN, error)


def one_line(text: str) -> str:
    """The first line of a text, cut to a length; what would steer a terminal, or has no UTF-8, is written out."""
    first = next(iter(text.strip().splitlines()), "")
    line = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in first[: LONGEST_LINE + 1])
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."


def heard(report: bytes) -> dict[str, Any]:
    """What a program's process said of itself, or nothing where that makes no sense."""
    try:
        said = json.loads(report)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(said, dict) or str(said.get("end")) not in _ORDINARY_END:
        return {}
    return {name: said.get(name) for name in ("end", "value")} | {
        name: str(said.get(name, "")) for name in ("kind", "error")
    }


def ran_from(facts: dict[str, Any], blobs: list[bytes]) -> Ran:
    """The facts of a box, and what its streams and reports hold, in words."""
    out, err, report, verdict = blobs
    status: int | None = facts["status"]  # of the program's process; None where it was ended with the box
    code = status if status is not None and status >= 0 else None
    said = heard(verdict) if facts["kind"] == "check" else heard(report)
    cause, error = _judged(facts, said, heard(report))
    value = None
    if cause is Cause.DONE and facts["kind"] in GIVE_BACK:  # nobody else has one to give
        try:
            value = plain_value(said.get("value"))
        except NotPlain as trouble:
            cause, error = Cause.RAISED, f"its value can not be read: {trouble}"
    forbidden = tuple(dict.fromkeys(facts["forbidden"]))
    if forbidden and cause in (Cause.RAISED, Cause.CRASHED, Cause.LEFT):
        forks = [name for name in forbidden if name in ("fork", "vfork", "clone")]
        cause, named = (Cause.PROCESSES, "fork") if forks else (Cause.FORBIDDEN, ", ".join(forbidden[:4]))
        error = f"was refused {'to start a process' if forks else f'the system call {named}'}: {error}"
    return Ran(
        cause,
        one_line(error),
        out.decode("utf-8", "replace"),
        err.decode("utf-8", "replace"),
        code,
        value,
        facts["cpu"],
        facts["wall"],
        forbidden,
    )


def each_ran(ran: Ran, count: int) -> list[list[Ran]]:
    """What each of the queries that shared a box came to, by script, as if it had been alone; what is missing is to be asked
    alone. The box's word counts for any of them only if it came to its end by itself and was refused nothing."""
    if not ran.ok or ran.forbidden or not isinstance(ran.value, list) or len(ran.value) != count:
        return [[] for _ in range(count)]
    return [_believed(told, ran) for told in ran.value]


def _believed(told: Any, box: Ran) -> list[Ran]:
    each = [_one_of_several(one, box) for one in told] if isinstance(told, list) else []
    return [ran for ran in each if ran is not None] if None not in each else []


def _one_of_several(told: Any, box: Ran) -> Ran | None:
    if isinstance(told, dict):
        return Ran(Cause.DONE, code=0, value=told, cpu=box.cpu, wall=box.wall)
    if not isinstance(told, tuple) or len(told) != 3 or not all(isinstance(word, str) for word in told):
        return None
    kind, line, trace = told
    cause, error = _told({"end": "raised", "kind": kind, "error": line})
    return Ran(cause, one_line(error), stderr=trace, code=1, cpu=box.cpu, wall=box.wall)


def _judged(facts: dict[str, Any], said: dict[str, Any], program: dict[str, Any]) -> tuple[Cause, str]:
    """`said` is the word that counts: the tests' where there are some; `program` is what the program says of itself."""
    over, status, kind = facts["over"], facts["status"], facts["kind"]
    if over:
        return Cause(over), str(facts["error"])
    if kind == "check":
        if said:
            return _told(said, of_tests=True)
        if facts["tester"] != GONE:
            return _without_verdict(facts)
        if program.get("end") in ("raised", "left"):
            return _told(program)
        if status is not None and status < 0:
            return _by_status(status, facts)
        return Cause.LEFT, "the program ended before its tests were through"
    if status < 0 or (kind == "program" and not program):
        return (Cause.DONE, "") if status == 0 else _by_status(status, facts)
    if said:
        return _told(said)
    return (Cause.LEFT, "ended before it was through") if status == 0 else _by_status(status, facts)


def _without_verdict(facts: dict[str, Any]) -> tuple[Cause, str]:
    """The tests' process ended and said nothing. What it computes with is what the program answered, so that it crashes or runs
    out of something is the program's doing; that somebody kills it can be so only where the program may start processes."""
    if facts["processes"] > 1:
        return Cause.RAISED, "the tests were ended from inside the box"
    cause, error = _by_status(facts["tester"], facts)
    if facts["tester"] == -signal.SIGKILL:
        return Cause.BROKEN, f"the tests ended without a verdict: {error}"
    return cause, f"the tests ended without a verdict: {error}"


def _told(said: dict[str, Any], *, of_tests: bool = False) -> tuple[Cause, str]:
    """What a process said of itself. That the fault is nobody's is believed of the tests' own alone."""
    if said["end"] in ("done", "value"):
        return Cause.DONE, ""
    error, kind = said["error"][: 2 * LONGEST_LINE], said["kind"]
    if said["end"] == "left":
        return Cause.LEFT, error
    return Cause(kind) if kind in _TOLD or (of_tests and kind in _TOLD_BY_TESTS) else Cause.RAISED, error


def _by_status(status: int, facts: dict[str, Any]) -> tuple[Cause, str]:
    if status >= 0:
        full = facts["full"] and "its disk was full"
        return (Cause.DISK, full) if full else (Cause.RAISED, f"ended with code {status}")
    if -status == signal.SIGXFSZ:
        return Cause.DISK, "wrote a file beyond its disk"
    if -status == signal.SIGXCPU:
        return Cause.CPU, "took more processor time than it may"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return Cause.CRASHED, f"crashed: {name}"
