"""Writes docs/promises.md from tests/promises: a chapter for each file, a row for each test, how often each was tried.

A file's docstring is its chapter: the promise in its first line, then how far it reaches. A test's docstring is its row.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "promises"
PAGE = ROOT / "docs" / "promises.md"
COUNTS = TESTS / "tried.json"
NOT_YET = "not yet"  # a test that `make promises` has not seen
HEAD = """# What Guerdon promises

Each chapter is a promise, and each row is a test that attacks it. *Tried* is the number of cases at the last count, all of
which passed; `make promises` counts them again. Rows in *italics* take minutes and run with `make slow`; of the others a few of
each chapter run with every change, chosen again for every release.

Generated from [tests/promises](../tests/promises) by `make pages`.
"""


class Attack(NamedTuple):
    name: str
    says: str
    slow: bool


def promises() -> list[Path]:
    return sorted(TESTS.glob("test_*.py"))


def attacks(file: Path) -> Iterator[Attack]:
    tree = ast.parse(file.read_text())
    all_slow = any("slow" in ast.unparse(node) for node in tree.body if _is_mark(node))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            slow = all_slow or any("mark.slow" in ast.unparse(mark) for mark in node.decorator_list)
            says = " ".join((ast.get_docstring(node) or "").split())
            yield Attack(node.name, says.replace("|", "\\|"), slow)  # a bar would end the table's cell


def _is_mark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def chapter(file: Path, counts: dict[str, int]) -> str:
    promise, _, reach = (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n\n")
    rows = []
    for name, says, slow in attacks(file):
        tried = counts.get(f"{file.name}::{name}")
        rows.append(f"| {f'*{says}*' if slow else says} | {NOT_YET if tried is None else f'{tried:,}'} |")
    table = "\n".join(["| attack | tried |", "| --- | ---: |", *rows])
    where = f"[{file.name}](../tests/promises/{file.name})"
    return "\n\n".join(
        part for part in (f"## {' '.join(promise.split()).rstrip('.')}", reach.strip(), where, table) if part
    )


def page() -> str:
    counts = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    total = sum(counts.values())
    chapters = [chapter(file, counts) for file in promises()]
    return "\n".join([HEAD, f"{len(chapters)} promises, {total:,} tries.\n", "\n\n".join(chapters)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
