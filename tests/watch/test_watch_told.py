"""What a user sees of alarms: on the command line, on a terminal, in the studio, in a folder of a stranger."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import command_line
from refusals import refusal
from report_pages import report_data_of
from run_configs import config

import guerdon as gd
from guerdon.cli.output import alarms_in_words, console_on
from guerdon.cli.progress import Watch, alarm_line
from guerdon.core.renamed import Renamed
from guerdon.display.report import write_report
from guerdon.display.run.alarms import alarms_of
from guerdon.runs.event_types import Alarmed, Started, StepDone, Stopped, from_json
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.studio.library import Library
from guerdon.studio.runs.one_run import address_of
from guerdon.studio.runs.run_snapshot import snapshot
from guerdon.training.trust import check_trust, python_files

ROLLOUT = {"step": 1, "episode": "1.0.2", "segment": 0, "prompt": "odd 3?", "said": "1111", "numbers": {"reward": 1.0}}
ALARM = Alarmed(
    1, rule="proxy_gap", severity="bad", message="reward rose\nand truth fell", fix="fix it", rollouts=[ROLLOUT]
)
HACK = """
import guerdon as gd


@gd.reward(isolate=False)
def ones(completion):
    return completion.count("1") / 4


@gd.reward(isolate=False)
def zeros(completion):
    return completion.count("0") / 4
"""
WORDS = (
    *(
        "train",
        "grpo",
        "--task",
        "parity",
        "--model",
        "tabular",
        "--reward",
        "hack.py:ones",
        "--truth",
        "hack.py:zeros",
    ),
    *("--steps", "20", "--eval-tasks", "0", "--set", "prompts=4", "--set", "lr=0.1", "--set", "tabular.vocab=01"),
    *("--set", "tabular.length=4", "--set", "tabular.rows=16", "--out", "run"),
)


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    run = command_line(tmp_path, monkeypatch, capsys)
    Path("hack.py").write_text(HACK)
    return run


def test_an_alarm_is_one_line_when_it_is_raised(cli):
    said = cli(*WORDS)
    lines = [line for line in said.out.splitlines() if line.lower().startswith(("alarm:", "note:"))]
    alarms = gd.Run("run").alarms
    assert said.code == 0 and lines == [alarm_line(alarm) for alarm in alarms] and len(lines) >= 2
    gap = next(line for line in lines if "proxy_gap" in line)
    assert re.match(r"ALARM: step \d+: proxy_gap: reward rose from 0\.\d+ to 0\.\d+ while the truth fell", gap)
    assert f"alarms   {alarms_in_words(alarms)}" in said.out
    shown = cli("show", "run")
    assert re.search(rf"^alarms +{len(alarms)}: .*proxy_gap at step \d+", shown.out, re.MULTILINE)
    assert cli("show", "run", "--json").json["alarms"][0]["rule"] == alarms[0].rule


@pytest.mark.slow
def test_an_alarm_stops_and_the_same_line_goes_on(cli):
    stopped = cli(*WORDS, "--stop-on-alarm")
    first = gd.Run("run").alarms[-1]
    assert stopped.code == 1 and stopped.err.startswith(f"guerdon: step {first.step}: {first.rule}: ")
    assert len(stopped.err.strip().splitlines()) == 1
    on = cli("train", "--resume", "run", "--no-stop-on-alarm")
    assert on.code == 0 and gd.Run("run").status == "complete"


@pytest.mark.slow
def test_no_watch_is_no_alarm_and_the_truth_is_scored_all_the_same(cli):
    assert cli(*WORDS, "--no-watch").code == 0
    assert gd.Run("run").alarms == [] and "truth/mean" in gd.Run("run").events(StepDone)[-1].metrics


def test_a_truth_that_is_not_there_is_refused(cli):
    said = cli(*WORDS[:9], "verifyed", *WORDS[10:])
    assert (said.code, said.out) == (2, "") and "unknown reward 'verifyed'" in said.err and not Path("run").exists()


def test_on_a_terminal_it_stands_above_the_bar(tmp_path):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    screen = Screen()
    console = console_on(screen)
    console.width = 60
    with Watch(console) as watch:
        for event in (Started(0, steps=4), StepDone(0, metrics={"reward/mean": 0.5, "truth/mean": 0.25}), ALARM):
            watch(event)
    seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert seen.count("ALARM: step 1: proxy_gap: reward rose and truth fell; fix it") == 1, (
        "one line, whatever it holds"
    )
    assert "truth 0.250" in seen


# --- folders that were written event by event -------------------------------------------------------------------------


def written(path: Path, *events) -> Path:
    RunFolder(path).create(config())
    with EventLog(path / "events.jsonl", 0) as log:
        for event in (
            Started(0, steps=2),
            StepDone(0, metrics={"reward/mean": 0.1}),
            StepDone(1, metrics={"reward/mean": 0.2}),
        ):
            log.emit(event)
        for event in events:
            log.emit(event)
    return path


def test_the_studio_leads_to_the_rollouts_that_did_it(tmp_path):
    path = written(tmp_path / "run", ALARM, Alarmed(1, rule="flat_groups", severity="odd"))
    (path / "rollouts").mkdir()
    (path / "rollouts" / "step-00000001.parquet").touch()
    (shelved,) = Library([tmp_path]).runs()
    watched = [alarm for alarm in alarms_of(snapshot(shelved), address_of("ID")) if alarm.title.startswith("Watch: ")]
    assert [(a.level, a.title, a.step) for a in watched] == [
        ("bad", "Watch: proxy_gap", 1),
        ("warn", "Watch: flat_groups", 1),
    ]
    assert watched[0].rollouts == "/rollouts?run=ID&step=1&episode=1.0.2" and "; fix it" in watched[0].message
    shutil.rmtree(path / "rollouts")
    assert {a.rollouts for a in alarms_of(snapshot(shelved), address_of("ID"))} == {""}


def test_alarms_of_a_stranger_are_text(tmp_path):
    evil = "<script>alert(1)</script>"
    odd = Alarmed(
        1,
        rule=evil,
        message=evil,
        fix=evil,
        severity=evil,
        rollouts=[3, {}, {**ROLLOUT, "said": evil, "numbers": [1]}],
    )
    page = write_report(written(tmp_path / "run", odd)).read_text()
    assert evil not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page  # for who runs no scripts
    data = report_data_of(page)
    (alarm,) = [each for each in data["one"]["alarms"] if each["title"].startswith("Watch: ")]
    assert (alarm["title"], alarm["message"], alarm["level"]) == (f"Watch: {evil}", f"{evil}; {evil}", "warn")
    (section,) = data["samples"]["sections"]
    assert section["samples"] == [] and [each["said"] for each in section["told"]] == [evil]


def test_numbers_of_an_alarm_that_are_none_are_refused(tmp_path):
    path = written(tmp_path / "run")
    line = json.loads((path / "events.jsonl").read_text().splitlines()[0])
    with refusal(gd.UserError):
        from_json({**line, "type": "Alarmed", "numbers": {"x": "many"}})


def test_an_alarm_that_an_older_version_wrote_says_its_fix():
    told = ALARM.to_json()
    told["mend"] = told.pop("fix")
    alarm = from_json(told)
    assert alarm == ALARM
    with pytest.warns(Renamed, match=r"Alarmed\.mend is now fix"):
        assert alarm.mend == "fix it"


def test_a_truth_in_a_file_is_run_only_for_who_made_the_run(tmp_path):
    kept = {**config(), "id": "of somebody else", "options": {"truth": "theirs.py:truth"}}
    assert python_files(kept) == {"truth theirs.py:truth": "theirs.py"}
    with refusal(gd.UserError):
        check_trust("run", kept, trust=False)
    assert python_files({**kept, "plain": False}) == {"truth theirs.py:truth": "theirs.py"}


def test_a_run_that_an_alarm_stopped_says_why(tmp_path):
    path = written(tmp_path / "run", ALARM, Stopped(1, why="step 1: proxy_gap: reward rose; fix it"))
    assert gd.Run(path).status == "stopped: step 1: proxy_gap: reward rose; fix it"
    assert alarms_in_words(gd.Run(path).alarms) == "1: proxy_gap at step 1"
