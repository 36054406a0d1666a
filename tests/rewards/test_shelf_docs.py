"""What docs/shelf.md shows runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

from guerdon.rewards.memory.feedback import hash_of

PAGE = Path(__file__).parent.parent.parent / "docs" / "shelf.md"


def test_the_page_runs():
    scope: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), scope)


def test_the_hash_on_the_page_is_that_of_its_completion():
    (lines,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert json.loads(lines.splitlines()[1])["hash"] == hash_of("4")
