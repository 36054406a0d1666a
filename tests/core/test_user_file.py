"""Files of a user's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from guerdon.core.user_file import find_in_file


def test_an_edit_within_a_second_and_of_the_same_length_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own bytecode would be that of the first text."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "my.py"
    values = []
    for number in (1, 2):
        file.write_text(f"answer = {number}\n")
        os.utime(file, (1_000_000, 1_000_000))
        values.append(find_in_file(f"{file}:answer", "reward"))
    assert values == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["my.py"]
