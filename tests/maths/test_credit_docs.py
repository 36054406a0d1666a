"""What docs/credit.md shows runs, every part has its place there, and its sizes of bias are those that are tested."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import guerdon.credit
from guerdon.core.part import PARTS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "credit.md").read_text()


def test_the_page_runs():
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "docs/credit.md", "exec"), {})


def test_every_part_is_on_the_page():
    for module in pkgutil.iter_modules(guerdon.credit.__path__):
        importlib.import_module(f"guerdon.credit.{module.name}")
    names = [part.__name__ for place, part in PARTS.items() if place.startswith("guerdon.credit.")]
    assert [name for name in names if f"[{name}](reference/credit/{name}.md)" not in PAGE] == []


def test_the_sizes_of_bias_are_those_of_the_tests():
    text = (Path(__file__).parent / "test_credit_unbiased.py").read_text()
    tested = {float(x) for x in re.findall(r"(?:True|False),\s+(0\.\d+)", text)}
    shown = {round(float(x) / 100, 4) for x in re.findall(r"(\d+\.\d) %", PAGE)}
    assert tested == shown
