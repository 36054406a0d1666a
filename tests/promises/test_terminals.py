"""Every verb runs on a terminal, wide and narrow.

Bars, colours and wrapped lines are only there, and so were two crashes. Terminals of no width, without colours and such that
are resized meanwhile are among them. Not promised: that a line of 1 column reads well.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from command_line import REWARDS, TRAIN
from scheduling import mostly_slow
from terminal import CLAIM, on_a_terminal
from typer.main import get_command

from guerdon.cli.main import app

KINDS = ("recipes", "settings", "tasks", "roles", "models", "rewards", "parts", "runs")
LINES: tuple[tuple[str, ...], ...] = (
    (*TRAIN, "--out", "runs/a"),
    ("train", "--resume", "runs/a"),
    (*TRAIN, "--dry-run"),
    ("train", "--again", "runs/a", "--set", "lr=0.5", "--out", "runs/b"),
    ("compare", "runs/a", "runs/b", "--html", "compared.html"),
    ("eval", "runs/a", "--task", "parity", "--tasks", "4"),
    ("eval", "runs/a", "--task", "parity", "--tasks", "4", "--search", "vote", "--set", "search.tries=2"),
    ("list",),
    *(("list", kind) for kind in KINDS),
    ("show", "runs/a"),
    ("show", "grpo"),
    ("show", "dump"),
    ("replay", "runs/a", "--reward", "my.py:right"),
    ("check", "my.py:right", "--task", "successor", "--problems", "2"),
    ("audit", "my.py:right", "--task", "successor", "--problems", "2"),
    ("prove", "./faster.py", "--quick", "--jobs", "1", "--out", "evidence", "--runs", "proofs"),
    ("doctor",),
    ("advise", "--have", "answers", "--problem", "sparse"),
    ("train", "grpo", "--task", "parity", "--steps", "0", "--eval-tasks", "0", "--out", "runs/spoken"),  # by sprig
    ("export", "runs/spoken", "exported"),
)
APART = {"serve", "view", "demo", "models"}  # tried below
VERBS = get_command(app).commands  # type: ignore[attr-defined]


@pytest.fixture(params=mostly_slow([80, 40], 40))
def terminal(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my.py").write_text(REWARDS)
    Path("faster.py").write_text(CLAIM)
    monkeypatch.setenv("COLUMNS", str(request.param))
    monkeypatch.setenv("TERM", "xterm-256color")
    return lambda *words: on_a_terminal(monkeypatch, *words)


@pytest.mark.slow
def test_every_verb_runs_on_a_terminal(terminal, tried):
    """Every verb in a pseudo-terminal of 80 columns, and all but `prove`, which is many runs, in one of 40."""
    wide = os.environ["COLUMNS"] == "80"
    for words in (words for words in LINES if wide or words[0] != "prove"):
        code, screen = terminal(*words)
        assert code == 0, f"{' '.join(words)}:\n{screen}"
        assert "Traceback" not in screen
        assert len(screen) > 20, words
        tried()


def test_the_help_of_every_verb(terminal, tried):
    """`--help` of each verb, and of all."""
    for words in ((), *((verb,) for verb in VERBS)):
        code, screen = terminal(*words, "--help")
        assert code == 0 and f"Usage: guerdon {' '.join(words)}".rstrip() in screen and "Examples:" in screen
        tried()


def test_no_verb_is_left_out():
    """Each verb, and each thing that `list` lists, is among those that are tried here."""
    assert set(VERBS) == {words[0] for words in LINES} | APART
    (what, *_) = VERBS["list"].params
    assert what.metavar == "|".join(KINDS)


def test_a_model_that_nobody_has_is_refused_on_a_terminal(terminal):
    """`models get` with a name that is none: one line. What it fetches is not fetched here."""
    code, screen = terminal("models", "get", "smallm2")
    assert code == 2 and "smollm2" in screen and "Traceback" not in screen


@pytest.mark.slow
def test_the_demo_runs_on_a_terminal(terminal):
    """`demo` with one step, which is too little to learn: it says so."""
    code, screen = terminal("demo", "--steps", "1")
    assert code == 1 and "the gain is " in screen and "Traceback" not in screen


# Runs each line on a terminal of its own that has every size in turn, and one more time while it changes.
SIZES = """
import fcntl, itertools, struct, sys, termios, threading, time
from guerdon.cli.main import main

SIZES = ((24, 1), (0, 0), (2, 3))
over = False


def resize(rows, columns):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def shake():
    for size in itertools.cycle(SIZES):
        if over:
            return
        resize(*size)
        time.sleep(0.001)


def all_lines(name):
    for line in sys.argv[1:]:
        assert main(line.replace("NAME", name).split()) == 0, line


for number, size in enumerate(SIZES):
    resize(*size)
    all_lines(f"size-{number}")
thread = threading.Thread(target=shake)
thread.start()
all_lines("shaken")
over = True
thread.join()
"""
SMALL_LINES = (
    f"{' '.join(TRAIN)} --out runs/NAME",
    "list runs",
    "show runs/NAME",
    "replay runs/NAME --reward my.py:right",
    "train --help",
)
PROVE_LINE = "prove ./faster.py --quick --jobs 1 --out evidence/NAME --runs proofs/NAME"


@pytest.mark.parametrize(
    "environment",
    [{"TERM": "xterm-256color"}, {"TERM": "dumb", "NO_COLOR": "1"}],
    ids=["sizes", "dumb"],
)
@pytest.mark.slow
def test_terminals_of_no_size_and_such_that_change(tmp_path, environment, tried):
    """3, 1 and 0 columns, resized 1,000 times a second meanwhile; TERM=dumb and NO_COLOR."""
    (tmp_path / "my.py").write_text(REWARDS)
    (tmp_path / "faster.py").write_text(CLAIM)
    lines = (*SMALL_LINES, PROVE_LINE) if "NO_COLOR" in environment else SMALL_LINES
    code, screen = in_a_process(tmp_path, environment, "-c", SIZES, *lines)
    assert code == 0 and "Traceback" not in screen, screen[-3000:]
    assert ("\x1b[3" in screen) != ("NO_COLOR" in environment)  # colours
    tried(4 * len(lines))


@pytest.mark.sampled(1, "columns")
@pytest.mark.parametrize("columns", mostly_slow(["", "0", "1", "many", "-3"], "0", "1", "many"))
def test_a_width_that_is_none(tmp_path, monkeypatch, columns, tried):
    """COLUMNS that says 0, 1, nothing, a word."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm")
    for words in (("list", "tasks"), ("show", "grpo"), (*TRAIN, "--out", "a"), ("train", "--help")):
        code, screen = on_a_terminal(monkeypatch, *words)
        assert code == 0 and "Traceback" not in screen
        tried()


@pytest.mark.slow
def test_a_server_on_a_terminal(tmp_path):
    """`serve` on a terminal: it says how to ask, answers, and ends with SIGTERM."""
    (tmp_path / "my.py").write_text(REWARDS)

    def ask_and_stop(process: subprocess.Popen[bytes], said: str) -> None:
        found = re.search(r"^ask +(curl .*?/score)", said, re.MULTILINE | re.DOTALL)
        if found and process.poll() is None and not asked:
            asked.append(
                subprocess.run(found[1].replace("\r\n", ""), shell=True, capture_output=True, text=True).stdout
            )
            process.send_signal(signal.SIGTERM)

    asked: list[str] = []
    code, screen = in_a_process(
        tmp_path, {"COLUMNS": "40"}, "-m", "guerdon.cli.main", "serve", "my.py:right", "--port", "0", told=ask_and_stop
    )
    assert code == 0 and "Traceback" not in screen and "Ctrl-C" in screen
    assert asked and '"value"' in asked[0], screen


@pytest.mark.slow
def test_the_studio_on_a_terminal(tmp_path):
    """`view` on a terminal: it says where to look, shows the page there to who has the token, and ends with SIGTERM."""
    (tmp_path / "runs").mkdir()

    def look_and_stop(process: subprocess.Popen[bytes], said: str) -> None:
        address = re.search(r"^open +(http://\S+/)\s*(\?token=\S+)", said, re.MULTILINE)
        if address and "Ctrl-C" in said and process.poll() is None and not seen:
            ask = build_opener(HTTPCookieProcessor()).open
            seen.append(ask(address[1] + address[2], timeout=60).read().decode())
            process.send_signal(signal.SIGTERM)

    seen: list[str] = []
    words = ("-m", "guerdon.cli.main", "view", "--port", "0")
    code, screen = in_a_process(tmp_path, {"COLUMNS": "60", "GUERDON_TOKEN": ""}, *words, told=look_and_stop)
    assert code == 0 and "Traceback" not in screen and "0 in runs" in screen, screen
    assert seen and "Guerdon studio" in seen[0]


def in_a_process(folder, environment, *words, told=lambda process, said: None):
    """A program with a terminal for all three streams: its exit code and what was sent to the screen."""
    screen, slave = pty.openpty()
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path)
    process = subprocess.Popen(
        [sys.executable, *words], cwd=folder, env={**os.environ, "PYTHONPATH": paths, **environment},
        stdin=slave, stdout=slave, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    watch = threading.Timer(1200, process.kill)
    watch.start()
    seen = b""
    while True:
        try:
            seen += os.read(screen, 65536)
        except OSError:  # the other end is closed
            break
        told(process, seen.decode("utf-8", "replace"))
    watch.cancel()
    os.close(screen)
    return process.wait(), seen.decode("utf-8", "replace")
