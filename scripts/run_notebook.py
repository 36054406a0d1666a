"""Run a notebook's code cells in order and keep what they show in it: what `docs/notebooks` holds was seen, not written.

    python scripts/run_notebook.py docs/notebooks/first_rewards.ipynb

Needs no Jupyter. Cells run in a folder of their own, so that what they write is nowhere in the way.
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import os
import pprint
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

WIDTH = 110  # of a value that is printed over several lines


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        notebook = json.loads(path.read_text())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(notebook)
            os.chdir("/")
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run every code cell, in one set of names; each gets its number and its outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), start=1):
        cell["execution_count"] = number
        cell["outputs"] = outputs(code_of(cell), names, number)
    return names


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def code_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def outputs(code: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value that it ends with, as a notebook keeps them."""
    file = f"<cell {number}>"
    linecache.cache[file] = (
        len(code),
        None,
        code.splitlines(keepends=True),
        file,
    )  # for who asks for a function's source
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), file, "exec"), names)
        value = eval(compile(ast.Expression(last.value), file, "eval"), names) if isinstance(last, ast.Expr) else None
    kept: list[dict[str, Any]] = []
    if printed.getvalue():
        kept.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        kept.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown(value)})
    return kept


def shown(value: Any) -> dict[str, list[str]]:
    """A value as text, and as HTML where it has any."""
    text = pprint.pformat(value, width=WIDTH, sort_dicts=False) if type(value) in (list, dict, tuple) else repr(value)
    data = {"text/plain": text.splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


if __name__ == "__main__":
    main()
