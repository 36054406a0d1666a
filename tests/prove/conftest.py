"""The recipe that most proofs here are of."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import MINE


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return str(path)
