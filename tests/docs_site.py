"""The docs site's own scripts for tests, and its pages as they are made from today's code."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "scripts"))

from pages import links, methods, notebooks, reference  # noqa: E402


@functools.cache
def made_pages() -> dict[str, str]:
    """Every page that is made, by its place in the site."""
    made = {**reference.reference_pages(), **methods.method_pages(), **links.source_pages()}
    return made | notebooks.notebook_pages()


@functools.cache
def places() -> frozenset[str]:
    """Everything the site holds."""
    docs = ROOT / "docs"
    committed = [path.relative_to(docs).as_posix() for path in docs.rglob("*") if path.is_file()]
    return frozenset([*committed, *made_pages(), *methods.evidence_files(), *methods.numbers(), *links.BORROWED])
