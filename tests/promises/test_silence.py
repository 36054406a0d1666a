"""Nothing is sent anywhere unless you name the place.

No telemetry, no check for updates, no model or data fetched by itself. What you name is asked: `remote`, a judge's endpoint, a
dashboard. What your own functions and the libraries you turn on do is theirs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import REWARDS, SMALL

# Runs command lines in one process and writes down every name that is looked up and every address that is called.
WATCHED = """
import socket, sys

calls = []
seen = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"}


def hear(event, given):
    if event in seen and not (event == "socket.connect" and given[0].family == socket.AF_UNIX):
        calls.append((event, given))


sys.addaudithook(hear)
from guerdon.cli.main import main

for line in sys.argv[1:]:
    assert main(line.split()) == 0, line
assert not calls, calls
"""


@pytest.mark.slow
def test_no_verb_calls_anybody(tmp_path, tried):
    """Every name looked up and every address called while training, examining, listing, showing, replaying."""
    (tmp_path / "my.py").write_text(REWARDS)
    lines = [
        f"train grpo --task parity --steps 2 --reward my.py:right --out run {' '.join(SMALL)}",
        "eval run --task parity --tasks 2",
        "replay run --reward my.py:right",
        "list runs",
        "list recipes",
        "show run",
        "doctor",
    ]
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *lines], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tried(len(lines))
