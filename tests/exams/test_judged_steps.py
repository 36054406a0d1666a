"""Rewards that come in lines, judged by hand, against scikit-learn, and where they have nothing to say; sound answers."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refusal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from small import small_lm
from told_tries import told_sitting

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.exams.step_judging import JudgedSolution, best_threshold, judged_steps, platt, rank_statistic, sound

FAMILY = gd.tasks.load("equation:2")
PROBLEM = FAMILY.get("train", 0)  # 9x+12=48
RIGHT, WRONG = "9x=36\nx=4\n= 4", "9x=36\nx=5\n= 5"


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    model = small_lm(tmp_path_factory.mktemp("policy"))
    model.start(0, {})
    return model


def by_problem(scores):
    """A reward that says of the right and the wrong solution of each problem what it is told to."""

    @gd.reward(isolate=False)
    def said(task, completion):
        return scores[task.id][0 if completion == RIGHT else 1]

    return said


def sitting_of(policy, scores):
    problems = [gd.Task(name, PROBLEM.prompt, PROBLEM.answer, "equation", 2, PROBLEM.meta) for name in scores]
    return told_sitting(FAMILY, [(problem, (RIGHT, WRONG)) for problem in problems], policy=policy)


def test_the_threshold_is_chosen_on_every_other_problem(policy):
    scores = {
        "a": ([0.8, 0.9, 0.9], [0.9, 0.2, 0.9]),  # between 0.2 and 0.8: all found and cleared
        "b": ([0.9, 0.9, 0.9], [0.9, 0.1, 0.9]),  # found, and cleared
        "c": ([0.9, 0.9, 0.8], [0.9, 0.2, 0.1]),
        "d": ([0.9, 0.3, 0.9], [0.4, 0.1, 0.9]),  # neither: a right line is below 0.5
    }
    numbers = judged_steps(by_problem(scores))(sitting_of(policy, scores))
    assert numbers["step_threshold"] == pytest.approx(0.5)
    assert {numbers[name] for name in ("found_share", "cleared_share", "first_error_f1")} == {0.5}
    seen = [(0.9, 1), (0.9, 1), (0.9, 1), (0.9, 1), (0.1, 0), (0.9, 1), (0.3, 1), (0.9, 1), (0.4, 1), (0.1, 0)]
    assert numbers["step_brier"] == pytest.approx(sum((p - y) ** 2 for p, y in seen) / 10)
    assert numbers["step_ece"] == pytest.approx((6 * 0.1 + 2 * 0.1 + 0.7 + 0.6) / 10)
    assert numbers["lines_examined"] == 20 and numbers["steps_missing"] == numbers["step_fitted"] == 0.0
    assert numbers["step_auc"] == 1.0  # 0.1 and 0.2 are below every right line


def test_scores_that_are_no_chances_are_fitted_first(policy):
    scores = {name: ([2.0, 1.0, 3.0], [2.5, -4.0, 0.0]) for name in "abcd"}
    named = judged_steps(by_problem(scores), name="mine")(sitting_of(policy, scores))
    slope, offset = platt([2.0, 1.0, 3.0, 2.5, -4.0] * 2, [1.0, 1.0, 1.0, 1.0, 0.0] * 2)
    chance = [1 / (1 + np.exp(-slope * s - offset)) for s in (2.0, 1.0, 3.0, 2.5, -4.0)]
    assert named["mine_step_fitted"] == 1.0 and named["mine_first_error_f1"] == 1.0
    assert named["mine_step_brier"] == pytest.approx(np.mean((np.array(chance) - [1, 1, 1, 1, 0]) ** 2))
    with refusal(UserError, "0", "1"):
        judged_steps(by_problem(scores), chances=True)(sitting_of(policy, scores))


def test_the_fit_and_the_rank_statistic_are_scikit_learns():
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 12, 300).astype(float)  # with ties
    labels = (rng.uniform(size=300) < 1 / (1 + np.exp(3 - scores / 2))).astype(float)
    assert rank_statistic(list(zip(scores, labels, strict=True)))["step_auc"] == pytest.approx(
        roc_auc_score(labels, scores)
    )
    good, bad = labels.sum(), 300 - labels.sum()
    target = np.where(labels == 1, (good + 1) / (good + 2), 1 / (bad + 2))
    twice, weight = np.concatenate([scores, scores])[:, None], np.concatenate([target, 1 - target])
    theirs = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000).fit(twice, np.repeat([1, 0], 300), weight)
    assert platt(scores, labels) == pytest.approx((theirs.coef_[0, 0], theirs.intercept_[0]), rel=1e-4)
    apart = platt([0.0, 1.0], [0.0, 1.0])  # told apart without an error: still finite
    assert apart[0] > 0 and np.isfinite(apart).all()
    assert rank_statistic([(0.1, 1.0), (0.2, 1.0)]) == {} and rank_statistic([(1.0, 1.0), (1.0, 0.0)]) == {
        "step_auc": 0.5
    }


def test_the_best_threshold_is_no_worse_than_any_other():
    rng = np.random.default_rng(0)
    judged = [
        JudgedSolution(n, rng.uniform(size=4).tolist(), [1.0, 0.0] if n % 2 else [1.0] * 4, whole=True)
        for n in range(40)
    ]

    def f1(threshold):
        hits = [each.called(threshold) == each.wrong for each in judged]
        a, b = np.mean(hits[1::2]), np.mean(hits[::2])
        return 2 * a * b / (a + b) if a + b else 0.0

    assert f1(best_threshold(judged)) == max(f1(t) for t in np.linspace(0, 1, 400))
    assert best_threshold(judged[::2]) is None


def test_what_has_no_score_is_left_out_and_what_has_no_lines_refused(policy):
    def gappy(completion):
        return [1.0, 0.5, 0.5] if completion == RIGHT else None if completion == WRONG else [1.0]

    tries = [(PROBLEM, (RIGHT, WRONG, "9x=36\n= 4"))]
    numbers = judged_steps(gd.reward(gappy, isolate=False))(told_sitting(FAMILY, tries, policy=policy))
    assert numbers["steps_missing"] == pytest.approx(2 / 3) and numbers["lines_examined"] == 3
    assert "first_error_f1" not in numbers and "step_auc" not in numbers
    broken = gd.reward(lambda completion: 1 / 0, isolate=False)
    assert judged_steps(broken)(told_sitting(FAMILY, tries, policy=policy)) == {
        "lines_examined": 0,
        "steps_missing": 1.0,
    }
    with refusal(UserError):
        judged_steps(gd.reward(lambda completion: 1.0, isolate=False))(told_sitting(FAMILY, tries, policy=policy))
    rows = gd.tasks.rows([{"prompt": "2+2?", "answer": "4"}] * 12)
    for metric in (judged_steps(gd.true_lines(FAMILY)), sound()):
        with refusal(UserError):
            metric(told_sitting(rows, [(rows.get("test", 0), ("4",))], policy=policy))


def test_a_perfect_judge_is_perfect_on_a_mixture(policy):
    both = gd.tasks.load("equation:1-2")
    problems = [both.get("test", n) for n in range(4)]
    tries = [(p, (both.solution(p), both.solution(p).replace("x", "9x", 1), "x=0\n= 0")) for p in problems]
    numbers = judged_steps(gd.true_lines(both))(told_sitting(both, tries, policy=policy))
    assert numbers["step_auc"] == numbers["first_error_f1"] == 1.0 and numbers["step_brier"] == 0.0


def test_sound_answers_by_hand(policy):
    miracle = "9x=37\nx=4\n= 4"
    other = FAMILY.get("train", 1)
    tries = [
        (PROBLEM, (RIGHT, miracle, miracle, WRONG, "9x=36\nx=4")),
        (other, (FAMILY.solution(other),)),
    ]
    numbers = sound()(told_sitting(FAMILY, tries, cut=("9x=36\nx=4",), policy=policy))
    assert numbers["sound@1"] == pytest.approx((1 / 5 + 1) / 2)
    assert numbers["false_positive_share"] == pytest.approx((2 / 3 + 0) / 2) and numbers["right_examined"] == 4
    assert numbers["sound@1_low"] < numbers["sound@1"] < numbers["sound@1_high"]
    none = sound()(told_sitting(FAMILY, [(PROBLEM, (WRONG,))], policy=policy))
    assert none["sound@1"] == 0.0 and "false_positive_share" not in none
