"""What docs/roles.md shows runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "roles.md"
SAMPLED = re.compile(
    r"\d+%|^odd.*$", re.MULTILINE
)  # a token that another processor rounds to the other side changes these


@pytest.mark.slow
def test_the_page_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    scope: dict[str, object] = {"__name__": "page"}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), scope)
    said, shown = capsys.readouterr().out, "".join(re.findall(r"```text\n(.*?)```", text, re.DOTALL))
    assert SAMPLED.sub("", said) == SAMPLED.sub("", shown)
    right, verified, later_right, later_verified = (int(share) for share in re.findall(r"(\d+)%", said))
    assert later_right > right + 10 and later_verified > verified + 10
