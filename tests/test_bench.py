"""The benchmark itself: both arms go through the same work, at a size that takes seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.peers("trl")
def test_both_arms_do_the_same_work(tmp_path):
    out = tmp_path / "numbers.json"
    command = [sys.executable, "-m", "bench.grpo_step", "--config", "tiny", "--rounds", "1", "--steps", "2"]
    subprocess.run([*command, "--patience", "0", "--out", str(out)], cwd=ROOT, check=True, timeout=600)
    found = json.loads(out.read_text())
    assert found["config"] and found["rounds"]
