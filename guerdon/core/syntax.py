"""Python code as text in which only what it does counts: its syntax, without comments, docstrings and layout."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SILENT = ("kind", "type_comment")  # fields of a node that change nothing


def syntax(code: str) -> str:
    """The syntax tree of some code, the same on every version of Python; the code itself where it is only a piece of a
    statement, as the source of a lambda is."""
    try:
        tree = ast.parse(textwrap.dedent(code))
    except SyntaxError:
        return "\n".join(line.strip() for line in code.splitlines())
    return repr(_told(tree))


def _told(node: Any) -> Any:
    if isinstance(node, list):
        return [_told(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    kept = {name: value for name, value in ast.iter_fields(node) if name not in SILENT}
    if isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
        kept["body"] = node.body[1:]
    if isinstance(node, ast.JoinedStr):  # newer versions end a nested format with an empty text
        kept["values"] = [v for v in node.values if not (isinstance(v, ast.Constant) and v.value == "")]
    fields = sorted(
        (name, value) for name, value in kept.items() if value is not None and value != []
    )  # newer versions have more
    return [type(node).__name__, *((name, _told(value)) for name, value in fields)]
