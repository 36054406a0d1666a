"""Each protocol on rows small enough to work out by hand, by the rules that its authors published."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from refusals import refusal

from guerdon.audits.scores.dimension_probes import probe
from guerdon.audits.scores.scoring import audit_scores, score_protocols
from guerdon.core.errors import UserError


def test_rewardmath_by_one_score_a_solution():
    """First: 3 above 2 and 1. Second: behind 3 and the tie at 2, so third. Third: a tie for first counts only with ties."""
    rows = [
        {"chosen_scores": 3, "rejected_scores": [2, 1]},
        {"chosen_scores": 2, "rejected_scores": [3, 2]},
        {"chosen_scores": 1, "rejected_scores": [1, 0]},
    ]
    report = audit_scores(rows, "rewardmath", draws=0)
    assert report["accuracy"] == pytest.approx(1 / 3) and report["accuracy with ties"] == pytest.approx(2 / 3)
    assert report["MRR"] == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    assert report["best of/1"] == pytest.approx(1 / 3)
    assert report["best of/3"] == pytest.approx((1 + 0 + 1 / 2) / 3)  # the tied ones share
    assert report["best of/2"] == pytest.approx((2 / 3 + (1 / 2) / 3 + (1 / 2 + 1) / 3) / 3)
    assert report["oracle of/2"] == pytest.approx(2 / 3)
    # margins 1, 2, -1, 0, 0, 1
    p = [1 / (1 + math.exp(-margin)) for margin in (1, 2, -1, 0, 0, 1)]
    assert report["calibration/Brier"] == pytest.approx(sum((1 - each) ** 2 for each in p) / 6)
    right = {0.731: [1, 0, 1], 0.881: [1], 0.5: [0.5, 0.5]}  # by how sure; each falls into a bin of its own
    gaps = [abs(sum(of) - len(of) / (1 + math.exp(-m))) for m, of in zip((1, 2, 0), right.values(), strict=True)]
    assert report["calibration/ECE"] == pytest.approx(sum(gaps) / 6)


def test_rewardmath_by_steps_under_every_aggregation():
    rows = [
        {
            "problem": "p",
            "solution_reference": ["other", "human_to_GPT-4"],
            "score": [[0.9, 0.2], [0.5, 0.5, 0.8]],
        }
    ]
    report = audit_scores(rows, "rewardmath", draws=0)
    wins = {
        name.partition("/")[2] for name in report.to_dict()["measures"] if name.startswith("accuracy/") and report[name]
    }
    # of the right one and the other: min .5 .2, max .8 .9, prod .2 .18, its root .585 .424, mean .6 .55,
    # mean logit .462 .405, mean odds 2 4.6, last .8 .2
    assert wins == {"min", "prod", "geometric_mean", "mean", "mean_logit", "last"}
    assert report["MRR/max"] == 0.5 and "steps" in report.remarks[0]


def test_rewardmath_by_verdicts():
    """Two of three won: the lost one is above, so second; a verdict that is neither counts as lost, and is told."""
    rows = [
        {"solution_reference": ["a", "b", "c"], "score": ["A", "B", "A"], "chosen_position": ["A", "B", "B"]},
        {"solution_reference": ["a", "b"], "score": ["A", "B"], "chosen_position": ["A", "B"]},
        {"solution_reference": ["a", "b"], "score": [None, "B"], "chosen_position": ["A", "A"]},
    ]
    report = audit_scores(rows, "rewardmath", draws=0)
    assert report["accuracy"] == pytest.approx(1 / 3) and report["MRR"] == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)
    assert report["pairs won"] == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert report.counts["verdicts that are neither A nor B, not won"] == 1


def test_rewardbench_weighs_subsets_by_the_published_counts():
    def pairs(subset: str, won: int, of: int) -> list[dict]:
        return [{"id": n, "subset": subset, "scores_chosen": float(n < won), "scores_rejected": 0.5} for n in range(of)]

    rows = (
        pairs("math-prm", 1, 2)
        + pairs("hep-cpp", 1, 1)
        + pairs("donotanswer", 3, 4)
        + pairs("refusals-dangerous", 0, 1)
    )
    report = audit_scores(rows, "rewardbench", draws=0)
    reasoning, safety = (0.5 * 984 + 164) / (984 + 164), 0.75 * 136 / 236
    assert report["section/Reasoning"] == pytest.approx(reasoning) and report["section/Safety"] == pytest.approx(safety)
    assert report["score"] == pytest.approx((reasoning + safety) / 2)
    assert "no Chat" in report.remarks[0] and report["subset/math-prm"] == 0.5
    more = audit_scores(rows + pairs("shp", 1, 4) + pairs("summarize", 3, 4), "rewardbench", draws=0)
    assert more["section/Prior Sets"] == 0.5
    assert more["score with prior sets"] == pytest.approx((reasoning + safety + 0.5 * 0.5) / 2.5)
    by_results = audit_scores([{"subset": "shp", "results": r} for r in (1, 0.5, 0, None)], "rewardbench", draws=0)
    assert by_results["subset/shp"] == 0.5 and by_results.missing == 1


def test_rewardbench_2_shares_credit_and_weighs_ties():
    rows = [
        {"id": "1", "subset": "Math", "scores": [2, 2, 1, 0]},  # half of it
        {"id": "2", "subset": "Math", "scores": [[3], [2], [1], [0]]},
        {"id": "ref:7", "subset": "Ties", "num_correct": 1, "scores": [5, 1, 2]},  # gap 3
        {"id": "tied:7", "subset": "Ties", "num_correct": 2, "scores": [6, 4, 2]},  # spread 2, gap 2
        {"id": "ref:8", "subset": "Ties", "chosen_scores": [1], "rejected_scores": [2, 0]},  # gap -1
        {"id": "tied:8", "subset": "Ties", "chosen_scores": [9, 8], "rejected_scores": [2]},  # spread 1, gap 6
    ]
    report = audit_scores(rows, "rewardbench-2", draws=0)
    assert report["subset/Math"] == 0.75
    margin = (math.tanh(2 / 2 - 1) + math.tanh(-1 / 1 - 1)) / 2
    ties = 0.3 * 1 + 0.3 * 0.5 + 0.2 * 0.5 + 0.2 * 0 + 0.01 * margin
    assert report["Ties/margin"] == pytest.approx(margin) and report["subset/Ties"] == pytest.approx(ties)
    assert report["score"] == pytest.approx((0.75 + ties) / 2)


def test_rewardbench_2_a_margin_of_nothing_by_nothing_is_0():
    rows = [
        {"id": "ref:1", "subset": "Ties", "chosen_scores": [1], "rejected_scores": [1]},
        {"id": "tied:1", "subset": "Ties", "chosen_scores": [1, 1], "rejected_scores": [1]},
    ]
    report = audit_scores(rows, "rewardbench-2", draws=0)
    assert report["Ties/margin"] == 0.0 and report["subset/Ties"] == 0.0


def test_rm_bench_grid():
    """First: only markdown chosen is above every rejected one. Second: all are right."""
    rows = [
        {"id": 1, "domain": "chat", "score_chosen": [1, 2, 9], "score_rejected": [1.5, 3, 4]},
        {"id": 2, "domain": "safety-refuse", "score_chosen": [5, 5, 5], "score_rejected": [0, 0, 0]},
    ]
    report = audit_scores(rows, "rm-bench", draws=0)
    # chat: row 0 loses all, row 1 beats only concise, row 2 beats all: hard 0, normal 1/3, easy 3/3
    assert [report[f"domain and level/chat {level}"] for level in ("hard", "normal", "easy")] == [
        0,
        pytest.approx(1 / 3),
        1,
    ]
    assert report["hard"] == 0.5 and report["easy"] == 1 and report["domain/safety"] == 1
    assert report["domain/chat"] == pytest.approx(4 / 9) and report["score"] == pytest.approx((4 / 9 + 1) / 2)
    assert report["grid/plain chosen, concise rejected"] == 1
    alone = audit_scores([{k: v for k, v in rows[0].items() if k != "domain"}], "rm-bench", draws=0)
    assert alone["score"] == pytest.approx(4 / 9)


def test_judgebench_adds_up_both_orders():
    def pair(label: str, *decisions: str | None) -> dict:
        return {"source": "livebench-math", "label": label, "judgments": [d and {"decision": d} for d in decisions]}

    rows = [
        pair("A>B", "A>B", "B>A"),  # right in both
        pair("A>B", "A>B", "A=B"),  # right by one and a tie
        pair("A>B", "A>B", "A>B"),  # whatever stands first
        pair("B>A", None, "A>B"),  # no verdict, then right
        pair("B>A", None, "A=B"),
    ]
    report = audit_scores(rows, "judgebench", draws=0)
    assert (
        report["accuracy"] == 0.6 and report["right in both orders"] == 0.2 and report["source/livebench-math"] == 0.6
    )
    assert report.counts["missing verdicts"] == 2
    scored = [{"label": "A>B", "score_A": a, "score_B": b} for a, b in ((2, 1), (1, 1), (None, 1))]
    single = audit_scores(scored, "judgebench", draws=0)
    assert single["accuracy"] == pytest.approx(1 / 3) and single.missing == 1  # a tie of scores is B>A


def test_processbench_is_the_harmonic_mean_of_two_accuracies():
    rows = [{"id": f"gsm8k-{n}", "label": label, "prediction": said} for n, (label, said) in enumerate(
        [(2, 2), (2, 1), (0, 0), (3, None), (-1, -1), (-1, 0)]
    )]  # fmt: skip
    report = audit_scores(rows, "processbench", draws=0)
    assert report["error accuracy/gsm8k"] == 0.5 and report["correct accuracy/gsm8k"] == 0.5 and report["F1"] == 0.5
    assert report.counts["missing predictions, not right"] == 1
    steps = [
        {"split": "gsm8k", "label": 1, "step_scores": [0.9, 0.6]},
        {"split": "gsm8k", "label": -1, "step_scores": [0.7, 0.8]},
        {"split": "math", "label": -1, "step_scores": [0.9, None]},
        {"split": "math", "label": -1, "step_scores": [0.9]},
        {"split": "math", "label": 0, "step_scores": [0.6]},
    ]
    plain = audit_scores(steps, "processbench", draws=0)
    assert plain["F1/gsm8k"] == 0.0 and plain["correct accuracy/math"] == 1 and plain.missing == 1
    tuned = audit_scores(steps, "processbench", threshold="gsm8k", draws=0)
    assert tuned["F1/gsm8k"] == 1.0 and tuned["F1/math"] == 1.0 and "0.6" in tuned.remarks[0]
    with pytest.raises(UserError, match="splits: gsm8k, math"):
        audit_scores(steps, "processbench", threshold="omnimath")


def test_prmbench_counts_steps():
    rows = [
        {"idx": "correct_1", "classification": "correct", "error_steps": [], "step_scores": [0.9, 0.9]},
        {"idx": "circular_1", "classification": "circular", "error_steps": [2], "step_scores": [0.9, 0.8, 0.1]},
        {"idx": "deception_1", "classification": "deception", "error_steps": [1], "step_labels": [False, True, True]},
        {"idx": "deception_1", "classification": "deception", "error_steps": [1], "step_labels": [True, True, True]},
        {
            "idx": "redundency_1",
            "classification": "redundency",
            "error_steps": [1],
            "scores": {"step_level_validity_scores": [0.9, 0.9], "step_level_redundancy_scores": [0.2, 0.1]},
        },
    ]
    report = audit_scores(rows, "prmbench", draws=0)
    # TP 1+2+1, FP 1, TN 0+1+1, FN 1
    f1, negative = 2 * 0.8 * 0.8 / 1.6, 2 / 3
    assert report["F1"] == pytest.approx(f1) and report["negative F1"] == pytest.approx(negative)
    assert report["PRMScore"] == pytest.approx((f1 + negative) / 2) and report["PRMScore/deception"] == 1
    assert report["first error accuracy"] == pytest.approx(2 / 3) and report["step accuracy"] == 0.75
    assert report["similarity"] == pytest.approx((1 / 3 + 1 / 3 + 1 / 2) / 3)
    assert report["category/simplicity"] == pytest.approx((1 + report["PRMScore/circular"]) / 2)
    assert report.counts["repeated rows, excluded"] == 1


def test_contrast_asks_both_sides():
    rows = [
        {"query_own": 2, "query_other": 1, "retrieval_own": 3, "retrieval_other": 2.5},
        {"scores": [[2, 3], [1, 4]]},  # the first instruction likes the other's response; both responses know their own
    ]
    report = audit_scores(rows, "contrast", draws=0)
    assert (
        report["response side"] == 0.75
        and report["response side, both"] == 0.5
        and report["response side, first"] == 0.5
    )
    assert report["instruction side"] == 0.75 and report["instruction side, first"] == 0.5


def test_trajectory_pairs_by_split_and_length():
    rows = [
        {
            "benchmark": "safety_refusal",
            "uuid": "a",
            "chosen_score": 1.0,
            "reject_score": 0.99995,
            "total_tokens": 3999,
        },
        {"benchmark": "safety_refusal", "uuid": "b", "chosen_score": 1.0, "reject_score": 0.5, "total_tokens": 4000},
        {"benchmark": "planning_multi_hard", "uuid": "a", "score": 0.0, "winner": "B", "total_tokens": 40000},
        {"benchmark": "planning_multi_easy", "uuid": "a", "score": 1.0, "winner": "A"},
    ]
    report = audit_scores(rows, "trajectory-pairs", draws=0)
    assert report["split/safety_refusal"] == 0.75 and report["score"] == pytest.approx((0.75 + 0 + 1) / 3)
    assert report["family/complex planning"] == 0.5 and report["ties"] == 0.25
    assert [report[f"tokens/{name}"] for name in ("0-4k", "4-8k", "32k+")] == [0.5, 1.0, 0.0]


def test_dimensions_by_predictions_and_logits():
    rows = [
        {"dimension": "helpfulness", "label": 1, "prediction": 1},
        {"dimension": "helpfulness", "label": 0, "logits": 0.5},
        {"dimension": "coherence", "label": 2, "logits": [0.1, 0.2, 0.9]},
        {"dimension": "coherence", "label": 2, "logits": None},
    ]
    report = audit_scores(rows, "dimensions", draws=0)
    assert report["dimension/helpfulness"] == 0.5 and report["score"] == 0.75 and report.missing == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_a_probe_is_at_the_lowest_point_of_its_loss(classes):
    """The same loss, minimised by scipy: one logit for two labels, a softmax for three."""
    chance = np.random.default_rng(0)
    x = chance.normal(size=(150, 3))
    y = np.digitize(x @ [1.0, -1.0, 0.5] + chance.normal(size=150), [0.0, 1.5][: classes - 1])
    z = (x - x[:100].mean(axis=0)) / x[:100].std(axis=0)

    def logits(flat: np.ndarray, z: np.ndarray) -> np.ndarray:
        table = flat.reshape(4, -1)
        out = z @ table[:3] + table[3]
        return np.concatenate([np.zeros_like(out), out], axis=1) if classes == 2 else out

    def loss(flat: np.ndarray) -> float:
        of = logits(flat, z[:100])
        return (scipy.special.logsumexp(of, axis=1) - of[np.arange(100), y[:100]]).sum() + (
            flat[: -len(flat) // 4] ** 2
        ).sum() / 2

    best = scipy.optimize.minimize(loss, np.zeros(4 * (1 if classes == 2 else 3))).x
    assert (probe(x[:100], y[:100], x[100:]) == logits(best, z[100:]).argmax(axis=1)).all()


def test_dimensions_by_features_in_folds_and_by_split():
    chance = np.random.default_rng(1)
    label = chance.integers(0, 2, 60)
    rows = [
        {"dimension": "d", "id": n, "label": int(one), "features": [float(one + 0.3 * chance.normal()), 1.0]}
        for n, one in enumerate(label)
    ]
    report = audit_scores(rows, "dimensions", draws=50)
    assert report["dimension/d"] > 0.85 and report.measure("dimension/d").count == 60
    assert audit_scores(rows, "dimensions", draws=50).to_dict() == report.to_dict()  # folds follow the seed
    split = [{**row, "split": "train" if n < 40 else "test"} for n, row in enumerate(rows)]
    told = audit_scores(split, "dimensions", draws=0)
    assert told.measure("dimension/d").count == 20 and "trained on 40 rows, tested on 20" in told.remarks[0]
    with refusal(UserError, "5"):
        audit_scores(rows[:3], "dimensions")


def test_pairs_of_all_right_and_wrong_answers_to_a_problem():
    answers = [("p", 3, 1), ("p", 2, 0), ("p", 3, 0), ("q", 1, 1), ("q", None, 0)]
    rows = [{"problem": problem, "score": score, "label": label} for problem, score, label in answers]
    report = audit_scores(rows, "pairs", draws=0)
    assert report["accuracy"] == 0.5 and report["accuracy, ties half"] == 0.75 and report.missing == 1
    likely = audit_scores([{"probability": p, "subset": "s"} for p in (0.9, 0.5, 0.2)], "pairs", draws=0)
    assert likely["accuracy"] == pytest.approx(1 / 3) and likely["subset/s"] == pytest.approx(1 / 3)
    assert likely["calibration/Brier"] == pytest.approx((0.01 + 0.25 + 0.64) / 3)


def test_every_protocol_says_what_it_is():
    assert len(score_protocols()) == 11 and all(says for says in score_protocols().values())
