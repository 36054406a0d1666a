"""Any source of problems, solved with tools: `with_tools(source, [calculator])`, or by name `calculator/chain:4`.

Leaves out: what a right answer is (the source's own check).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.core.task import Split, Task, TaskSource, kinds_of
from guerdon.envs.tools.calculator_gold import BY_CALCULATOR, step_by_step
from guerdon.envs.tools.exact_arithmetic import calculator
from guerdon.envs.tools.program_gold import BY_PROGRAM, SHOWN_AT_LAST
from guerdon.envs.tools.tool_worlds import GOLD, SHOWS, tool_turns
from guerdon.envs.world_turns import PlayedOut
from guerdon.tasks.family import ANSWER, Family

CALCULATOR, PYTHON = calculator.__name__, "python"
ARGUMENTS = {CALCULATOR: "expression", PYTHON: "code"}
MOST = 16  # turns of problems that are named: a step of the longest chains is a call


@part
class with_tools:
    """The problems of `source`, played where `tools` can be called (tools, or a `tool_turns` of your own). An answer is checked
    as the source checks it; who never answers, but calls until a limit, is wrong.

    Args:
        source: where problems come from.
        tools: tools, or a `tool_turns`.

    >>> import guerdon as gd
    >>> task = gd.envs.with_tools(gd.tasks.chain(level=4), [gd.envs.calculator])
    >>> task.name, task.home.most, task.check(task.get("test", 0), task.get("test", 0).answer)
    ('calculator/chain', 8, 0.0)
    """

    source: Any
    tools: Any

    def __post_init__(self) -> None:
        if not isinstance(self.source, TaskSource):
            raise UserError(f"with_tools needs a source of problems, gd.tasks.load('chain:4'), not {self.source!r}")
        if getattr(type(self.source), "check", None) is PlayedOut.check:
            raise UserError(
                f"{self.source.name} has turns of its own, by which it is checked, and tools would replace them: give tools to"
                " problems that are answered, calculator/chain:4"
            )
        self.tools = self.tools if isinstance(self.tools, tool_turns) else tool_turns(self.tools)

    @property
    def home(self) -> tool_turns:
        """Where its problems are played unless another environment is given."""
        env: tool_turns = self.tools
        return env

    @property
    def prefix(self) -> str:
        return "+".join(tool.name for tool in self.home.every_tool) + "/"

    @property
    def name(self) -> str:
        return f"{self.prefix}{self.source.name}"

    @property
    def level(self) -> int:
        return int(getattr(self.source, "level", 1))

    def size(self, split: Split) -> int | None:
        return self.source.size(split)  # type: ignore[no-any-return]

    def get(self, split: Split, index: int) -> Task:
        task: Task = self.source.get(split, index)
        return dataclasses.replace(task, family=self.prefix + task.family, meta={**task.meta, GOLD: self._gold(task)})

    def _gold(self, task: Task) -> list[Any]:
        """The oracle's output: the task's own; the calls that its family is solved by (`calculator_gold.py`,
        `program_gold.py`); every step as a call of the calculator, where all of them are such; or the answer at once."""
        if isinstance(task.meta.get(GOLD), list):
            return list(task.meta[GOLD])
        text = self._worked(task)
        for tool in self.home.every_tool:
            *calls, answer = self._solved(tool.name, task, text)
            if 0 < len(calls) < self.home.most:
                argument = ARGUMENTS[tool.name]
                said = [{"name": tool.name, "arguments": {argument: line}, SHOWS: shown} for line, shown in calls]
                return [*said, answer]
        return [text]

    def _solved(self, tool: str, task: Task, text: str) -> list[Any]:
        """The tool calls that solve a problem, where they are known, and the answer."""
        *steps, answer = text.splitlines() or [""]
        ways = {CALCULATOR: BY_CALCULATOR, PYTHON: BY_PROGRAM}.get(tool, {})
        if task.family not in ways or not isinstance(self.source, Family):
            return [*(step_by_step(steps) if tool == CALCULATOR else ()), answer]
        calls = ways[task.family](task)
        if tool == PYTHON and calls and task.family in SHOWN_AT_LAST:
            answer = ANSWER + calls[-1][1].strip("[']")
        return [*calls, answer]

    def _worked(self, task: Task) -> str:
        solve = getattr(self.source, "solution", None)
        return task.answer if solve is None else str(solve(task))

    def solution(self, task: Task) -> str:
        """Worked out without tools: what recipes recite that know of one turn alone."""
        return self._worked(self._bare(task))

    def kinds(self) -> dict[str, Any]:
        inner = kinds_of(self.source)
        return {
            f"{self.prefix}{kind}": self if len(inner) == 1 else with_tools(s, self.tools) for kind, s in inner.items()
        }

    def check(self, task: Task, completion: str) -> float | None:
        return self.source.check(self._bare(task), completion)  # type: ignore[no-any-return]

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        """A call that a limit cut off is not an answer, whatever numbers are in it."""
        if track["episode"].info.get("answered") is False:
            return 0.0
        return self.check(task, track["completion"])

    def _bare(self, task: Task) -> Task:
        """As the source knows it."""
        return dataclasses.replace(task, family=task.family.removeprefix(self.prefix))


def named_tools(name: str, source: TaskSource) -> with_tools:
    """A source with tools that have a name on the command line."""
    from guerdon.envs.tools.boxed_tools import interpreter

    return with_tools(source, tool_turns([interpreter()] if name == PYTHON else [calculator], most=MOST))
