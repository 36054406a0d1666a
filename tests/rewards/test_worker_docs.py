"""docs/workers.md: what it shows runs and prints what it says, and it names every module there is."""

from __future__ import annotations

import re
from pathlib import Path

import guerdon.workers
from guerdon.workers import bookkeeping
from guerdon.workers.dispatcher import FUNCTIONS
from guerdon.workers.processes import MARK_VARIABLE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "workers.md"


def test_the_page_runs_and_prints_what_it_says(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert capsys.readouterr().out == printed


def test_the_page_and_the_package_name_every_module():
    modules = {path.stem for path in (ROOT / "guerdon" / "workers").glob("*.py")} - {"__init__"}
    assert modules == {name for name in modules if f"{name}.py" in PAGE.read_text()}
    assert modules == {name for name in modules if f"`{name}`" in (guerdon.workers.__doc__ or "")}


def test_the_page_has_the_numbers_of_the_code():
    text = PAGE.read_text()
    assert f"`START` | {bookkeeping.START:g}," in text and f"`LOAD` | {bookkeeping.LOAD:g}," in text
    assert bookkeeping.CAP == 10.0 and f"and {bookkeeping.SPARE:g} more" in text
    assert f"more than {FUNCTIONS} functions" in text and MARK_VARIABLE in text
