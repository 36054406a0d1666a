"""Who looks on while Guerdon is used from Python sees a line of progress; nobody else hears anything."""

from __future__ import annotations

import io
import os
import signal
from types import SimpleNamespace

import pytest

import guerdon as gd
from guerdon.cli.live_line import Line, LiveLine
from guerdon.runs.event_types import Ended, Evaluated, ScoresMissing, Started, StepDone, Stopped, Warned
from guerdon.training import onlooker
from guerdon.training.onlooker import looked_at, watched

SMALL = {"task": "successor", "model": "tabular", "prompts": 2, "tries": 2, "options": gd.Options(eval_tasks=0)}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """What stands there in the end: a carriage return begins the line anew, over what is there."""
        rows = []
        for line in self.getvalue().split("\n"):
            screen = ""
            for piece in line.split("\r"):
                screen = piece + screen[len(piece) :]
            rows.append(screen.rstrip())
        return rows


@pytest.fixture
def terminal(monkeypatch):
    """Standard error is a terminal, for who asks whether anybody looks on."""
    stream = Terminal()
    monkeypatch.setattr(onlooker, "sys", SimpleNamespace(stderr=stream, stdout=io.StringIO(), modules={}))
    monkeypatch.setenv("COLUMNS", "200")
    return stream


@pytest.fixture
def notebook(monkeypatch):
    stream = io.StringIO()
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    streams = SimpleNamespace(stderr=io.StringIO(), stdout=stream, modules={"IPython": shell})
    monkeypatch.setattr(onlooker, "sys", streams)
    return stream


def test_nobody_looks_on_where_there_is_no_terminal(tmp_path, capfd):
    assert looked_at() is None and watched(None) == ()
    run = gd.train("grpo", **SMALL, steps=1, out=tmp_path / "run")
    gd.replay(run, gd.exact())
    gd.evaluate(run.model(), task="successor", tasks=2)
    assert capfd.readouterr() == ("", "")


def test_lines_in_a_pipe_when_they_are_asked_for(tmp_path, capsys):
    gd.train("grpo", **SMALL, steps=2, out=tmp_path / "run", progress=True)
    out, err = capsys.readouterr()
    assert out == "" and "\r" not in err
    first = err.splitlines()[0]
    assert first.startswith("step 2/2  ") and "accuracy" in first and first.endswith(" left")


def test_a_line_is_written_over_in_a_terminal(tmp_path, terminal):
    gd.train("grpo", **SMALL, steps=2, out=tmp_path / "run")
    *_, last, rest = terminal.lines
    assert last.startswith("step 2/2  [====================]  ") and "accuracy" in last and rest == ""
    assert [line for line in terminal.lines if line.startswith("step ")] == [last]


def test_a_terminal_is_left_alone_when_told(tmp_path, terminal):
    run = gd.train("grpo", **SMALL, steps=1, out=tmp_path / "run", progress=False)
    gd.replay(run, gd.exact(), progress=False)
    gd.evaluate("tabular", task="successor", tasks=1, progress=False)
    assert terminal.getvalue() == ""


def test_a_notebook_shows_it_on_standard_output(tmp_path, notebook, capfd):
    gd.train("grpo", **SMALL, steps=1, out=tmp_path / "run")
    assert "\rstep 1/1  [====================]" in notebook.getvalue()
    assert capfd.readouterr().err == ""


def test_counts_of_exams_and_replays_vanish_when_done(tmp_path, terminal):
    run = gd.train("grpo", **SMALL, steps=3, out=tmp_path / "run", progress=False)
    gd.evaluate(run.model(), task="successor", tasks=4, tries=2)
    assert "tries 8/8" in terminal.getvalue() and terminal.lines == [""]
    gd.replay(run, gd.exact())
    assert "step 3/3" in terminal.getvalue() and terminal.lines == [""]


def test_a_function_of_ones_own_hears_a_replay_instead(tmp_path, terminal):
    run = gd.train("grpo", **SMALL, steps=2, out=tmp_path / "run", progress=False)
    heard = []
    gd.replay(run, gd.exact(), progress=lambda done, of: heard.append((done, of)))
    assert heard == [(1, 2), (2, 2)] and terminal.getvalue() == ""


def test_an_exam_finds_the_same_whoever_looks_on(terminal):
    quiet = gd.evaluate("tabular", task="successor", tasks=8, tries=4, progress=False)
    assert gd.evaluate("tabular", task="successor", tasks=8, tries=4) == quiet and "tries 32/32" in terminal.getvalue()


def test_ctrl_c_finishes_the_step_and_says_how_to_go_on(tmp_path, terminal):
    def press(event):
        if isinstance(event, StepDone) and event.step == 1:
            os.kill(os.getpid(), signal.SIGINT)

    run = gd.train("grpo", **SMALL, steps=50, out=tmp_path / "run", listeners=[press])
    assert run.status == "stopped: interrupted" and run.steps_done == 2
    assert terminal.lines[-2] == "interrupted and saved: resume with gd.train(..., resume=run.path)"
    assert "gd.train(resume=" in run._repr_html_()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_a_run_says_stands_above_its_line():
    stream = Terminal()
    listen = LiveLine(stream, is_live=True)
    for event in (
        Started(0, steps=2),
        Evaluated(-1, result={"pass@1": 0.5, "pass@1_low": 0.25, "pass@1_high": 0.75}),
        StepDone(0, metrics={"reward/mean": 0.5}),
        Warned(0, message="careful \x1b[31m"),
        ScoresMissing(0, column="mine", failed=3, of=8, first="ValueError: no"),
        StepDone(1, metrics={"reward/mean": 1.0}),
        Ended(1),
    ):
        listen(event)
    lines = stream.lines
    assert lines[0].startswith("held-out accuracy before training: 50.0 %")
    assert lines[1] == "warning: careful \\x1b[31m"
    assert lines[2] == "warning: step 0: 3 of 8 in 'mine' failed: ValueError: no"
    assert lines[3].startswith("step 2/2  [") and "reward 1.000" in lines[3] and lines[4:] == [""]


def test_a_second_run_begins_a_new_line():
    stream = Terminal()
    listen = LiveLine(stream, is_live=True)
    for _ in range(2):
        for event in (Started(0, steps=1), StepDone(0), Stopped(0, why="the disk is full")):
            listen(event)
    assert [line.split("  ")[0] for line in stream.lines] == ["step 1/1", "step 1/1", ""]


@pytest.mark.parametrize("columns", [10, 40, 80])
def test_a_line_never_wraps(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    line = Line(stream)
    line.update(0, completed=1.0, step="step 10/10", numbers="reward 0.500  accuracy 50.0 %", left="0:10 left")
    assert len(stream.lines[0]) < columns
    assert columns == 10 or stream.lines[0].strip().startswith("step 10/10  [========")
    assert columns == 10 or "]  0:10 left" in stream.lines[0]


def test_a_terminal_that_is_gone_does_not_end_a_run(tmp_path, monkeypatch):
    class Gone(Terminal):
        def write(self, text):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(onlooker, "sys", SimpleNamespace(stderr=Gone(), modules={}))
    run = gd.train("grpo", **SMALL, steps=1, out=tmp_path / "run")
    assert run.complete and not [warning for warning in run.warnings if "LiveLine" in warning]
