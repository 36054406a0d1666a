"""Programs that are put right: how a wrong one is shown, what is said about it, and how a reply with several programs reads.

Debugging is a kind of line: `? ` and what is wrong, in words. `debug` shows a program and a call that it fails; the reply is
such a line and a program (LeDex, arXiv:2405.18649). `fix` shows the same, and the reply is a program. `reflect` shows the
specification alone; the reply is a program, then, while its author finds fault with it, such a line and another program; `ok`
confirms the last one (ReflexiCoder, arXiv:2603.05863, whose tags these lines replace: a reflection that finds nothing
and repeats the program is `ok`).
Leaves out: which call a program fails (`tasks/code/failing_calls.py`), and what replies are worth (`rewards`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.task import Task
from guerdon.tasks.code.failing_calls import first_failure

DEBUG, FIX, REFLECT = "debug", "fix", "reflect"
MARK, STANDS = "? ", "ok"
HEAD = "def "  # how a program begins


@dataclass(frozen=True)
class Reflections:
    """A reply to `reflect`: its programs, what was said after each but the last, and whether it ended on `ok`.

    >>> read = read_reflections("def f(x):" + chr(10) + " return x" + chr(10) + "ok")
    >>> read.programs, read.said, read.is_whole
    (('def f(x):\\n return x',), (), True)
    """

    programs: tuple[str, ...]
    said: tuple[str, ...]
    stands: bool

    @property
    def is_whole(self) -> bool:
        """Whether it keeps the form: every program is one to look at, something is said after each, and it ends on `ok`."""
        return self.stands and all(p.startswith(HEAD) for p in self.programs) and all(s.strip() for s in self.said)

    @property
    def final(self) -> str:
        """The program that counts."""
        return self.programs[-1]


# --- what is shown ------------------------------------------------------------------------------------------------


def reflect_view(prompt: str) -> str:
    return f"{REFLECT}\n{prompt}"


def debug_view(prompt: str, program: str, failure: str) -> str:
    return f"{DEBUG}\n{prompt}\n{program}\n{failure}"


def fix_view(prompt: str, program: str, failure: str) -> str:
    return f"{FIX}\n{prompt}\n{program}\n{failure}"


# --- replies ------------------------------------------------------------------------------------------------------


def write_debugged(said: str, program: str) -> str:
    return f"{MARK}{said}\n{program}"


def read_debugged(reply: str) -> tuple[str, str]:
    """What a reply to `debug` says is wrong, and its program; an explanation that is not there is empty.

    >>> read_debugged("? line 2 adds one" + chr(10) + "def f(x):" + chr(10) + " return x")
    ('line 2 adds one', 'def f(x):\\n return x')
    >>> read_debugged("def f(x): return x")
    ('', 'def f(x): return x')
    """
    first, _, rest = reply.strip("\n").partition("\n")
    return (first[len(MARK) :].strip(), rest) if first.startswith(MARK) else ("", reply.strip("\n"))


def write_reflections(programs: Sequence[str], said: Sequence[str]) -> str:
    """Programs, with what was said after each but the last."""
    lines = [programs[0]]
    for words, program in zip(said, programs[1:], strict=True):
        lines += [MARK + words, program]
    return "\n".join([*lines, STANDS])


def read_reflections(reply: str) -> Reflections:
    """The programs of a reply in their order. A reply that was cut short, or never ends on `ok`, has its programs all the same.

    >>> read = read_reflections(write_reflections(["def f(x): return", "def f(x): return x"], ["line 1 gives nothing"]))
    >>> len(read.programs), read.said, read.is_whole
    (2, ('line 1 gives nothing',), True)
    """
    lines = reply.strip("\n").split("\n")
    stands = lines[-1].rstrip() == STANDS
    programs: list[list[str]] = [[]]
    said: list[str] = []
    for line in lines[:-1] if stands else lines:
        if line.startswith(MARK.rstrip()):
            said.append(line[len(MARK) :])
            programs.append([])
        else:
            programs[-1].append(line)
    return Reflections(tuple("\n".join(each) for each in programs), tuple(said), stands)


# --- conversations to learn from ----------------------------------------------------------------------------------


def debug(source: Any, task: Task, draw: random.Random) -> list[tuple[str, str]]:
    """A planted error: shown with a call that it fails, explained and put right."""
    miss = draw.choice(source.near_misses(task, draw))
    view = debug_view(str(task.prompt), miss.text, first_failure(source, task, miss.text))
    return [(view, write_debugged(source.explain(task, miss), miss.right))]


def fix(source: Any, task: Task, draw: random.Random) -> list[tuple[str, str]]:
    """The same without a word."""
    miss = draw.choice(source.near_misses(task, draw))
    return [(fix_view(str(task.prompt), miss.text, first_failure(source, task, miss.text)), miss.right)]


def reflect(source: Any, task: Task, draw: random.Random, wrong: float = 0.5) -> list[tuple[str, str]]:
    """A reply that finds its own errors, which are planted: none, one (`wrong` of all replies) or, as often again in those,
    another on the way to the right program, which is otherwise written as they are."""
    programs, said, right = list[str](), list[str](), draw.choice(source.solutions(task))
    misses = source.near_misses(task, draw)
    while misses and len(programs) < 2 and draw.random() < wrong:
        miss = misses.pop()
        programs.append(miss.text)
        said.append(source.explain(task, miss))
        right = miss.right
    return [(reflect_view(str(task.prompt)), write_reflections([*programs, right], said))]
