"""What docs/rewards.md shows runs, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "rewards.md"


@pytest.mark.slow
def test_the_page_runs_and_prints_what_it_says(capsys):
    text = PAGE.read_text()
    scope: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), scope)
    printed = "".join(re.findall(r"```text\n(.*?)```", text, re.DOTALL))
    assert capsys.readouterr().out == printed
