"""What a program in a box may use, and how firmly it is held.

Leaves out: how a limit is enforced (`box_init.py`, `boxed_program.py`), and what came of it (`ran_program.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from guerdon.core.errors import UserError, unknown

Isolation = Literal["full", "landlock", "limits"]


@dataclass(frozen=True)
class Limits:
    """What a program in a box may use: seconds of processor and of waiting, bytes of memory, disk and output, processes.

    `output` is for what it prints to both streams together; `memory` is on top of what Python itself needs.
    `processes` is the program and those it starts: with 1, which is the default, it can start threads but no process. Threads
    are 64 at most, and open files 128.

    >>> from guerdon.sandbox import Limits, run_python
    >>> run_python("while True: pass", limits=Limits(cpu=0.2)).cause
    <Cause.CPU: 'cpu'>
    """

    cpu: float = 2.0
    wall: float = 5.0
    memory: int = 256 << 20
    processes: int = 1
    disk: int = 16 << 20
    output: int = 64 << 10

    def __post_init__(self) -> None:
        for name in ("cpu", "wall"):
            seconds = getattr(self, name)
            if not (isinstance(seconds, int | float) and 0 < seconds < 1e6 and math.isfinite(seconds)):
                raise UserError(f"{name} must be seconds above 0, not {seconds!r}")
        for name, least in (("memory", 1 << 20), ("processes", 1), ("disk", 1 << 12), ("output", 0)):
            count = getattr(self, name)
            if not isinstance(count, int) or isinstance(count, bool) or not least <= count < 1 << 48:
                raise UserError(f"{name} must be a whole number from {least} up, not {count!r}")
        if self.processes > 256:
            raise UserError(f"processes must be 256 or fewer, not {self.processes}")


def known_isolation(name: str) -> Isolation:
    """The name of an isolation, or a UserError."""
    for known in get_args(Isolation):
        if name == known:
            return known  # type: ignore[no-any-return]
    raise unknown("isolation", name, get_args(Isolation))
