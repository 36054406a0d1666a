"""What the tests of the command line share: a user's folder with rewards and recipes in it, and how to run a line there."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guerdon.cli.main import main

SMALL = (
    "--model",
    "tabular",
    "--set",
    "tabular.length=1",
    "--set",
    "prompts=2",
    "--set",
    "tries=4",
    "--eval-tasks",
    "4",
)
TRAIN = ("train", "grpo", "--task", "parity", "--steps", "6", "--save-every", "2", *SMALL)

REWARDS = """
import signal
from pathlib import Path

import guerdon as gd

calls = 0


def count():
    global calls
    calls += 1
    return calls


def right(answer, completion):
    return float(answer == completion)


def broken(completion):
    raise ZeroDivisionError("no such score")


@gd.reward(isolate=False)  # it counts its calls
def breaks_later(completion):
    if count() > 40:
        raise ZeroDivisionError("no such score")
    return 1.0


@gd.reward(isolate=False)  # it counts its calls
def breaks_sometimes(answer, completion):
    if count() % 10 == 0:
        raise ZeroDivisionError("no such score")
    return float(answer == completion)


@gd.reward(isolate=False)  # it counts its calls
def insists(completion):
    if count() == 20:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    return 1.0


@gd.reward(isolate=False)  # it counts its calls
def stops(answer, completion):
    if count() == 20 and Path("press-ctrl-c").exists():
        signal.raise_signal(signal.SIGINT)
    return float(answer == completion)
"""

RECIPES = '''
"""Recipes of a user."""
from guerdon import Study, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("mine", paper="arXiv:0000.00000")
def mine(task, model, *, tries: int = 4):
    """GRPO with few tries."""
    return grpo.function(task, model, prompts=2, tries=tries, steps=3)


@recipe("twice")
def twice(task, model):
    """Two runs, one after the other."""

    def body(run, seed):
        run.train(grpo.function(task, model, prompts=2, tries=4, steps=2))
        return {"runs": 2, "last": str(run.train(grpo.function(task, model, prompts=2, tries=4, steps=3)).weights)}

    return Study(body)
'''


@dataclasses.dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.out.splitlines()[-1])
        assert isinstance(found, dict)
        return found


Cli = Callable[..., Said]


def command_line(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs command lines in this process, which spares them the import of torch, from an otherwise empty folder."""
    monkeypatch.chdir(folder)
    Path("my.py").write_text(REWARDS)
    Path("mine.py").write_text(RECIPES)

    def run(*words: str) -> Said:
        capsys.readouterr()
        code = main(words)
        return Said(code, *capsys.readouterr())

    return run


def process_of(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "guerdon.cli.main", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def refused(said: Said, *words: str, code: int = 2) -> None:
    """One line that says what is wrong, and nothing of ours around it."""
    assert said.code == code, said
    lines = said.err.strip().splitlines()
    assert lines[-1].startswith("guerdon: ") and len(lines) == 1, said.err
    assert "Traceback" not in said.err and len(lines[-1]) < 4100, said.err[:4100]
    for word in words:
        assert word in lines[-1], lines[-1]
