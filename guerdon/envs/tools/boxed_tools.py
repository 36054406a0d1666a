"""Tools that run what a model wrote in the sandbox: Python, whose names last for an episode, and SQL on a task's own database.

Every call is a box of its own; an interpreter runs earlier calls again before the new one, unseen: nothing of an episode
outlives it or is shared. A box that breaks is not the call's fault: the episode fails.
Leaves out: what a box holds off (`guerdon/sandbox`, docs/sandbox.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.envs.tools.tool_calling import CallError, CallFailed, ToolBroken
from guerdon.envs.tools.tool_schema import tool
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.ran_program import Cause, Ran
from guerdon.sandbox.sandbox_pool import SandboxPool, shared_sandbox

EXIT = "ended with code"  # what is said of a program that ended its process itself
KINDS: dict[Cause, CallError] = {Cause.CPU: "timed_out", Cause.WALL: "timed_out", Cause.CRASHED: "crashed"}

# Runs earlier cells unseen, then the last one; an expression at its end is shown. What a cell did before it raised stays done.
SESSION = """\
import ast as _ast, contextlib as _contextlib, io as _io, random as _random
_random.seed({seed})
def _run(_cell, _names):
    _tree = _ast.parse(_cell, "<cell>")
    _last = _tree.body.pop() if _tree.body and isinstance(_tree.body[-1], _ast.Expr) else None
    exec(compile(_tree, "<cell>", "exec"), _names)
    if _last is not None:
        _value = eval(compile(_ast.Expression(_last.value), "<cell>", "eval"), _names)
        if _value is not None:
            print(repr(_value))
_names = {{"__name__": "__main__"}}
*_before, _now = {cells}
for _cell in _before:
    with _contextlib.redirect_stdout(_io.StringIO()), _contextlib.redirect_stderr(_io.StringIO()):
        try:
            _run(_cell, _names)
        except BaseException:
            pass
_run(_now, _names)
"""


@part
class interpreter:
    """The tool `python`: runs code in the sandbox and shows what it prints, and the value of an expression at its end. Names
    last for an episode. All calls of an episode together take `cpu` seconds of a processor and `memory` bytes at most.

    Args:
        cpu: processor seconds of an episode.
        wall: seconds of a call.
        memory: bytes.
        isolation: how the sandbox isolates.

    >>> import guerdon as gd
    >>> gd.envs.tool_turns([gd.envs.interpreter(cpu=1.0)]).every_tool
    [Tool('python')]
    """

    cpu: float = knob(default=2.0, gt=0.0)
    wall: float = knob(default=5.0, gt=0.0)
    memory: int = knob(default=256 << 20, ge=1 << 20)
    isolation: Literal["full", "landlock", "limits"] = "full"

    seed: int = live(default=0)
    cells: tuple[str, ...] = live(default=())

    def open(self, seed: int, meta: Mapping[str, Any]) -> interpreter:
        """One that has run nothing yet."""
        fresh = interpreter(self.cpu, self.wall, self.memory, self.isolation)
        fresh.seed = seed
        return fresh

    @tool(keeps_time=True)
    async def python(self, code: Annotated[str, "Python code"]) -> str:
        """Run Python code. Print what you want to see; names stay for the next call."""
        cells = (*self.cells, code)
        session = SESSION.format(seed=self.seed, cells=json.dumps(cells, ensure_ascii=True))
        ran = await _pool(self.isolation).python(session, limits=Limits(self.cpu, self.wall, self.memory))
        if ran.ok or (ran.cause is Cause.RAISED and not ran.error.startswith(EXIT)):
            self.cells = cells  # what took too long, crashed or left would do so again before every other call
        return _seen(ran, ran.stdout.rstrip("\n") or "(it printed nothing)")


@part
class sql:
    """The tool `sql`: asks a query of a SQLite database, made by the script in `meta[script_in]` of the task. Each query finds
    the database as the script made it; it may read it and change its own copy, and nothing else.

    Args:
        script_in: key of the task's meta with the script of the database.
        cpu: processor seconds of a query.
        wall: seconds of a query.
        memory: bytes.
        isolation: how the sandbox isolates.

    >>> import guerdon as gd
    >>> gd.envs.tool_turns([gd.envs.sql("schema")]).every_tool
    [Tool('sql')]
    """

    script_in: str = "database"
    cpu: float = knob(default=2.0, gt=0.0)
    wall: float = knob(default=5.0, gt=0.0)
    memory: int = knob(default=256 << 20, ge=1 << 20)
    isolation: Literal["full", "landlock", "limits"] = "full"

    script: str = live(default="")

    def open(self, seed: int, meta: Mapping[str, Any]) -> sql:
        """One with the task's own database."""
        if not isinstance(meta.get(self.script_in), str):
            there = ", ".join(map(str, meta)) or "nothing"
            raise UserError(
                f"sql needs a script in meta[{self.script_in!r}] of every task, which has {there}: name another"
            )
        fresh = sql(self.script_in, self.cpu, self.wall, self.memory, self.isolation)
        fresh.script = meta[self.script_in]
        return fresh

    @tool(name="sql", keeps_time=True)
    async def ask(self, query: Annotated[str, "one SQLite statement"]) -> str:
        """Ask a SQL query of the database and see its rows."""
        ran = await _pool(self.isolation).sql(self.script, query, limits=Limits(self.cpu, self.wall, self.memory))
        value = ran.value if isinstance(ran.value, dict) else {}
        columns, rows = value.get("columns", []), value.get("rows", [])
        lines = [" | ".join("NULL" if each is None else str(each) for each in row) for row in (columns, *rows)]
        return _seen(ran, "\n".join(lines) if columns else "done, no rows")


def _pool(isolation: Literal["full", "landlock", "limits"]) -> SandboxPool:
    return shared_sandbox(isolation)


def _seen(ran: Ran, shown: str) -> str:
    """What is shown of a program that ended well; otherwise its error."""
    if ran.cause is Cause.BROKEN:
        raise ToolBroken(f"the sandbox broke: {ran.error}")
    if not ran.ok:
        printed = ran.stdout.rstrip("\n")
        raise CallFailed(
            KINDS.get(ran.cause, "raised"), ran.error + (f"\nIt had printed:\n{printed}" if printed else "")
        )
    return shown
