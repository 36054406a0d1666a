"""Foreign code: an audit hook that is called when a process is about to execute code that is not the reward's own.

Text that a model wrote is what it is there for.
Python calls the hook for every `exec`, `eval` and import *before* the code runs, and the hook cannot be taken away.
Code of the standard library and of installed packages is not foreign while it is imported, with all that it executes then.
What `dataclasses` and `namedtuple` make of a class is not foreign either.
Everything else is: the hook cannot know who wrote a text.
Imports the standard library alone.

Leaves out: code of another kind than Python's, and Python code that is made of bytes (`marshal`).
"""

from __future__ import annotations

import collections
import dataclasses
import os
import sys
from collections.abc import Callable
from typing import Any, Literal

from guerdon.core.installed import is_installed

_IMPORT = "<frozen importlib._bootstrap>"
_GENERATORS = {collections.__file__, dataclasses.__file__}
_TO_EXECUTE = frozenset({"exec", "import", "ctypes.dlopen"})
# What could find, in this very process, the key that an answer is sealed with.
_TO_SEARCH = frozenset({"gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace", "sys.setprofile"})
_SYSTEM = ("/usr", "/lib", "/opt", "/System", "/Library")  # where shared libraries are

Manner = Literal["", "leave", "guard", "refuse"]


def watch(leave: Callable[[], Any]) -> Callable[[Manner], None]:
    """Listen for foreign code from here on. Its result decides what is done about it:

    `leave` calls `leave` before the code runs; `guard` lets it run and refuses from then on what could find a key in this
    process; `refuse` lets none run; empty does nothing.
    """
    manner: Manner = ""
    seen = False

    def hear(event: str, given: tuple[Any, ...]) -> None:
        nonlocal seen
        if not manner:
            return
        if event in _TO_EXECUTE:
            if (manner != "guard" or not seen) and _is_foreign(event, given, sys._getframe(1)):
                if manner == "leave":
                    leave()
                elif manner == "refuse":
                    raise ImportError("this code is neither installed nor the reward's own")
                seen = True
        elif seen and (event in _TO_SEARCH or (event == "open" and _is_memory(given[0]))):
            raise PermissionError(f"{event} is refused where a model's text is executed")

    def listen(how: Manner) -> None:
        nonlocal manner
        manner = how

    sys.addaudithook(hear)
    return listen


def _is_foreign(event: str, given: tuple[Any, ...], caller: Any) -> bool:
    if event == "exec":
        by, file = caller.f_code.co_filename, given[0].co_filename
        if by == _IMPORT:
            return not is_installed(file)
        return by not in _GENERATORS and not (is_installed(by) and _is_importing(caller))
    file = given[1] if event == "import" else given[0]  # a compiled module's, or a shared library's
    return isinstance(file, str) and file.startswith("/") and not file.startswith(_SYSTEM) and not is_installed(file)


def _is_importing(frame: Any) -> bool:
    """Whether a frame belongs to an import under way: what libraries execute then is their own."""
    while frame is not None and frame.f_code.co_filename != _IMPORT:
        frame = frame.f_back
    return frame is not None


def _is_memory(file: Any) -> bool:
    if not isinstance(file, str | bytes | os.PathLike):
        return False
    real = os.path.realpath(os.fsdecode(file))
    return real.startswith("/proc/") and real.endswith("/mem")
