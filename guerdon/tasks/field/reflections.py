"""Programs that are put right: how a wrong one is shown, what is said about it, and how a reply with several programs reads.

Debugging is a kind of line: `? ` and what is wrong, in words. `debug` shows a program and a call that it fails; the reply is
such a line and a program (LeDex, arXiv:2405.18649). `fix` shows the same, and the reply is a program. `reflect` shows the
specification alone; the reply is a program, then, while its author finds fault with it, such a line and another program; `ok`
confirms the last one (ReflexiCoder, arXiv:2603.05863, whose tags these lines replace: a reflection that finds nothing
and repeats the program is `ok`). Models that follow instructions are asked in plain language
(`tasks/role_wordings.py`): they write programs in ```python blocks, with sentences between them, and end on `Verdict: ok`.
Leaves out: which call a program fails (`tasks/code/failing_calls.py`), and what replies are worth (`rewards`).
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.task import Task
from guerdon.tasks.code.failing_calls import first_failure
from guerdon.tasks.field.program_text import FENCED

DEBUG, FIX, REFLECT = "debug", "fix", "reflect"
MARK, STANDS = "? ", "ok"
HEAD = "def "  # how a program begins
BEGINS = (HEAD, "import ", "from ", "class ")  # in prose
FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
ENDS_OK = re.compile(r"(?:(?:my |the )?(?:final )?verdict\W*(?:is\W*)?)?(?:ok|okay)\W*\Z", re.IGNORECASE)  # of prose


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
    in_blocks: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it keeps the form: every program is one to look at, something is said after each, and it ends on `ok`."""
        return self.stands and self.has_programs and all(s.strip() for s in self.said)

    @property
    def has_programs(self) -> bool:
        """Whether there are programs to look at: in blocks whatever is not empty, else what begins as one."""
        return all(bool(p.strip()) if self.in_blocks else p.startswith(HEAD) for p in self.programs)

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
    >>> read_debugged("It adds one." + chr(10) + "```python" + chr(10) + "def f(x): return x" + chr(10) + "```")
    ('It adds one.', 'def f(x): return x')
    """
    prose = opened(reply)
    blocks = [*FENCED.finditer(prose)]
    if blocks:
        return " ".join(prose[: blocks[0].start()].split()), blocks[-1][1].strip("\n")
    first, _, rest = reply.strip("\n").partition("\n")
    return (first[len(MARK) :].strip(), rest) if first.startswith(MARK) else ("", reply.strip("\n"))


def opened(reply: str) -> str:
    """A reply in prose whose first block is closed and was never opened, with the fence that is missing: what begins with a
    program often does without."""
    fence = FENCE.search(reply)
    is_closed = fence is not None and fence[0].strip() == "```"
    return f"```python\n{reply}" if is_closed and reply.startswith(BEGINS) else reply


def has_program(reply: str) -> bool:
    """Whether a program can be read from a reply: in a block, or from a line that begins one.

    >>> [has_program(text) for text in ("def f(x): return x", "I would add one.")]
    [True, False]
    """
    return FENCED.search(reply) is not None or any(line.startswith(HEAD) for line in reply.split("\n"))


def explained_lines(reply: str) -> int:
    """How many lines at the beginning of a reply to `debug` say what is wrong; blank lines belong to the one before."""
    block = FENCED.search(opened(reply))
    if block is None:
        return int(reply.startswith(MARK))
    return sum(bool(line.strip()) for line in reply[: block.start()].split("\n"))


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
    >>> read = read_reflections("```python" + chr(10) + "def f(x): return x" + chr(10) + "```" + chr(10) + "**Verdict:** OK.")
    >>> read.programs, read.is_whole
    (('def f(x): return x',), True)
    """
    prose = opened(reply)
    blocks = [*FENCED.finditer(prose)]
    if blocks:
        return _read_blocks(prose, blocks)
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


def _read_blocks(reply: str, blocks: Sequence[re.Match[str]]) -> Reflections:
    """A reply in prose: programs in blocks, and what is said between them."""
    said = tuple(" ".join(reply[one.end() : next_.start()].split()) for one, next_ in itertools.pairwise(blocks))
    after = reply[blocks[-1].end() :].strip()
    stands = any(ENDS_OK.fullmatch(line.strip("*_`#> \t\"'")) for line in after.split("\n"))
    return Reflections(tuple(block[1].strip("\n") for block in blocks), said, stands, in_blocks=True)


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
