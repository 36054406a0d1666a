"""Things that a user defines in a Python file of their own, found by `FILE.py:NAME`.

Whatever the file raises is the user's to see, in one line with its place.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from guerdon.core.errors import UserError, in_a_line, is_ctrl_c, unknown


def find_in_file(spec: str, what: str) -> Any:
    """What a file of the user's calls by a name: `my.py:fn`."""
    path, _, name = spec.rpartition(":")
    if not path.endswith(".py") or not name:
        raise UserError(f"a {what} of your own is FILE.py:NAME, not {spec!r}")
    module = load_file(path, what)
    if name not in vars(module):
        raise unknown(
            f"{what} in {path}", name, [n for n, v in vars(module).items() if _offered(v) and not n.startswith("_")]
        )
    return vars(module)[name]


def _offered(value: Any) -> bool:
    """Whether a thing in a file is what a user may have meant: something to call, or a formula of rewards."""
    return callable(value) or hasattr(value, "leaves")


class _AsWritten(SourceFileLoader):
    """Reads the text and no bytecode of it: that is kept by whole seconds and by length, and an edit may change neither."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError


def load_file(path: str, what: str) -> ModuleType:
    """Import a Python file by its path, as it stands there now."""
    file = Path(path)
    if not file.is_file():
        raise UserError(f"there is no {what} file {path}")
    name = f"guerdon_user_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file, loader=_AsWritten(name, str(file.absolute())))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # any error of the user's file, and any way to end the program
        if isinstance(error, UserError) or is_ctrl_c(error):
            raise
        line = error.lineno if isinstance(error, SyntaxError) else _line_in(error, file)
        message = f"SyntaxError: {error.msg}" if isinstance(error, SyntaxError) else in_a_line(error)
        raise UserError(f"{path}{f', line {line}' if line else ''}: {message}") from error
    return module


def _line_in(error: BaseException, file: Path) -> int | None:
    trace, line = error.__traceback__, None
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).resolve() == file.resolve():
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
