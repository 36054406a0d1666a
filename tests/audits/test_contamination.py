"""The contamination probe: scores by hand, areas against scikit-learn, and sprig asked twice."""

from __future__ import annotations

import math

import numpy as np
import pytest
from own_worlds import write_chat_model
from refusals import refusal

from guerdon.audits.contamination import detectors
from guerdon.audits.contamination import probe as probing
from guerdon.audits.contamination.probe import ProbedProblem, probe_contamination, report_of, separation
from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.models.foreign_model import foreign
from guerdon.models.probing import probe
from guerdon.training.build import find_model, find_task


def test_self_critique_by_hand():
    same = np.array([3.0, 0.0, 4.0])
    assert detectors.self_critique(same, same) == pytest.approx(1.0)
    assert detectors.self_critique(same, 2 * same) == pytest.approx(1.0)  # the shape counts
    assert detectors.self_critique(same, np.array([3.0])) == pytest.approx(
        9 / 15 / 3
    )  # a cosine of 9/15, a third as long
    assert detectors.self_critique(same, np.array([0.0, 1.0, 0.0])) == 0.0
    assert detectors.self_critique(same, np.zeros(3)) == 0.0
    assert math.isnan(detectors.self_critique(same, np.zeros(0)))


def test_scores_of_one_answer_by_hand():
    logp = np.log([0.5, 0.25, 1.0, 1.0, 0.125])
    assert detectors.perplexity(logp) == pytest.approx(-((1 / 0.5 / 0.25 / 0.125) ** 0.2))
    assert detectors.min_k(logp, 0.4) == pytest.approx((math.log(0.125) + math.log(0.25)) / 2)
    assert detectors.min_k(logp[:2], 0.1) == pytest.approx(math.log(0.25))  # one at least
    assert detectors.mean_entropy(np.array([0.5, 1.5])) == -1.0
    p = np.array([[0.75, 0.25]])  # mean log-prob -0.562, deviation |log 3| sqrt(3) / 4
    entropy, spread = -(p * np.log(p)).sum(1), math.log(3) * math.sqrt(3) / 4
    plus = detectors.min_k_plus(np.log([0.25]), entropy, np.log(p), 0.2)
    assert plus == pytest.approx((math.log(0.25) + entropy[0]) / spread)
    empty = np.zeros(0)
    assert all(math.isnan(f(empty)) for f in (detectors.perplexity, detectors.min_k, detectors.mean_entropy))


def test_an_interval_holds_its_area_and_narrows_with_more_problems():
    draw = np.random.default_rng(1)

    def wide(number: int) -> tuple[float, float]:
        members = np.arange(number) % 2 == 0
        told = separation(draw.standard_normal(number) + members, members.tolist(), resamples=200)
        assert told.low <= told.auc <= told.high and told.members == told.others == number // 2
        return told.auc, told.high - told.low

    (few, room), (many, less) = wide(40), wide(400)
    assert room > 2 * less and 0.6 < few < 0.95 and many == pytest.approx(0.76, abs=0.08)  # Phi(1 / sqrt(2)) = 0.76


def test_problems_without_a_score_are_left_out():
    told = separation([float("nan"), 2.0, 1.0], [True, True, False], resamples=10)
    assert (told.auc, told.members, told.others) == (1.0, 1, 1) and told.tells


def probed(number: int, member: bool | None, score: float) -> ProbedProblem:
    return ProbedProblem(Task(str(number), "?"), ("a", "b"), {"self_critique": score, "min_k": 0.0}, member, None)


def test_a_report_says_what_tells_and_what_does_not():
    report = report_of([probed(i, i < 20, float(i < 20)) for i in range(40)], resamples=50)
    assert report.auc["self_critique"].auc == 1.0 and report.auc["min_k"].auc == 0.5 and not report.balanced
    assert "Self-Critique: AUC 1.000 (1.000 to 1.000) over 20 members and 20 others: it distinguishes members" in str(
        report
    )
    assert "Min-K%: AUC 0.500 (0.500 to 0.500) over 20 members and 20 others: it does not distinguish" in str(report)
    assert [each.task.id for each in report.suspects(2)] == ["0", "1"]
    assert "only order problems" in str(report_of([probed(0, None, 1.0)]))


@pytest.fixture(scope="module")
def asked_twice():
    chain = find_task("chain:2")
    tasks = [chain.get("test", i) for i in range(5)]
    return tasks, probe_contamination(
        "sprig-1.1", tasks, [True, False, True, False, False], check=chain.check, max_tokens=40, resamples=20, at_once=3
    )


@pytest.mark.slow
def test_sprig_is_asked_twice_and_read(asked_twice):
    tasks, report = asked_twice
    assert [each.task for each in report.problems] == tasks and set(report.auc) == set(report.balanced)
    assert set(report.auc) == {"self_critique", "perplexity", "min_k", "min_k_plus", "entropy"}
    assert all(0 <= each.scores["self_critique"] <= 1 and each.right is not None for each in report.problems)
    assert [each.member for each in report.problems] == [True, False, True, False, False]


def test_scores_are_of_what_was_said_at_temperature_one(asked_twice):
    """Read once more, word by word: the answer ended by itself, so as text it is the same tokens."""
    tasks, report = asked_twice
    model = find_model("sprig-1.1")
    model.start(0, {})
    for task, problem in zip(tasks, report.problems, strict=True):
        [reading] = probe(model, [((), task.prompt, problem.answers[0])], ["logp", "entropy"])
        assert problem.scores["entropy"] == pytest.approx(-float(reading["entropy"].mean()), rel=1e-4)
        assert problem.scores["perplexity"] == pytest.approx(-math.exp(-float(reading["logp"].mean())), rel=1e-4)


def test_a_second_answer_is_asked_for_in_words_that_the_model_knows(made_once, monkeypatch):
    shown, task = [], Task("1", "2 + 2 =", "4")
    looked_at = probing.Ask

    def noted(task, **how):
        shown.append(how["prompt"])
        return looked_at(task, **how)

    monkeypatch.setattr(
        probing, "Ask", lambda task, **how: noted(task, **how) if "sampling" in how else looked_at(task, **how)
    )
    plain = foreign(str(made_once("own chat model", write_chat_model)))
    for model, how in (("sprig-1.1", {}), (plain, {}), (plain, {"another_way": "{answer}? {prompt}"})):
        probe_contamination(model, [task], max_tokens=3, **how)
    assert shown[0].startswith("revise\n2 + 2 =\n")
    assert shown[1].endswith("Give another answer, found in a different way.") and shown[2].endswith("? 2 + 2 =")


def test_what_is_refused():
    task = Task("1", "2 + 2 =", "4")
    with refusal(UserError, "another_way"):
        probe_contamination("sprig-1.1", [task], another_way="{question}")
    with pytest.raises(UserError, match="no problems"):
        probe_contamination("sprig-1.1", [])
    with pytest.raises(UserError, match="one for each"):
        probe_contamination("sprig-1.1", [task], [True, False])
    with refusal(UserError, "task/1"):
        probe_contamination("sprig-1.1", [task], ["1"])
    with refusal(UserError):
        probe_contamination(None, [task])
