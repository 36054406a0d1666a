"""The page of the first day: rows of another package and a model from PyPI, then from a CSV to a model in transformers. Its
commands run as they stand there, for fewer steps."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import command_line

from guerdon.models.fetched_models import file_of

ROOT = Path(__file__).parent.parent
TAUGHT, PAGE = (ROOT / "docs" / "first_day.md").read_text().split("\n## A reward of your own\n")
FEW = ("--steps", "1", "--set", "prompts=2", "--eval-tasks", "8", "--eval-tries", "1")


def blocks(kind: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def commands(page: str = PAGE) -> list[str]:
    lines = [line[2:] for block in blocks("console", page) for line in block.splitlines() if line.startswith("$ ")]
    return [line for line in lines if line.startswith("guerdon ")]


def test_rows_of_another_package_and_a_model_from_pypi(tmp_path, monkeypatch, capsys):
    """With stand-ins for the two packages: a generator of a few sums, and a small model in a file of the same format."""
    from small_gguf import net_of, write

    expressions = [f"{a} + {b} - {a % 3}" for a in range(6) for b in range(5)]
    made = [{"metadata": {"expression": each}, "answer": str(eval(each))} for each in expressions]
    monkeypatch.setitem(sys.modules, "reasoning_gym", SimpleNamespace(create_dataset=lambda name, **knobs: made))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file_of("smollm2").parent.mkdir(parents=True)
    write(file_of("smollm2"), net_of(family="llama"))
    cli = command_line(tmp_path, monkeypatch, capsys)
    (script,) = blocks("python", TAUGHT)
    exec(compile(script, "rows.py", "exec"), {})
    rows = (tmp_path / "sums.csv").read_text().splitlines()
    assert rows[0] == "question,answer,solution" and '0 + 1 - 0 =,1,"0+1=1' in rows and '2 + 3 - 2 =,3,"2+3=5' in rows
    walked = [shlex.split(each)[1:] for each in commands(TAUGHT)]
    assert [words[0] for words in walked] == ["train", "models", "eval", "train", "eval", "train"]
    for words in walked[2:]:
        small = {"train": ("--steps", "1", "--set", "prompts=2", "--set", "max_tokens=4"), "eval": ("--tasks", "2")}
        if "sft" in words:
            small["train"] = small["train"][:4]
        said = cli(*words, *small[words[0]])
        assert said.code == 0, f"{words}: {said.err}"


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
