"""A pseudo-terminal to run command lines on, for the promises about what stands on a screen."""

from __future__ import annotations

import os
import pty
import sys
import threading

import pytest

from guerdon.cli.main import main

CLAIM = '''
from guerdon.core.recipe import Claim, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("faster", on=grpo, claim=Claim(says="larger steps learn more", baseline="grpo lr=0.003", task="parity",
        model="tabular", settings="prompts=2 tries=4 tabular.length=1", budget=2000))
def faster(base, *, lr: float = 0.3):
    """GRPO with a large step."""
    return base
'''


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str]:
    """Runs a line in this process with a pseudo-terminal as its output: its exit code and what was sent to the screen."""
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
