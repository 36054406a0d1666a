"""A run gives the same weights on whichever day it is resumed.

Chat templates may tell a model the date. It is the one on which the run began, kept in its run.json, for training, resuming,
evaluating the run and every judge in it; outside of a run it is that on which the process began. Not promised: that two runs
that begin on two days have the same prompts, where a template writes dates, or that a budget in `seconds` repeats.
"""

from __future__ import annotations

import datetime
import json
import re
import types
from pathlib import Path

import pytest
from command_line import Cli, command_line
from small import small_config

from guerdon.models import huggingface
from guerdon.models import template_clock as clock
from guerdon.models.chat import Format
from guerdon.models.decoder import Decoder
from guerdon.models.huggingface import CHAT_TEMPLATE, OWN
from guerdon.models.language_model import lm
from guerdon.models.tokenizer import train_tokenizer

DATED = CHAT_TEMPLATE.replace("{% for", "{{ strftime_now('%d %m %Y') }}{% for", 1)
FEW = ("--set", "prompts=2", "--set", "tries=4", "--set", "max_tokens=6", "--set", "lr=0.01", "--eval-tasks", "4")
TRAIN = ("train", "grpo", "--task", "parity", "--model", "own", "--steps", "4", "--reward", "my.py:stops", *FEW)
EVAL = ("--k", "4", "--tasks", "8", "--max-tokens", "8", "--json")

REWARD = """
import signal
from pathlib import Path

import guerdon as gd

calls = 0


@gd.reward(isolate=False)  # it counts its calls
def stops(completion):
    global calls
    calls += 1
    if calls == 12 and Path("press-ctrl-c").exists():
        signal.raise_signal(signal.SIGINT)
    return len(completion) / 10
"""


class Day(datetime.datetime):
    """A clock that tells the day it was set to."""

    day = 1

    @classmethod
    def now(cls, tz=None):
        return cls(2031, 5, cls.day, 12, 0, 0)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    run = command_line(tmp_path, monkeypatch, capsys)
    Path("my.py").write_text(REWARD)
    net = Decoder(small_config()).reset(0, 0.3)
    huggingface.write(Path("own"), net, train_tokenizer(["the 12 sums"], 320), Format(DATED, OWN.names, OWN.extra))
    monkeypatch.setattr(clock, "datetime", types.SimpleNamespace(datetime=Day))
    monkeypatch.setattr(Day, "day", 1)
    return run


@pytest.mark.slow
def test_a_run_resumed_on_another_day(cli, monkeypatch):
    """Ctrl-C on the first of May, `--resume` on the second: the weights of a run that never stopped."""
    whole = cli(*TRAIN, "--out", "whole", "--json").json["weights"]
    Path("press-ctrl-c").touch()
    assert cli(*TRAIN, "--out", "half").code == 130
    Path("press-ctrl-c").unlink()
    monkeypatch.setattr(Day, "day", 2)
    assert cli("train", "--resume", "half", "--json").json["weights"] == whole
    assert cli(*TRAIN, "--out", "other", "--json").json["weights"] != whole


def test_a_run_evaluated_on_another_day(cli, monkeypatch):
    """`eval RUN` on the day it was trained and a week later; an old run.json, without a clock; one whose clock says nothing."""
    cli(*TRAIN, "--out", "run")
    config = json.loads(Path("run/run.json").read_text())
    assert config["clock"] == "2031-05-01T12:00:00"
    first = cli("eval", "run", *EVAL).json
    monkeypatch.setattr(Day, "day", 8)
    assert cli("eval", "run", *EVAL).json == first
    del config["clock"], config["sum"]
    Path("run/run.json").write_text(json.dumps({**config, "created": "2031-05-01T23:59:59Z"}))
    assert cli("eval", "run", *EVAL).json == first
    Path("run/run.json").write_text(json.dumps({**config, "clock": "noon"}))
    said = cli("eval", "run", *EVAL)
    assert said.code == 2 and "run.json does not say when the run began: its clock is 'noon'" in said.err


def test_runs_inside_of_a_study_keep_its_day(cli, monkeypatch):
    """A study on the first of May whose runs begin after midnight."""
    Path("mine.py").write_text(
        "from guerdon.models.template_clock import datetime\nfrom guerdon import Study, recipe\n"
        "from guerdon.recipes.house.grpo import grpo\n\n\n"
        '@recipe("late")\ndef late(task, model):\n    """One run, a day later."""\n'
        "    def body(run, seed):\n        datetime.datetime.day_of(3)\n"
        "        run.train(grpo.function(task, model, prompts=1, tries=2, max_tokens=4, steps=1))\n"
        "    return Study(body)\n"
    )
    monkeypatch.setattr(Day, "day_of", staticmethod(lambda day: setattr(Day, "day", day)), raising=False)
    said = cli("train", "./mine.py", "--task", "parity", "--model", "own", "--out", "a", "--eval-tasks", "0")
    assert said.code == 0, said.err
    (inner,) = Path("a/inner").glob("*/run.json")
    assert json.loads(inner.read_text())["clock"] == json.loads(Path("a/run.json").read_text())["clock"]


def test_a_prompt_is_remembered_with_its_day(cli):
    """One model in two runs of different days, in one process: what was rendered for the one is not shown in the other."""
    model = lm(source="own")
    shown = {}
    for day in ("2031-05-01", "2031-05-02", "2031-05-01"):
        with clock.as_of({"clock": f"{day}T12:00:00"}):
            shown.setdefault(day, model.encode("why?").tolist())
            assert model.encode("why?").tolist() == shown[day]
    texts = [re.sub(r"\s", "", model.tokenizer.decode(ids)) for ids in shown.values()]
    assert texts == ["01052031why?", "02052031why?"]
