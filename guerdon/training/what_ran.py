"""The functions that run while this is active: in this thread, in others, in processes that are forked.

From Python 3.12 on every function reports its first call only, which is cheap. Before that every
call is reported, so a long run is traced in pieces (`paced`): its start, its first steps and every `EVERY`-th step after them.
Leaves out: what libraries run; processes of our own that begin elsewhere (`evidence/identity.py` counts all of their code).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import guerdon
from guerdon.evidence.identity import HOUSE, is_left_out, module_of
from guerdon.runs.event_types import Ended, Evaluated, Event, Saved, StepDone
from guerdon.runs.whole_files import write_json

FIRST, EVERY = 2, 32  # steps that are looked at where each call costs
OPTIMISED = 0x1  # a code object of a function, and not of a class or a module
IMPORTS = "<frozen importlib"
LOCALS = ".<locals>"
TOOL = "guerdon"
RAN = "ran.json"  # in the folder of a run: the units that made it
_looking: list[WhatRan] = []


def seen() -> list[str]:
    """What ran while tracing so far; nothing without tracing."""
    return sorted(_looking[-1].units) if _looking else []


def also(units: Iterable[str]) -> None:
    """Units that ran elsewhere, where a result that is taken over was made."""
    every = set(units)
    for each in _looking:
        each.units |= every


def ran_in(folder: Path) -> list[str]:
    """The units that made the run of a folder, as far as it says so."""
    try:
        return [str(unit) for unit in json.loads((folder / RAN).read_text())]
    except (OSError, ValueError, TypeError):
        return []


class WhatRan:
    """Collects units (`core.learn:Learn.__call__`) of the package, and of files beside a user's recipe.

    >>> from guerdon.core.seeds import derive
    >>> with WhatRan() as ran:
    ...     _ = derive(0, "tokens")
    >>> "core.seeds:derive" in ran.units
    True
    """

    def __init__(self, beside: Path | None = None, folder: Path | None = None) -> None:
        """Beside `beside` lie files that count too; in `folder` is kept what ran, for a resumed run after a kill."""
        self.folder = folder
        self.units: set[str] = set(ran_in(folder)) if folder is not None else set()
        roots = [HOUSE, Path(guerdon.__file__).parent, *([beside, beside.resolve()] if beside is not None else [])]
        self._places = tuple(f"{root}{os.sep}" for root in roots)  # a package may be imported by way of a link
        self._met: dict[int, CodeType] = {}  # by identity: to hash code takes as long as a hundred calls
        self._tool = 0
        self._others: tuple[Any, Any] = (None, None)  # what a debugger set before

    def __enter__(self) -> WhatRan:
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            self._tool = next(number for number in (4, 3, 2) if monitoring.get_tool(number) is None)
            monitoring.use_tool_id(self._tool, TOOL)
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._began)
            monitoring.restart_events()
            monitoring.set_events(self._tool, monitoring.events.PY_START)
        else:
            self._others = threading.gettrace(), sys.gettrace()
            self._look(True)
        _looking.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _looking.remove(self)
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)
        else:
            self._look(False)
        self.keep()

    def paced(self, event: Event) -> None:
        """A listener of a run: traces some of its steps, where tracing costs time, and everything that is not a step."""
        if isinstance(event, Saved):
            self.keep()
        if sys.version_info < (3, 12) and isinstance(event, StepDone | Evaluated | Ended):
            following = event.step + 1
            self._look(isinstance(event, Ended) or following < FIRST or following % EVERY == 0)

    def keep(self) -> None:
        if self.folder is not None and self.folder.is_dir():
            write_json(self.folder / RAN, sorted(self.units))

    def _look(self, on: bool) -> None:
        threading.settrace(self._called if on else self._others[0])
        sys.settrace(self._called if on else self._others[1])

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        """Called for every call: its own lines are not traced."""
        code = frame.f_code
        if id(code) not in self._met:
            self._note(code, frame)

    def _began(self, code: CodeType, offset: int) -> Any:
        self._note(code, sys._getframe(1))
        return sys.monitoring.DISABLE if id(code) in self._met else None  # type: ignore[attr-defined]

    def _note(self, code: CodeType, frame: FrameType) -> None:
        if not code.co_filename.startswith(self._places) or not code.co_flags & OPTIMISED:
            self._met[id(code)] = code
            return
        above: FrameType | None = frame
        while above is not None:  # code run by an import runs once in a process, traced or not
            if above.f_code.co_filename.startswith(IMPORTS):
                return
            above = above.f_back
        self._met[id(code)] = code
        module, name = module_of(code.co_filename), code.co_qualname.partition(LOCALS)[0].partition(".<")[0]
        if not name.startswith("<") and not is_left_out(
            module
        ):  # a lambda outside of functions is a constant's or a class's
            self.units.add(f"{module}:{name}")
