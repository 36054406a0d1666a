"""A program with planted errors, to be run, edited line by line and submitted.

Lines are shown as `NUMBER:LINE`, and edited by writing them so: all that follows the colon is the line, its indentation too.
Leaves out: which programs there are (`repair_tasks.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from guerdon.envs.world_turns import Observed
from guerdon.tasks.code.function_checks import Checker, answers_later, right_ones
from guerdon.tasks.code.function_tasks import written_test

EDIT = re.compile(r"edit ([0-9]{1,3}):(.{0,160})")
MOVES = "moves: run, edit NUMBER:LINE, submit"


def numbered(lines: list[str]) -> str:
    """A program as it is shown."""
    return "\n".join(f"{number}:{line}" for number, line in enumerate(lines, 1))


class ProgramAtHand:
    """One program to be repaired. `pay` is for each move that is understood, None for none."""

    def __init__(self, meta: Mapping[str, Any], checker: Checker, pay: float | None) -> None:
        self.meta, self.checker, self.pay = meta, checker, pay
        self.lines: list[str] = meta["wrong"].split("\n")
        self.right: list[str] = meta["right"].split("\n")
        self.share: float = meta["share"]
        self.moves: list[str] = []
        self.idle_edits = 0
        self.submitted = False

    def begin(self) -> str:
        return f"{self.meta['asked']}\n{numbered(self.lines)}\n{MOVES}"

    async def step(self, said: str) -> Observed:
        edit = EDIT.fullmatch(said.rstrip("\n"))
        word = said.strip()
        if word == "run":
            self.moves.append("run")
            return Observed(await self._ran(), self.pay)
        if word == "submit":
            self.moves.append("submit")
            self.submitted = True
            return Observed("", self.pay, over=True)
        if edit is not None and 1 <= int(edit[1]) <= len(self.lines):
            self.moves.append("edit")
            await self._edited(int(edit[1]) - 1, edit[2].rstrip())
            return Observed(numbered(self.lines), self.pay)
        self.moves.append("")
        return Observed(MOVES, None if self.pay is None else 0.0)

    async def _ran(self) -> str:
        """How many of the visible tests pass, and the first call that does not."""
        tests = self.meta["visible"]
        answers = await answers_later("\n".join(self.lines), tests, self.checker)
        passed = right_ones(answers, tests)
        if all(passed):
            return f"all {len(tests)} tests pass"
        at = passed.index(False)
        call, _, wanted = written_test(tests[at]).rpartition(" == ")
        given = repr(answers[at][0])[:80] if answers[at] else "nothing"
        return f"{sum(passed)} of {len(tests)} tests pass\n{call} gives {given}, not {wanted}"

    async def _edited(self, at: int, line: str) -> None:
        if self.lines[at] == line:
            self.idle_edits += 1
            return
        self.lines[at] = line
        tests = self.meta["tests"]
        passed = right_ones(await answers_later("\n".join(self.lines), tests, self.checker), tests)
        self.share = sum(passed) / len(passed)

    def gold(self) -> str:
        """Look first, then fix the first wrong line, then submit."""
        if not self.moves:
            return "run"
        for number, (line, right) in enumerate(zip(self.lines, self.right, strict=True), 1):
            if line != right:
                return f"edit {number}:{right}"
        return "submit"

    def outcome(self) -> dict[str, Any]:
        return {
            "goal": float(self.submitted and self.share == 1.0),
            "submitted": self.submitted,
            "share": self.share,
            "better": self.share > self.meta["share"],
            "moves": list(self.moves),
            "runs": self.moves.count("run"),
            "edits": self.moves.count("edit"),
            "idle_edits": self.idle_edits,
            "not_understood": self.moves.count(""),
        }
