"""The README's commands and code run as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from guerdon.cli.main import main

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", README, re.S)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the files the README writes: a block that opens with `# name.py` is that file."""
    monkeypatch.chdir(tmp_path)
    for block in blocks("python"):
        named = re.match(r"# (\w+\.py)\n", block)
        if named:
            (tmp_path / named[1]).write_text(block)
    (rows,) = blocks("json")
    (tmp_path / "my.jsonl").write_text(rows)
    return tmp_path


def commands() -> list[str]:
    lines = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    return [line for line in lines if line.startswith("guerdon train")]


def test_there_are_commands_and_code():
    assert len(commands()) == 4
    assert len(blocks("python")) == 4


@pytest.mark.parametrize("command", commands())
def test_command(desk, command, capsys):
    words = shlex.split(command)[1:]
    if "--steps" not in words:
        words += ["--steps", "3"]
    assert main(words) == 0, capsys.readouterr().err
    assert "report" in capsys.readouterr().out


def test_the_first_command_prints_what_the_readme_shows(desk, capsys):
    main(shlex.split(commands()[0])[1:])
    said = capsys.readouterr().out
    assert "held-out accuracy after 60 steps: 100.0 %" in said
    assert "held-out accuracy after 60 steps: 100.0 %" in README


def test_python(desk):
    pytest.importorskip("pandas")
    code = next(block for block in blocks("python") if not block.startswith("# "))
    space: dict = {}
    exec(compile(code, "README.md", "exec"), space)
    assert space["run"].evaluations[-1]["pass@1"] > 0.9
    assert space["batch"].K == 128
