"""The same command with the same seed gives the same weights.

On the same machine: the same kind of processor or GPU, torch build and number of threads (docs/exactness.md). A clock that
decides, such as the time limit of a reward, is not covered, and a run says so where one did.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from command_line import REWARDS, TRAIN


def trained(folder: Path, cores: set[int], **environment: str) -> tuple[str, list[Any]]:
    """The weights that a training in a process of its own ends with, and what it measured at each step."""
    folder.mkdir(parents=True)
    (folder / "my.py").write_text(REWARDS)
    words = (*TRAIN, "--reward", "my.py:right", "--json", "--out", "run", "--rollouts-every", "1")
    line = [sys.executable, "-m", "guerdon.cli.main", *words]
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)
    done = subprocess.run(
        line, cwd=folder, env={**os.environ, "PYTHONPATH": paths, **environment}, capture_output=True, check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    events = [json.loads(row) for row in (folder / "run" / "events.jsonl").read_text().splitlines()]
    return json.loads(done.stdout)["weights"], [event["metrics"] for event in events if event["type"] == "StepDone"]


def test_other_surroundings(tmp_path, tried):
    """Another folder, time zone, language, order of sets, and number of reward workers."""
    cores = os.sched_getaffinity(0)
    plain = trained(tmp_path / "a", cores, PYTHONHASHSEED="1")
    other = trained(
        tmp_path / "somewhere" / "else", {min(cores)}, PYTHONHASHSEED="7", TZ="Asia/Kathmandu", LC_ALL="C", COLUMNS="17"
    )
    assert plain == other and len(plain[1]) == 6
    tried(2)
