"""Notebooks of docs/notebooks as pages of the site: their words, their code and what it showed when they were run.

Nothing is run here: `scripts/run_notebook.py` does that, and the notebook keeps what came of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pages.discover import ROOT

FOLDER = "notebooks"


def notebook_pages() -> dict[str, str]:
    """A page for every notebook, by its place in the site."""
    return {place_of(path): page(path) for path in sorted((ROOT / "docs" / FOLDER).glob("*.ipynb"))}


def place_of(path: Path) -> str:
    return f"{FOLDER}/{path.stem}.md"


def page(path: Path) -> str:
    """The first cell, which has the title; where to get the notebook; and the rest."""
    first, *rest = json.loads(path.read_text())["cells"]
    fetch = f"[Download this page as a notebook]({path.name}){{ download }}: it runs as it is, on one core, in less than a minute."
    return "\n\n".join([_cell(first), fetch, *map(_cell, rest)]) + "\n"


def _cell(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text
    return "\n\n".join([f"```python\n{text}\n```", *map(_output, cell["outputs"])])


def _output(output: dict[str, Any]) -> str:
    """As HTML where there is any, which the library has escaped; as it stands otherwise."""
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="shown">{"".join(data["text/html"])}</div>'
    return f"```text\n{''.join(data.get('text/plain') or output['text']).rstrip()}\n```"
