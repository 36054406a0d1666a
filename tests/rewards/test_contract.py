"""The check that authors run on their rewards: what a sound one shows, and what each kind of fault is called."""

from __future__ import annotations

import random

import pytest

import guerdon as gd
from guerdon import tasks
from guerdon.rewards.formula.algebra import normalised
from guerdon.tasks.family import read_solution

COUNTDOWN = tasks.load("countdown:3")


@gd.reward
def right(task, completion):
    return COUNTDOWN.check(task, completion)


def lines(task, completion):
    """How far the steps are right."""
    steps, _ = read_solution(completion)
    wrong = COUNTDOWN.first_wrong(task, steps)
    return (len(steps) if wrong is None else wrong) / 10


def found(reward, problems=2, **more):
    report = gd.check_reward(reward, "countdown:3", problems=problems, **more)
    return report, [f.kind for f in report.findings]


def test_a_good_reward_has_no_findings():
    report, kinds = found(right, problems=6, strict=True)
    assert report.ok and kinds == [] and report.problems == 6
    rows = {row["kind"]: row for row in report.kinds}
    assert rows["gold"]["mean"] == 1.0 and rows["gold"]["scored"] == 6 and rows["near-miss"]["mean"] == 0.0
    assert {"empty", "blank", "padded", "long", "unicode", "repeated"} < set(rows)
    assert all(row["scored"] == 4 for kind, row in rows.items() if kind not in ("gold", "near-miss"))
    assert report.samples == sum(row["scored"] for row in report.kinds)
    assert report.pairs == {"pairs": rows["near-miss"]["scored"], "below": 0, "level": 0}
    assert report.spread["flat"] == report.spread["groups"] == 6  # wrong is wrong
    assert 0 < report.seconds["median"] <= report.seconds["worst"] and report.components == []
    said = str(report).splitlines()
    assert said[0].startswith("right on countdown: 6 problems") and said[1] == "  nothing found"
    assert any(line.startswith("gold ") and "1.000" in line for line in said)


def test_one_that_raises_on_nothing_is_caught_with_its_exception():
    def last(completion, answer):
        return float(completion.strip().splitlines()[-1] == f"= {answer}")

    report, kinds = found(last)
    assert kinds == ["failure", "failure"]
    assert str(report.findings[0]) == "last fails on 2 empty completions, IndexError: list index out of range (on '')"
    assert [f["kind"] for f in report.failures] == ["empty", "blank"] * 2
    assert report.failures[0]["completion"] == "" and "IndexError" in str(report)
    with pytest.raises(gd.UserError, match=r"^last: last fails on 2 empty .*\(and 1 more\)$"):
        found(last, strict=True)


def test_one_that_is_random_is_unsteady():
    def luck(task, completion):
        return right.ask({"task": task, "completion": completion, "meta": {}}).value + random.random() / 10

    report, kinds = found(luck)
    assert "unsteady" in kinds and "another score when asked again" in str(report.findings[kinds.index("unsteady")])


def test_one_that_remembers_is_unsteady():
    seen = []

    def novel(completion, task):
        seen.append(completion)
        return float(seen[-2:-1] != [completion] and COUNTDOWN.check(task, completion) == 1.0) + 0.1 * (
            len(seen) > 1 and len(seen[-2]) > len(completion)
        )

    _, kinds = found(novel)
    assert "unsteady" in kinds


def test_one_that_is_constant_does_not_know_gold():
    report, kinds = found(lambda completion: 1.0)
    assert kinds == ["worth"] and "gold solutions score 1 on average, near-misses 1" in str(report)
    assert report.pairs["level"] == report.pairs["pairs"] and report.spread["mean"] == 0.0


def test_one_that_returns_words_is_no_reward():
    report, kinds = found(lambda completion: "good")
    assert set(kinds) == {"failure"} and len(kinds) == 8
    assert "a reward returned 'good', not a number" in str(report.findings[0])
    assert len(report.failures) == report.samples and report.pairs["pairs"] == 0


def test_one_that_asks_for_what_there_is_not():
    def wrong(complettion, colour="red"):
        raise AssertionError("asked")

    report, kinds = found(wrong)
    assert kinds == ["argument"] and "wrong asks for 'complettion', which 2 of 2 problems do not have" in str(report)
    assert report.kinds == []


def test_one_that_pays_for_the_wrong_thing():
    report, kinds = found(lambda completion: -float(len(completion)))
    assert set(kinds) == {"worth"} and "empty completions score 0, more than gold" in str(report)
    never, kinds = found(lambda completion: None)
    assert kinds == ["worth"] and "does not apply to any" in str(never)


@pytest.mark.slow
def test_a_formula_is_looked_at_part_by_part():
    def fragile(completion):
        if not completion:
            raise ValueError("nothing")
        return 0.0

    report, _ = found(gd.blend(right=right, steps=gd.reward(lines).weight(0.5), fragile=fragile))
    parts = {row["name"]: row for row in report.components}
    assert set(parts) == {"right", "steps", "fragile"}
    assert parts["right"]["gold"] == 1.0 and parts["fragile"]["failed"] == 2 and parts["right"]["failed"] == 0
    assert {f["component"] for f in report.failures} == {"fragile"}
    assert report.spread["flat"] < report.spread["groups"] and "component" in str(report)
    assert found(normalised(right))[0].ok


def test_a_task_without_near_misses_lends_those_of_its_neighbours():
    def exact(completion, answer):
        return completion == answer

    report = gd.check_reward(exact, "successor", problems=5)
    assert report.ok and report.pairs["pairs"] > 0 and report.pairs["level"] == 0


def test_no_problems_is_refused():
    with pytest.raises(gd.UserError, match="at least one problem"):
        gd.check_reward(right, "countdown:3", problems=0)
