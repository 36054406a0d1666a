"""Programs to be repaired, drawn from the functions of `gd.tasks.functions`: one or two lines are wrong.

Leaves out: what moves do (`repair_world.py`), which errors there are (`tasks/code/function_faults.py`).
"""

from __future__ import annotations

import random
from typing import Any, ClassVar

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task
from guerdon.envs.programs.repair_world import ProgramAtHand
from guerdon.envs.world_turns import InTurns, PlayedOut
from guerdon.tasks.code.function_checks import Checker, passed_now
from guerdon.tasks.code.function_programs import STYLES
from guerdon.tasks.code.function_tasks import failing_faults, functions

LEVELS = {1: (1, 1), 2: (2, 1), 3: (3, 1), 4: (4, 1), 5: (4, 2), 6: (6, 2)}  # level: of functions, and how many errors


@part
class repairs(InTurns, PlayedOut):
    """A specification and a function with one or two wrong lines; the role runs it, edits lines and submits it. The goal is
    that all hidden tests pass once it is submitted.

    Moves, one a turn: `run` reports how many of the visible tests pass, and the first call that does not; `edit 3:  total += x`
    puts another line in the place of line 3 and shows the program; `submit` ends it. In `info`: `submitted`, the `share` of
    hidden tests that the program passes in the end, whether that is `better` than at the start, `runs`, `edits`, `idle_edits`
    that changed nothing, `not_understood`, and `moves`, the kind of each turn ("" where it was not understood).
    `pay` is paid for each move that is understood, whatever it is good for; 0 pays nothing. `checker` is that of
    `gd.tasks.functions`. Both a source of problems and the environment they are played in.

    Args:
        checker: where programs run.
        pay: reward for each move that is understood.
        most: the most turns of an episode.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> print(gd.envs.repairs(level=2).get("train", 0).prompt)
    define f(xs). keep the negative numbers; sort the numbers; last return the list.
    f([-7, -7, 7, 0]) == [-7, -7]
    1:def f(xs):
    2: xs = [x for x in xs if x > 0]
    3: xs = sorted(xs)
    4: return xs
    moves: run, edit NUMBER:LINE, submit
    """

    waits: ClassVar[bool] = True
    level: int = knob(default=1, ge=1, le=6)
    checker: Checker = knob(default="sandbox", choices=("sandbox", "plain"))
    pay: float = 0.0
    role: str = "policy"
    most: int = knob(default=10, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)

    @property
    def name(self) -> str:
        return "repairs"

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`: of a function of that split."""
        level, errors = LEVELS[self.level]
        source = functions(level=level)
        draw = random.Random(derive(self.name, self.level, split, index))
        while True:
            task = source.get(split, draw.randrange(1 << 40))
            meta = _planted(task, errors, draw)
            if meta is not None:
                key = f"{index}-{derive(task.id, meta['wrong']) % (1 << 32):08x}"
                return Task(key, ProgramAtHand(meta, self.checker, None).begin(), "", self.name, self.level, meta)

    def open(self, ask: Ask, seed: int) -> ProgramAtHand:
        return ProgramAtHand(ask.task.meta, self.checker, self.pay or None)


def _planted(task: Task, errors: int, draw: random.Random) -> dict[str, Any] | None:
    """A function with so many wrong lines, and what is known of it; None where it has too few lines to be wrong in."""
    style = draw.choice(sorted(STYLES))
    faults = [fault for fault in failing_faults(task, draw, style) if fault.mends_in_place]
    by_line = {fault.step: fault for fault in draw.sample(faults, len(faults))}
    if len(by_line) < errors:
        return None
    chosen = [by_line[step] for step in sorted(draw.sample(sorted(by_line), errors))]
    lines = chosen[0].right.split("\n")
    for fault in chosen:
        lines[fault.step] = fault.text.split("\n")[fault.step]
    wrong, tests = "\n".join(lines), task.meta["tests"]
    passed = passed_now(wrong, tests, "plain")  # our own program, which it knows
    if all(passed):  # two errors that undo each other
        return None
    failing = [test for test, is_passed in zip(tests, passed, strict=True) if not is_passed]
    others = [test for test, is_passed in zip(tests, passed, strict=True) if is_passed]
    visible = [*task.meta["shown"], failing[0], *draw.sample(others, min(2, len(others)))]
    return {
        "asked": task.prompt,
        "right": chosen[0].right,
        "wrong": wrong,
        "says": [fault.says for fault in chosen],
        "kinds": [fault.kind for fault in chosen],
        "visible": visible,
        "tests": tests,
        "share": sum(passed) / len(passed),
    }
