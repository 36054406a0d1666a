"""A run goes on to its end whatever becomes of the terminal, the reader and the dashboards around it.

A reader that leaves, a full disk behind standard output, closed streams, a dashboard that raises or hangs cost what was to be
shown and no more; Ctrl-C, SIGTERM and SIGHUP finish the step and save; no process outlives the one that started it; no text of
a model, a reward, a data file or a stranger moves a cursor. Not promised: what libraries write past Python's streams.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import REWARDS, SMALL, TRAIN, Cli, command_line
from run_configs import config
from scheduling import mostly_slow
from terminal import CLAIM, on_a_terminal
from worker_calls import descendants, ends

import guerdon as gd
from guerdon.cli.main import main
from guerdon.core.errors import UserError
from guerdon.display.report import write_report
from guerdon.runs import listeners, loggers
from guerdon.runs.event_types import ScoresMissing, StepDone, Stopped, Warned
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run

LINES = (
    (*TRAIN, "--out", "a"),
    ("train", "--resume", "a"),
    ("eval", "a", "--tasks", "2"),
    ("replay", "a", "--reward", "my.py:right", "--column", "correct"),
    ("show", "a"),
    ("list", "runs", "--dir", "."),
    ("list", "recipes"),
    ("train", "--help"),
    (),
)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


# --- readers --------------------------------------------------------------------------------------------------------


def without_reader() -> Any:
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w", encoding="utf-8")


def hung_up() -> Any:
    """A terminal that was closed."""
    master, slave = os.openpty()
    file = open(slave, "w", encoding="utf-8")  # noqa: SIM115 - closed by who asked for it
    os.close(master)
    return file


SOME = [LINES[0], LINES[4], ()]
LEAVING = [(stream, both, [*LINES]) for stream in (without_reader, hung_up) for both in (False, True)]
LEFT = (without_reader, False, SOME)


@pytest.mark.parametrize(("stream", "both", "lines"), mostly_slow([LEFT, *LEAVING], LEFT))
def test_a_reader_that_leaves(cli, monkeypatch, capsys, stream, both, lines, tried):
    """`train | head -1`, a terminal that is closed: every verb ends as if it had been read, and says nothing."""
    for words in lines:
        with stream() as file, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", file)
            if both:
                patch.setattr(sys, "stderr", file)
            assert main(words) == 0, words
        assert capsys.readouterr().err == ""
        tried()
    assert Run("a").status == "complete"


@pytest.mark.parametrize("lines", mostly_slow([SOME, [*LINES]], SOME), ids=["some", "all"])
def test_a_full_disk_behind_standard_output(cli, monkeypatch, capsys, lines, tried):
    """`> /dev/full`: a run is complete with exit code 0; what only prints ends with 1; both say why."""
    for words in lines:
        with open("/dev/full", "w") as file, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", file)
            code = main(words)
        said = capsys.readouterr().err
        assert said == "warning: cannot write to standard output (No space left on device): continuing without it\n"
        assert code == (0 if words[:1] == ("train",) else 1), words
        tried()
    assert Run("a").status == "complete"


CLOSED = [
    (" ".join((*TRAIN, "--reward", "my.py:stops", "--out", "a")), 130),
    ("list", 0),
    ("nothing", 2),
    ("--help", 0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "code"), mostly_slow(CLOSED, CLOSED[0]), ids=["train", "list", "nothing", "help"])
def test_streams_that_were_never_open(tmp_path, words, code):
    """`<&- >&- 2>&-`: nothing is printed into a file of the run that got the number 1 or 2."""
    (tmp_path / "my.py").write_text(REWARDS)
    (tmp_path / "press-ctrl-c").touch()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(p).resolve()) for p in sys.path)}
    line = f"{sys.executable} -m guerdon.cli.main {words} <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")
    files = [path for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert bool(files) == words.startswith("train")
    assert not any(b"stopping after this step" in path.read_bytes() for path in files)


@pytest.mark.parametrize("encoding", mostly_slow(["ascii", "latin-1", "utf-8"], "ascii"))
def test_an_alphabet_that_lacks_letters(cli, monkeypatch, capsys, encoding, tried):
    """A terminal that knows ASCII alone, and half of a surrogate pair in a name on any."""
    assert cli(*TRAIN, "--out", "a").code == 0
    for words in (
        ("replay", "a", "--reward", "my.py:right", "--column", "correct"),
        ("show", "\udcff"),
        ("list", "tasks"),
    ):
        with open("out", "w", encoding=encoding) as file, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", file)
            patch.setattr(sys, "stderr", file)
            main(words)
        shown = Path("out").read_text(encoding)
        assert shown and "Traceback" not in shown
        tried()


# --- dashboards -----------------------------------------------------------------------------------------------------


def raises(event: Any) -> None:
    raise ConnectionError("no such \x1b[31mhost")


def leaves(event: Any) -> None:
    sys.exit(3)


def hangs(event: Any) -> None:
    time.sleep(3600)


@pytest.mark.parametrize(
    ("dashboard", "says"),
    [
        (raises, "ConnectionError: no such"),
        (leaves, "RuntimeError: SystemExit: 3"),
        (hangs, "TimeoutError: no answer within"),
    ],
)
def test_a_dead_dashboard(cli, monkeypatch, dashboard, says):
    """A dashboard that raises, exits or hangs: it is left behind, once, and the run says so."""
    monkeypatch.setitem(loggers.LOGGERS, "tensorboard", lambda folder: dashboard)
    if dashboard is hangs:
        monkeypatch.setattr(listeners, "PATIENCE", 0.2)
    said = cli(*TRAIN, "--log", "tensorboard", "--out", "a")
    assert said.code == 0 and said.out.count("warning: tensorboard hears no more of this run: ") == 1
    (warning,) = [message for message in Run("a").warnings if "hears no more" in message]
    assert says in warning and Run("a").weights == cli(*TRAIN, "--json").json["weights"]


def test_a_listener_of_ones_own_that_raises(tmp_path):
    """`gd.train(listeners=[...])` with one that breaks, beside one that does not; a `UserError` ends the run, as meant."""
    heard: list[Any] = []
    options = gd.Options(eval_tasks=0, rollouts_every=0)
    wish: dict[str, Any] = {"task": "parity", "model": "tabular", "steps": 3, "options": options}
    run = gd.train("grpo", out=tmp_path / "a", listeners=[raises, heard.append], **wish)
    assert run.complete and len([message for message in run.warnings if "hears no more" in message]) == 1
    assert any(isinstance(event, Warned) and "hears no more" in event.message for event in heard)
    assert len([event for event in heard if isinstance(event, StepDone)]) == 3

    def enough(event: Any) -> None:
        if isinstance(event, StepDone):
            raise UserError("that is enough")

    with pytest.raises(UserError, match="that is enough"):
        gd.train("grpo", out=tmp_path / "b", listeners=[enough], **wish)
    assert Run(tmp_path / "b").status == "stopped: that is enough"


# --- text -----------------------------------------------------------------------------------------------------------

EVIL = "\x1b]0;owned\x07\x1b[2J\x1bc\x08\r\x9b31m\x85\x7f\u202eevil\u2066\u200f\x00\x0b\x0c"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PRINTS = f"""
import guerdon as gd

EVIL = {EVIL!r}
seen = []


@gd.reward(isolate=False)
def prints(completion):
    print("printed", EVIL)
    seen.append(completion)
    if len(seen) % 10 == 0:
        raise ValueError("raised " + EVIL)
    return 1.0


@gd.reward(isolate=False)
def breaks(completion):
    raise ValueError("raised " + EVIL)


def varies(completion):
    return float(len(repr(completion)))


def mute(completion):
    raise ValueError("raised " + EVIL)
"""
ROWS = "".join(json.dumps({"prompt": f"{n}{EVIL}", "answer": str(n % 10)}) + "\n" for n in range(40))
EVIL_RUN = ("train", "grpo", "--data", "rows.jsonl", *SMALL, "--steps", "3", "--set", f"tabular.vocab=01{EVIL}")
EVIL_LINES: tuple[tuple[tuple[str, ...], int], ...] = (
    ((*EVIL_RUN, "--reward", "evil.py:prints", "--out", "runs/a"), 0),
    (("train", "grpo", "--task", "parity", *SMALL, "--reward", "evil.py:breaks", "--out", "runs/b"), 1),
    (("replay", "runs/a", "--reward", "evil.py:varies", "--top", "20"), 0),
    (("replay", "runs/a", "--reward", "evil.py:mute", "--top", "20"), 0),
    (("show", "runs/a"), 0),
    (("show", "runs/b"), 0),
    (("show", f"gr{EVIL.replace(chr(0), '')}po"), 2),
    (("list", "runs"), 0),
    (("eval", "runs/a", "--tasks", "2"), 0),
    (("train", "--resume", EVIL.replace("\x00", "")), 2),
    ((f"tra{EVIL}in",), 2),
    ((*EVIL_RUN, "--dry-run"), 0),
    (("train", "--again", "runs/a", "--seed", "1", "--out", "runs/c"), 0),
    (("compare", "runs/a", "runs/c"), 0),
)  # fmt: skip


def evil_folder() -> None:
    Path("evil.py").write_text(PRINTS)
    Path("rows.jsonl").write_text(ROWS)
    stranger = {"format": 2, "recipe": EVIL, "status": EVIL, "versions": {"guerdon": EVIL}}
    for name, text in (("bad", json.dumps(stranger)), (f"e{EVIL.replace(chr(0), '')}", "{")):
        Path("runs", name).mkdir(parents=True)
        Path("runs", name, "run.json").write_text(text)


@pytest.mark.slow
def test_control_characters_are_shown_and_not_obeyed(cli, tried):
    """ESC, CR, BS, BEL, DEL, C1 and bidirectional overrides in data, rewards, errors, warnings, names of folders, run.json."""
    evil_folder()
    for words, code in EVIL_LINES:
        said = cli(*words)
        assert said.code == code, (words, said)
        assert not ACTS.search(said.out + said.err), words
        if words[0] in ("train", "list", "replay", "compare"):
            assert "\\x1b" in said.out + said.err, words
        tried()
    for words in (
        ("show", "runs/a", "--json"),
        ("list", "runs", "--json"),
        ("replay", *EVIL_LINES[2][0][1:], "--json"),
    ):
        said = cli(*words)
        assert said.code == 0 and not ACTS.search(said.out + said.err)
        assert EVIL[:8] in json.dumps(said.json, ensure_ascii=False) or "\\u001b" in json.dumps(said.json)
        tried()


@pytest.mark.slow
def test_nor_on_a_terminal_with_bars(cli, monkeypatch, tried):
    """The same on a terminal, where bars and colours are effects of our own: none of theirs is among them."""
    evil_folder()
    for words, code in EVIL_LINES:
        found, screen = on_a_terminal(monkeypatch, *words)
        assert found == code, (words, screen)
        for sign in (
            "\x1b]",
            "\x1b[2J",
            "\x1bc",
            "\x08",
            "\x07",
            "\x9b",
            "\x85",
            "\x7f",
            "\u202e",
            "\u2066",
            "\x00",
            "\x0b",
        ):
            assert sign not in screen, (words, sign)
        tried()


def test_what_is_json_stays_exact(cli, capsys):
    """Every control character in an object that a program reads comes back as it was."""
    from guerdon.cli.output import print_json

    print_json({"text": EVIL})
    out = capsys.readouterr().out
    assert json.loads(out) == {"text": EVIL} and not ACTS.search(out)


def test_nothing_in_a_report_runs(tmp_path, tried):
    """Script in names of recipe, task, column, reasons, errors and warnings of a run: text in its page, and no more."""
    script = "</script></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>"

    def page(text: str) -> str:
        folder = RunFolder(tmp_path / str(len(text)))
        slots = {"task": text, "model": text, "reward": text}
        named = {"settings": {text: text}, "options": {text: text}, "versions": {text: text}, "created": text}
        folder.create(config(recipe=text, wish=slots, rewards={text: {"formula": text, "version": text}}, **named))
        with EventLog(folder.events, 0) as log:
            log.emit(Warned(0, message=text))
            log.emit(ScoresMissing(0, column=text, failed=1, of=2, first=text, causes={text: 1}))
            log.emit(StepDone(0, metrics={text: 1.0, f"{text}/mean": 1.0}, tokens=1, seconds=1.0))
            log.emit(Stopped(0, why=text))
        return Path(write_report(folder.path)).read_text()

    plain, evil = page("harmless"), page(script)
    for tag in ("<script", "</script", "</style", "<img", "<svg"):
        assert evil.count(tag) == plain.count(tag), tag
        tried()


# --- signals --------------------------------------------------------------------------------------------------------

SIGNALS = """
import signal
from pathlib import Path

import guerdon as gd

calls = 0


@gd.reward(isolate=False)  # it counts its calls
def hears(completion):
    global calls
    calls += 1
    if calls == 20:
        for name in Path("signals").read_text().split():
            signal.raise_signal(getattr(signal, name))
    return 1.0
"""
HEARS = (*TRAIN, "--reward", "signals.py:hears", "--out", "a")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_signal_ends_the_step_and_saves(cli, name):
    """Ctrl-C, `kill`, a terminal that is closed: the step is finished, saved, and the command that resumes is printed."""
    Path("signals.py").write_text(SIGNALS)
    Path("signals").write_text(
        f"{name} {name if name == 'SIGHUP' else ''}"
    )  # that one comes twice, from the shell as well
    said = cli(*HEARS)
    assert said.code == 130 and said.out.splitlines()[-1] == "  guerdon train --resume a"
    assert Run("a").status == "stopped: interrupted" and (Path("a/checkpoints/step-00000003")).is_dir()
    Path("signals").write_text("")
    assert cli("train", "--resume", "a").code == 0


def test_nohup(cli):
    """SIGHUP that the process was started to ignore: the run goes on."""
    Path("signals.py").write_text(SIGNALS)
    Path("signals").write_text("SIGHUP SIGHUP")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert cli(*HEARS).code == 0 and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert Run("a").status == "complete"


@pytest.mark.sampled(2, "first")
@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("first", ["SIGHUP", "SIGTERM"])
def test_a_second_signal_is_taken_at_once(cli, first, second):
    """Ctrl-C or `kill` once more, while the step is being finished."""
    Path("signals.py").write_text(SIGNALS)
    Path("signals").write_text(f"{first} {second}")
    said = cli(*HEARS)
    assert said.code == 130 and "interrupted at once; saved state is intact" in said.err
    assert not Path("a/checkpoints/step-00000003").exists()


# --- processes ------------------------------------------------------------------------------------------------------


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    (folder / "my.py").write_text(REWARDS)
    (folder / "faster.py").write_text(CLAIM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(p).resolve()) for p in sys.path if p)}
    return subprocess.Popen(
        [sys.executable, "-m", "guerdon.cli.main", *words], cwd=folder, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def wait_for(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
    end = time.monotonic() + 600
    while not ready():
        assert process.poll() is None and time.monotonic() < end, process.stdout and process.stdout.read()
        time.sleep(0.02)


PROVE = (
    "prove",
    "./faster.py",
    "--quick",
    "--budget",
    "1e8",
    "--jobs",
    "2",
    "--runs",
    "runs",
)  # a run would take hours
LONG = {
    "train": ((*TRAIN, "--reward", "my.py:right", "--steps", "1000000", "--out", "runs/a"), "runs/a/events.jsonl", 1),
    "serve": (("serve", "my.py:right", "--port", "0"), None, 2),
    "prove": (PROVE, "runs/*/events.jsonl", 3),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", ["train", *(pytest.param(verb, marks=pytest.mark.slow) for verb in ("serve", "prove"))]
)
def test_no_process_is_left_behind_by_a_kill(tmp_path, verb):
    """SIGKILL of `train`, `serve`, `prove`, with a worker that was stopped: all that they started is gone."""
    words, sign, least = LONG[verb]
    process = started(tmp_path, *words)
    try:
        if verb == "serve":
            assert process.stdout is not None
            told = b"".join(process.stdout.readline() for _ in range(5)).decode()
            subprocess.run(
                re.search(r"^ask +(.*)$", told, re.MULTILINE)[1], shell=True, check=True, capture_output=True
            )
        else:
            running = (
                2 if verb == "prove" else 1
            )  # a worker that is still starting has not asked to be ended with its parent
            wait_for(
                process, lambda: len(list(tmp_path.glob(sign))) >= running and len(descendants(process.pid)) >= least
            )
        below = descendants(process.pid)
        assert len(below) >= least
        if verb == "prove":
            os.kill(next(p for p in below if b"spawn_main" in Path(f"/proc/{p}/cmdline").read_bytes()), signal.SIGSTOP)
    finally:
        process.kill()
        process.wait()
    assert ends([*below], 600.0)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_proof_and_all_its_runs(tmp_path, number):
    """SIGTERM and SIGHUP to `prove` and its workers: each run ends its step and saves."""
    process = started(tmp_path, *PROVE)
    wait_for(
        process, lambda: len([p for p in tmp_path.glob("runs/*/events.jsonl") if "StepDone" in p.read_text()]) == 2
    )
    below = descendants(process.pid)
    os.killpg(process.pid, number)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 130 and b"the same command continues" in out and b"Traceback" not in out
    assert {Run(path.parent).status for path in tmp_path.glob("runs/*/events.jsonl")} == {"stopped: interrupted"}
    assert ends([*below], 600.0)


@pytest.mark.slow
def test_a_server_whose_terminal_is_closed(tmp_path):
    """SIGHUP, twice, to `serve`: it ends as by SIGTERM, with exit code 0 and no worker left."""
    process = started(tmp_path, *LONG["serve"][0])
    assert process.stdout is not None
    told = b"".join(process.stdout.readline() for _ in range(5)).decode()
    subprocess.run(re.search(r"^ask +(.*)$", told, re.MULTILINE)[1], shell=True, check=True, capture_output=True)
    below = descendants(process.pid)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=600)
    assert process.returncode == 0 and ends([*below], 600.0)
