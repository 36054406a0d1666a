"""Every verb runs on a terminal, wide and narrow.

Bars, colours and wrapped lines are only there, and so were two crashes.
"""

from __future__ import annotations

import os
import pty
import sys
import threading
from pathlib import Path

import pytest
from command_line import REWARDS, TRAIN

from guerdon.cli.main import main

CLAIM = '''
from guerdon.core.recipe import Claim, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("faster", on=grpo, claim=Claim(says="larger steps learn more", baseline="grpo lr=0.003", task="parity",
        model="tabular", settings="prompts=2 tries=4 tabular.length=1", budget=2000))
def faster(made, *, lr: float = 0.3):
    """GRPO with a large step."""
    return made
'''


@pytest.fixture(params=[80, 40])
def terminal(request, tmp_path, monkeypatch):
    """Runs a line in this process with a pseudo-terminal as its output: its exit code and what stood on the screen."""
    monkeypatch.chdir(tmp_path)
    Path("my.py").write_text(REWARDS)
    Path("faster.py").write_text(CLAIM)
    monkeypatch.setenv("COLUMNS", str(request.param))
    monkeypatch.setenv("TERM", "xterm-256color")

    def run(*words: str) -> tuple[int, str]:
        screen, slave = pty.openpty()
        seen: list[bytes] = []

        def read() -> None:
            while True:
                try:
                    block = os.read(screen, 65536)
                except OSError:  # the other end is closed
                    return
                seen.append(block)

        reader = threading.Thread(target=read)
        reader.start()
        with open(slave, "w", encoding="utf-8") as file, monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", file)
            patched.setattr(sys, "stderr", file)
            code = main(words)
            file.flush()
        reader.join()
        os.close(screen)
        return code, b"".join(seen).decode("utf-8", "replace")

    return run


def test_every_verb_runs_on_a_terminal(terminal, tried):
    """Every verb in a pseudo-terminal of 80 and of 40 columns."""
    for words in (
        (*TRAIN, "--out", "runs/a"),
        ("show", "runs/a"),
        ("show", "grpo"),
        ("list",),
        ("list", "runs"),
        ("eval", "runs/a", "--task", "parity", "--tasks", "4"),
        ("replay", "runs/a", "--reward", "my.py:right"),
        ("prove", "./faster.py", "--quick", "--jobs", "1", "--out", "evidence", "--runs", "proofs"),
        ("doctor",),
    ):
        code, screen = terminal(*words)
        assert code == 0, f"{' '.join(words)}:\n{screen}"
        assert "Traceback" not in screen
        assert len(screen) > 20, words
        tried()
