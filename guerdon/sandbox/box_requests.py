"""What is asked of a box, as the bytes it reads, checked before anything starts.

Leaves out: who sends them (`zygote_handle.py`), who reads them (`box_init.py`).
"""

from __future__ import annotations

import ast
import dataclasses
import marshal
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.plain_data import NotPlain, plain_form
from guerdon.sandbox.unit_tests import CANDIDATE

Files = Mapping[str, str | bytes]
MOST_FILES = 1000


@dataclass(frozen=True)
class BoxRequest:
    """The messages for a box, one for each of its processes."""

    frames: tuple[bytes, ...]
    limits: Limits


def _frame(kind: str, limits: Limits, *, stdin: str | None = None, files: Files | None = None, **rest: Any) -> bytes:
    given = _checked_files(files or {}, limits)
    request = {"kind": kind, "limits": dataclasses.asdict(limits), "stdin": stdin or None, "files": given, **rest}
    return marshal.dumps(request)  # the cheapest there is to read, and what goes into a box is ours


def _checked_files(files: Files, limits: Limits) -> dict[str, str]:
    """Files by their names in the working folder, as hexadecimal text."""
    contents = {
        name: text.encode("utf-8", "backslashreplace") if isinstance(text, str) else bytes(text)
        for name, text in files.items()
    }
    for name in contents:
        if not _is_file_name(name):
            raise UserError(f"file names are relative to the working folder, as in 'data/input.txt', not {name!r}")
        for folder in (name[:at] for at, letter in enumerate(name) if letter == "/"):
            if folder in contents:
                raise UserError(f"{folder!r} is a file and cannot contain {name!r}")
    size = sum(len(content) for content in contents.values())
    if size > limits.disk // 2 or len(contents) > MOST_FILES:
        raise UserError(f"{len(contents)} files of {size:,} bytes exceed disk={limits.disk:,}: raise it")
    return {name: content.hex() for name, content in contents.items()}


def _is_file_name(name: str) -> bool:
    """Whether a name is one of a file in a folder or below it, and the file system has such names."""
    encoded = name.encode("utf-8", "replace")
    parts = encoded.split(b"/")
    odd = "\0" in name or encoded.decode() != name or len(encoded) > 1000
    return not odd and all(part not in (b"", b".", b"..") and len(part) <= 255 for part in parts)


def python_request(source: str, stdin: str, files: Files, limits: Limits) -> BoxRequest:
    """Run a script."""
    return BoxRequest((_frame("python", limits, stdin=stdin, files=files, source=_text(source)),), limits)


def program_request(argv: Sequence[str | os.PathLike[str]], stdin: str, files: Files, limits: Limits) -> BoxRequest:
    """Execute an installed program."""
    words = [os.fspath(word) for word in argv] if not isinstance(argv, str) else []
    if not words or not words[0].startswith("/") or any("\0" in word for word in words):
        raise UserError(
            f"a program is a list of strings that starts with its path, as in ['/usr/bin/wc', '-l'], not {argv!r}"
        )
    return BoxRequest((_frame("program", limits, stdin=stdin, files=files, argv=words),), limits)


def sql_request(script: str, query: str, limits: Limits) -> BoxRequest:
    """Ask a query of a database that a script makes."""
    return BoxRequest((_frame("sql", limits, script=_text(script), query=_text(query)),), limits)


def queries_request(scripts: Sequence[str], queries: Sequence[str], limits: Limits) -> BoxRequest:
    """Ask several queries in one box, each of databases of its own that the scripts make."""
    made, asked = [_text(script) for script in scripts], [_text(query) for query in queries]
    return BoxRequest((_frame("queries", limits, scripts=made, queries=asked),), limits)


def call_request(
    function: str | bytes, arguments: Sequence[Mapping[str, Any]], name: str, files: Files, limits: Limits
) -> BoxRequest:
    """Call a function with each of the arguments."""
    try:
        given = plain_form([dict(each) for each in arguments])
    except NotPlain as error:
        raise UserError(f"the arguments of a call into a sandbox must be plain data: {error}") from None
    if isinstance(function, bytes):
        code = {"pickled": function.hex(), "source": "", "name": ""}
    else:
        code = {"pickled": "", "source": _text(function), "name": name or _last_function(function)}
    return BoxRequest((_frame("call", limits, files=files, arguments=given, **code),), limits)


def check_request(
    program: str, tests: str | Sequence[str], entry: str, stdin: str, files: Files, limits: Limits
) -> BoxRequest:
    """Hold a program against unit tests: the program's message first, the tests' own after it."""
    text = tests if isinstance(tests, str) else "\n".join(tests)
    if entry:
        if not entry.isidentifier():
            raise UserError(f"entry must be the name of a function, not {entry!r}")
        text += f"\ncheck({CANDIDATE})\n"
    _refuse_empty_tests(text)
    first = _frame("check", limits, stdin=stdin, files=files, source=_text(program))
    return BoxRequest((first, _frame("tests", limits, source=_text(text), entry=entry)), limits)


def _refuse_empty_tests(text: str) -> None:
    """Tests that test nothing would pass whatever they are given."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"the tests are not valid Python: {error}") from None
    if all(
        isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assign)
        for node in tree.body
    ):
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        hint = "say entry='NAME' of the function to check" if "check" in names else "add assert lines"
        raise UserError(f"the tests check nothing: {hint}")


def _last_function(source: str) -> str:
    try:
        names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"the function's source is not valid Python: {error}") from None
    if not names:
        raise UserError("the source defines no function to call: write one with def")
    return names[-1]


def _text(source: str) -> str:
    if not isinstance(source, str):
        raise UserError(f"a program is text, not {type(source).__name__}")
    return source
