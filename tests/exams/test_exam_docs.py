"""What the page on exams shows runs, and it names every metric of the shelf."""

from __future__ import annotations

import re
from pathlib import Path

from guerdon.core.part import PARTS

PAGE = Path(__file__).parent.parent.parent / "docs" / "exams.md"


def test_what_the_page_shows_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    for code in blocks:
        space = {"__name__": "page"}
        exec(compile(code, str(PAGE), "exec"), space)
        if "farmed" in code:
            told = [round(space["numbers"][name], 3) for name in ("step_auc", "first_error_f1", "farm_gain", "sound@1")]
            assert told == [0.5, 0.0, 2.7, 0.333] and round(space["numbers"]["farm_tokens"], 1) == 24.1
    assert all(0.2 < space["found"][f"foe@{seat}/win_rate"] < 0.8 for seat in ("white", "black"))


def test_the_page_names_every_metric():
    text = PAGE.read_text()
    names = [part.__name__ for place, part in PARTS.items() if place.startswith("guerdon.exams.")]
    assert names and all(f"[`{name}`](reference/exams/{name}.md)" in text for name in names)
