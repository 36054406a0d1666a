"""A run that learns nothing says so: in what it prints, in its events and in its report; once, however it is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import TRAIN, Cli, command_line

from guerdon.runs.run import Run

IDLE = """
import signal
from pathlib import Path

import guerdon as gd

calls = 0


def silent(completion):
    return None


def alike(completion):
    return 1.0


@gd.reward(isolate=False)  # it counts its calls
def cut_short(completion):
    global calls
    calls += 1
    if calls == 20:
        signal.raise_signal(signal.SIGINT)
    return None
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    found = command_line(tmp_path, monkeypatch, capsys)
    Path("idle.py").write_text(IDLE)
    return found


@pytest.mark.parametrize(
    ("reward", "why"),
    [("silent", "'advantage' has no value at all, it does not apply to any try"), ("alike", "every gradient was zero")],
)
def test_a_run_that_learns_nothing_says_so_everywhere(cli: Cli, reward: str, why: str) -> None:
    said = cli(*TRAIN, "--reward", f"idle.py:{reward}", "--out", "a")
    assert said.code == 0
    told = [line for line in said.out.splitlines() if "has learned nothing for 5 steps" in line]
    assert (
        len(told) == 1 and told[0].startswith("warning: 'policy' has learned nothing for 5 steps: ") and why in told[0]
    )
    run = Run("a")
    assert [m for m in run.warnings if "has learned nothing" in m] == [told[0].removeprefix("warning: ")]
    page = next(Path("a").glob("*.html")).read_text()
    assert "has learned nothing for 5 steps" in page


def test_a_run_that_learns_says_nothing_of_it(cli: Cli) -> None:
    assert "learned nothing" not in cli(*TRAIN, "--reward", "my.py:right", "--out", "a").out


def test_the_steps_before_a_cut_count(cli: Cli) -> None:
    assert cli(*TRAIN, "--reward", "idle.py:cut_short", "--out", "a").code == 130
    assert Run("a").warnings == []
    assert cli("train", "--resume", "a").code == 0
    assert len([m for m in Run("a").warnings if "has learned nothing for 5 steps" in m]) == 1
