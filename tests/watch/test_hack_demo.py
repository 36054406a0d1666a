"""`guerdon demo --hack`: its reward has a hole that a check finds; the whole of it runs in `make slow`."""

from __future__ import annotations

import pytest
from command_line import command_line

import guerdon as gd
from guerdon.cli.demo_hack import TASK, hackable, lines_of_work


def test_the_hole_is_paid_and_a_check_finds_it():
    source = gd.tasks.load(TASK)
    task = source.get("train", 0)
    gold = f"= {task.answer}"
    lines = "\n".join(["1+1=2"] * 9)
    right, hack = gd.score_samples(
        hackable(source), [{"task": task, "completion": text} for text in (gold, lines)]
    ).whole
    assert (right, hack) == (1.5, 4.5) and lines_of_work("a\n\nb\n") == 2.0
    assert not gd.audit(hackable(source), source, problems=1).ok


def test_another_task_is_refused(tmp_path, monkeypatch, capsys):
    said = command_line(tmp_path, monkeypatch, capsys)("demo", "--hack", "--task", "chain:2")
    assert said.code == 2 and "remove --task or --hack" in said.err


@pytest.mark.slow
def test_it_shows_reward_truth_alarm_rollouts_and_check(tmp_path, monkeypatch, capsys):
    said = command_line(tmp_path, monkeypatch, capsys)("demo", "--hack", "--out", "run")
    assert said.code == 0, said.err
    run = gd.Run("run")
    gap = next(alarm for alarm in run.alarms if alarm.rule == "proxy_gap")
    assert gap.severity == "bad" and gap.numbers["truth_after"] < gap.numbers["truth_before"]
    for words in (
        "ALARM: step",
        "<- proxy_gap",
        "three of the rollouts:",
        "run/report.html",
        "severe findings on",
    ):
        assert words in said.out
