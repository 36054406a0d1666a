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
    subprocess.run([*command, "--patience", "0", "--out", str(out)], cwd=ROOT, check=True)
    found = json.loads(out.read_text())
    assert found["config"] and found["rounds"]


@pytest.mark.slow
@pytest.mark.peers("transformers")
def test_where_a_run_goes_is_all_of_it(tmp_path):
    """Phases that overlap would come to more than the whole, and those that were renamed to less."""
    out = tmp_path / "where.json"
    sizes = ["--size", "6M", "--lora", "--steps", "2", "--prompts", "1", "--tries", "2", "--prompt", "16", "--new", "4"]
    subprocess.run([sys.executable, "-m", "bench.where", *sizes, "--out", str(out)], cwd=ROOT, check=True)
    found = json.loads(out.read_text())
    assert {"sampling", "learning", "recording", "saving", "hashing"} <= found["phases"].keys() and len(
        found["steps"]
    ) == 2
    assert {"before: imports", "before: reading weights", "before: hashing"} <= found["phases"].keys()
    assert found["folder"] / found["adapter"] < 4.2
