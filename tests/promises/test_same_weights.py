"""The same command with the same seed gives the same weights.

On the same machine: the same kind of processor or GPU, torch build and number of threads (docs/exactness.md). A clock that
decides, such as the time limit of a reward, is not covered, and a run says so where one did.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import REWARDS, TRAIN, command_line

WORDS = (*TRAIN, "--reward", "my.py:right", "--json", "--out", "run", "--rollouts-every", "1")

SPRIG = (
    "train", "grpo", "--task", "text_to_sql:6", "--model", "sprig", "--steps", "3", "--eval-tasks", "0", "--json",
    "--out", "run", "--set", "prompts=8", "--set", "max_tokens=96", "--set", "lr=4e-5", "--set", "text_to_sql.checker=plain",
)  # fmt: skip


def measured(folder: Path) -> list[Any]:
    """What a run measured at each step."""
    events = [json.loads(row) for row in (folder / "run" / "events.jsonl").read_text().splitlines()]
    return [event["metrics"] for event in events if event["type"] == "StepDone"]


def trained(folder: Path, cores: set[int], words: tuple[str, ...] = WORDS, **environment: str) -> tuple[str, list[Any]]:
    """The weights that a training in a process of its own ends with, and what it measured at each step."""
    folder.mkdir(parents=True)
    (folder / "my.py").write_text(REWARDS)
    line = [sys.executable, "-m", "guerdon.cli.main", *words]
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)
    done = subprocess.run(
        line, cwd=folder, env={**os.environ, "PYTHONPATH": paths, **environment}, capture_output=True, check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    return json.loads(done.stdout)["weights"], measured(folder)


@pytest.mark.slow
def test_other_surroundings(tmp_path, monkeypatch, capsys, tried):
    """Another process and folder, time zone, language, order of sets, and number of reward workers."""
    cores = os.sched_getaffinity(0)
    weights = command_line(tmp_path, monkeypatch, capsys)(*WORDS).json["weights"]
    other = trained(
        tmp_path / "somewhere" / "else", {min(cores)}, PYTHONHASHSEED="7", TZ="Asia/Kathmandu", LC_ALL="C", COLUMNS="17"
    )
    assert (weights, measured(tmp_path)) == other and len(other[1]) == 6
    tried(2)


@pytest.mark.slow
def test_two_processes(tmp_path, tried):
    """Two processes of their own, each with another order of sets."""
    cores = os.sched_getaffinity(0)
    runs = [trained(tmp_path / seed, cores, PYTHONHASHSEED=seed) for seed in ("1", "2")]
    assert runs[0] == runs[1]
    tried(2)


@contextmanager
def busy_core() -> Iterator[None]:
    """One of the cores has something else to do as well."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


@pytest.mark.slow
def test_beside_a_busy_program(tmp_path, tried):
    """A language model that learns with a thread on every core, alone and twice while another program keeps one busy."""
    cores = os.sched_getaffinity(0)
    threads = str(max(2, len(cores)))
    alone = trained(tmp_path / "alone", cores, SPRIG, OMP_NUM_THREADS=threads)
    with busy_core():
        beside = [trained(tmp_path / name, cores, SPRIG, OMP_NUM_THREADS=threads) for name in ("first", "second")]
    assert alone[0] == beside[0][0] == beside[1][0]
    tried(3)
