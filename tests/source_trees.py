"""The syntax of the package's files, read when this is imported: before the processes of tests are forked, so once for all of
them, and for those tests of evidence that compare it with the code."""

from __future__ import annotations

import ast
from pathlib import Path

from guerdon.evidence.identity import HOUSE, module_of, today


def tree(path: Path) -> ast.Module:
    """Of a file of the package; nobody changes it."""
    file = today().file(module_of(path))
    assert file is not None, f"{path} is not in the package"
    return file.tree


for _path in HOUSE.rglob("*.py"):
    tree(_path)
