"""What docs/losses.md shows runs, and every loss has its place there."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import guerdon.losses
from guerdon.core.part import PARTS

PAGE = Path(__file__).parent.parent.parent / "docs" / "losses.md"


def test_the_page_runs():
    scope: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), scope)


def test_every_part_is_on_the_page():
    for module in pkgutil.iter_modules(guerdon.losses.__path__):
        importlib.import_module(f"guerdon.losses.{module.name}")
    names = [part.__name__ for place, part in PARTS.items() if place.startswith("guerdon.losses.")]
    assert len(names) > 20
    text = PAGE.read_text()
    assert [name for name in names if f"[{name}](reference/losses/{name}.md)" not in text] == []
