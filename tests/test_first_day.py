"""The page of the first day, from a CSV to a model in transformers: its commands run as they stand there, for fewer steps."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_line import command_line

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "first_day.md").read_text()
FEW = ("--steps", "1", "--set", "prompts=2", "--eval-tasks", "8", "--eval-tries", "1")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def commands() -> list[str]:
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    return [line for line in lines if line.startswith("guerdon ")]


def test_the_commands_fit_a_screen_and_go_all_the_way():
    assert [line.split()[1] for line in commands()] == ["check", "check", "train", "train", "compare", "export"]
    (screen,) = [block for block in blocks("text") if "guerdon export" in block]
    assert screen.split() == " ".join(commands()[1:]).split() and len(screen.splitlines()) <= 20


@pytest.mark.slow
def test_from_a_csv_to_transformers(tmp_path, monkeypatch, capsys):
    transformers = pytest.importorskip("transformers")
    cli = command_line(tmp_path, monkeypatch, capsys)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "countdown.csv", tmp_path / "examples")
    first, load = blocks("python")
    (tmp_path / "my.py").write_text(first)
    for command in commands():
        words = shlex.split(command)[1:]
        small = {"train": FEW if "--again" not in words else (), "check": ("--problems", "4")}.get(words[0], ())
        said = cli(*words, *small)
        assert said.code == (1 if "my.py:loose" in words else 0), f"{command}: {said.err}"
    space: dict = {}
    monkeypatch.chdir(tmp_path)
    exec(compile(load, "load.py", "exec"), space)
    assert isinstance(space["model"], transformers.PreTrainedModel) and re.search(r"\d", capsys.readouterr().out)
    assert json.loads((tmp_path / "my-model" / "config.json").read_text())["model_type"] == "llama"
