"""Extras against scipy and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.audits.scores.rows import Ledger, ScoredPair
from guerdon.audits.scores.scoring import audit_scores, best_of, extras, sureness


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=3, max_size=7), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_best_of_n_is_the_mean_over_all_draws(answers, n):
    scores, labels = [float(s) for s, _ in answers], [float(right) for _, right in answers]
    worth = []
    for draw in itertools.combinations(range(len(answers)), n):
        top = max(scores[i] for i in draw)
        level = [labels[i] for i in draw if scores[i] == top]
        worth.append(sum(level) / len(level))
    assert best_of(scores, labels, n) == pytest.approx(sum(worth) / len(worth))


def test_calibration_is_what_a_loop_finds():
    chance = np.random.default_rng(3)
    margins = chance.normal(0.5, 1.5, 300)
    ledger = Ledger()
    for n, margin in enumerate(margins):
        ledger.pair(str(n), float(margin), 0.0)
    statistic = extras(ledger, {str(n): n for n in range(300)})[0][0](np.ones((1, 300)))
    p = 1 / (1 + np.exp(-margins))
    assert statistic["calibration/Brier"][0] == pytest.approx(sum((1 - each) ** 2 for each in p) / 300)
    sure, right = np.maximum(p, 1 - p), (margins > 0).astype(float)
    ece = 0.0
    for low in np.arange(0.5, 1.0, 0.05):
        inside = (sure >= low) & (sure < low + 0.05)
        ece += abs(right[inside].sum() - sure[inside].sum()) / 300
    assert statistic["calibration/ECE"][0] == pytest.approx(ece)
    assert sureness([ScoredPair("p", 0.0, 0.5)])[1].tolist() == [0.5]


def test_length_over_all_answers_and_within_problems():
    """Within each problem the longer answer scores lower; between problems long ones score higher."""
    rows = [
        {"prompt": f"p{n}", "chosen": "x" * (10 * n + 1), "rejected": "x" * (10 * n + 5), "chosen_score": 10 * n + 4,
         "rejected_score": 10 * n}
        for n in range(1, 6)
    ]  # fmt: skip
    report = audit_scores(rows, "pairs", draws=100)
    assert report["length/Pearson"] > 0.9 and report["length/Pearson within problems"] == pytest.approx(-1)
    scores = [value for n in range(1, 6) for value in (10 * n + 4, 10 * n)]
    lengths = [value for n in range(1, 6) for value in (10 * n + 1, 10 * n + 5)]
    assert report["length/Spearman"] == pytest.approx(scipy.stats.spearmanr(scores, lengths).statistic)
    said = [{**row, "chosen_length": 1, "rejected_length": 2} for row in rows]
    assert audit_scores(said, "pairs", draws=0)["length/Pearson within problems"] == pytest.approx(-1)


def test_the_rows_of_a_problem_are_drawn_together():
    """Two problems, one all right and one all wrong, ten rows each: a draw is 0, a half or 1, never between."""
    rows = [{"problem": problem, "chosen_score": problem == "a", "rejected_score": 0.5} for problem in "ab" * 10]
    rows = [{**row, "chosen_score": float(row["chosen_score"])} for row in rows]
    report = audit_scores(rows, "pairs", draws=400)
    accuracy = report.measure("accuracy")
    assert (accuracy.value, accuracy.low, accuracy.high, accuracy.count) == (0.5, 0.0, 1.0, 20) and report.problems == 2
