"""Trajectories with a fault: what they say by hand, who would be right about them, and the whole study of a tiny model."""

from __future__ import annotations

import random

import pytest
from small import small_lm

import guerdon as gd
from guerdon.recipes.audit.plan_rewardbench import (
    FAULTS,
    LENGTHS,
    MOST,
    accuracies,
    by_last_step,
    by_length,
    operations,
    task_prompt,
    trace_pair,
    trace_pairs,
    trajectory,
    worked,
)

TODO = [("+", 5), ("*", 3), ("-", 6)]


def lines(*args, **how):
    return trajectory(7, TODO, *args, **how).split("\n")


def test_a_good_trajectory_and_each_fault():
    assert lines([]) == ["call 7+5", "12", "call 12*3", "36", "call 36-6", "30", "= 30"]
    assert lines([0])[:4] == ["call 7+5", "error", "call 7+5", "12"]
    assert lines([], "dropped", 1) == ["call 7+5", "12", "call 12-6", "6", "= 6"]
    assert lines([], "argument", 1) == ["call 7+5", "12", "call 12*4", "48", "call 48-6", "42", "= 42"]
    assert lines([1], "ignored", 1) == ["call 7+5", "12", "call 12*3", "error", "46", "call 46-6", "40", "= 40"]
    assert lines([], "unavailable", 1) == ["call 7+5", "12", "search 12*3", "46", "call 46-6", "40", "= 40"]


def test_tasks_stay_in_bounds_and_have_their_length():
    for seed in range(20):
        value, todo = operations(12, random.Random(seed))
        assert len(todo) == 12 and task_prompt(value, todo).count(" ") == 1 + 12 + 2
        for each in todo:
            value = worked(value, each)
            assert 0 <= value <= MOST


def test_a_distractor_hangs_together_but_for_its_fault():
    """Every sum in it is right but for results that are made up, and its numbers are no larger than others."""
    for fault in FAULTS:
        pair = trace_pair(6, fault, 3)
        assert pair.good != pair.bad and pair == trace_pair(6, fault, 3) != trace_pair(6, fault, 4)
        results = [int(line) for line in pair.bad.split("\n") if line.lstrip("-").isdigit()]
        assert all(0 <= each <= MOST for each in results) and pair.bad.endswith(f"= {results[-1]}")
        assert pair.good.count("call") == 6 + pair.good.count("error")
    ignored = trace_pair(6, "ignored", 3)
    assert ignored.good.count("error") == ignored.bad.count("error") >= 1  # that something failed gives nothing away


def test_as_many_of_every_length_and_fault():
    pairs = trace_pairs((2, 5), 40, 0)
    for length in (2, 5):
        for fault in FAULTS:
            assert sum(p.length == length and p.fault == fault for p in pairs) == 5


def test_the_longest_fits_a_context():
    pairs = trace_pairs(LENGTHS[-1:], 40, 0)
    assert max(len(p.prompt) + len(p.good) for p in pairs) < 1000  # letters, of which a token has one or more


def test_heuristics_and_accuracies_by_hand():
    prompt, good = task_prompt(7, TODO), trajectory(7, TODO, [])
    bad = [
        trajectory(7, TODO, [], "argument", 2),
        trajectory(7, TODO, [], "unavailable", 2),
        trajectory(7, TODO, [], "argument", 0),
    ]
    assert by_last_step([(prompt, text) for text in (good, *bad)]) == [1.0, 0.0, 0.0, 1.0]
    assert by_length([(prompt, good), (prompt, trajectory(7, TODO, [], "dropped", 0))]) == [6.0, 4.0]
    pairs = trace_pairs((2, 3), 40, 1)
    oracle = {p.good for p in pairs}
    sure = accuracies(lambda texts: [float(text in oracle) for _, text in texts], pairs)
    assert set(sure) == {"all", "length_2", "length_3", *FAULTS} and set(sure.values()) == {1.0}
    assert set(accuracies(lambda texts: [0.0] * len(texts), pairs).values()) == {0.5}
    assert accuracies(by_length, pairs)["dropped"] == 1.0 and accuracies(by_length, pairs)["argument"] == 0.5


@pytest.mark.slow
def test_the_study_runs_to_its_end(tmp_path):
    small_lm(tmp_path / "m")
    tiny = {"prompts": 4, "steps": 2, "each": 4}
    run = gd.train("plan-rewardbench", model=str(tmp_path / "m"), settings=tiny, out=tmp_path / "run")
    assert 0 <= run.result["long"] <= 1 and set(run.result["table"]) == {"rm", "last", "length"}
    assert run.spent["steps"] == 2
