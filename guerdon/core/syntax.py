"""Python code as text in which only what it does counts: its syntax, without comments, docstrings and layout."""

from __future__ import annotations

import ast
import functools
import textwrap
from typing import Any

WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SILENT = ("kind", "type_comment")  # fields of a node that change nothing


def syntax(code: str) -> str:
    """The syntax tree of some code, the same on every version of Python; the code itself where it is only a piece of a
    statement, as the source of a lambda is."""
    try:
        return told(parsed(code))
    except SyntaxError:
        return "\n".join(line.strip() for line in code.splitlines())


def parsed(code: str) -> ast.Module:
    return ast.parse(textwrap.dedent(code))


def told(tree: ast.Module) -> str:
    """The text of a syntax tree."""
    return repr(_told(tree))


def _told(node: Any) -> Any:
    if isinstance(node, list):
        return [_told(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    said: list[Any] = [type(node).__name__]
    for name in _that_count(node._fields):
        value = getattr(node, name, None)
        if name == "body" and isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            value = node.body[1:]
        if name == "values" and isinstance(
            node, ast.JoinedStr
        ):  # newer versions end a nested format with an empty text
            value = [v for v in node.values if not (isinstance(v, ast.Constant) and v.value == "")]
        if value is not None and value != []:  # newer versions have more
            said.append((name, _told(value)))
    return said


@functools.cache
def _that_count(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(name for name in fields if name not in SILENT))
