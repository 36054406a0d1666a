"""What docs/roles.md shows runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "roles.md"


@pytest.mark.slow
def test_the_page_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    scope: dict[str, object] = {"__name__": "page"}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), scope)
    assert capsys.readouterr().out == "".join(re.findall(r"```text\n(.*?)```", text, re.DOTALL))
