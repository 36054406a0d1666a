"""Texts read as Python, quietly: a text of anybody's may be no program, and be warned about for what it is."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a text, for reading alone; None where it has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
