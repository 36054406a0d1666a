"""What docs/serve.md shows runs against a real server, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from serving import TOKEN, serving

pytest.importorskip("fastapi")
PAGE = Path(__file__).parent.parent.parent / "docs" / "serve.md"


def test_the_page_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    text = PAGE.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    with serving(tmp_path, "formula", rewards=blocks[0]) as server:
        monkeypatch.setenv("GUERDON_TOKEN", TOKEN)
        monkeypatch.setenv("REWARD_URL", server.url)
        scope: dict[str, object] = {}
        for code in blocks:
            exec(compile(code, str(PAGE), "exec"), scope)
    assert capsys.readouterr().out == "".join(re.findall(r"```text\n(.*?)```", text, re.DOTALL))
