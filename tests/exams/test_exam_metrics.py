"""The metrics of the shelf on numbers done by hand, and against scikit-learn where it has the same."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from refusals import refusal
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import RunStopped, UserError
from guerdon.core.pack import pack
from guerdon.core.statistics import brier, calibration_error, interval, pass_at_k, reliability
from guerdon.exams.best_of_n import best_of, chosen
from guerdon.exams.example_sitting import example_sitting
from guerdon.exams.rates import accuracy, answer_length, coverage, majority_vote, voted
from guerdon.exams.rewards_given import games_won, mean_return
from guerdon.exams.scorers import auroc, calibration, first_error_scores, first_wrong, pair_accuracy
from guerdon.exams.tries import powers

NAN = math.nan

# --- plain measures ------------------------------------------------------------------------------------------------


def test_calibration_by_hand():
    chance, truth = [0.95, 0.85, 0.15, 0.05], [1.0, 0.0, 0.0, 0.0]
    assert calibration_error(chance, truth) == pytest.approx((0.05 + 0.85 + 0.15 + 0.05) / 4)
    assert calibration_error(chance, truth, bins=2) == pytest.approx((2 * abs(0.9 - 0.5) + 2 * 0.1) / 4)
    assert brier(chance, truth) == pytest.approx((0.0025 + 0.7225 + 0.0225 + 0.0025) / 4)
    assert [b.size for b in reliability([0.0, 0.1, 0.999, 1.0], [0, 0, 1, 1])] == [1, 1, 2]
    assert calibration_error([0.5, 0.5], [1.0, 0.0]) == 0.0 and brier([0.5, 0.5], [1.0, 0.0]) == 0.25
    assert calibration_error([], []) == brier([], []) == 0.0


def test_calibration_is_scikit_learns():
    rng = np.random.default_rng(3)
    chance = rng.uniform(size=500)
    truth = (rng.uniform(size=500) < chance**2).astype(float)
    assert brier(chance, truth) == pytest.approx(brier_score_loss(truth, chance))
    was, said = calibration_curve(truth, chance, n_bins=10, strategy="uniform")
    bins = reliability(chance, truth)
    assert [b.was for b in bins] == pytest.approx(was.tolist())
    assert [b.said for b in bins] == pytest.approx(said.tolist())
    size = np.array([b.size for b in bins])
    assert calibration_error(chance, truth) == pytest.approx(float((size * np.abs(was - said)).sum() / 500))


def test_the_first_error_by_hand():
    assert first_wrong([0.9, 0.4, 0.1]) == 1
    assert first_wrong([0.5, 0.9]) is None and first_wrong([]) is None
    # three wrong solutions, one found; two right ones, one cleared: 2 * 1/3 * 1/2 / (5/6)
    found = first_error_scores([1, None, 0, None, 2], [1, 1, 2, None, None])
    assert found == {"found_share": pytest.approx(1 / 3), "cleared_share": 0.5, "first_error_f1": pytest.approx(0.4)}
    assert first_error_scores([None], [0])["found_share"] == 0.0
    assert "first_error_f1" not in first_error_scores([None, 1], [None, None])
    assert first_error_scores([None, 1], [0, None])["first_error_f1"] == 0.0


def test_powers_of_two_end_with_the_last():
    assert [powers(n) for n in (1, 2, 3, 4, 6, 8)] == [[1], [1, 2], [1, 2, 3], [1, 2, 4], [1, 2, 4, 6], [1, 2, 4, 8]]


# --- choices among tries -------------------------------------------------------------------------------------------


def test_the_choice_among_all_tries_by_hand():
    assert chosen([(0.1, False), (0.9, True)], 2) == 1.0
    assert chosen([(0.9, False), (0.9, True), (0.1, True)], 3) == 0.5  # a tie: as often right as those liked best are
    assert chosen([(NAN, True), (0.2, False)], 2) == 0.0  # what has no score is never chosen
    assert chosen([(NAN, True), (NAN, False), (NAN, False), (NAN, False)], 4) == 0.25


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_choice_among_some_is_the_mean_over_all_of_them(k):
    tries = [(0.3, True), (0.9, False), (0.3, False), (NAN, True), (0.1, True)]

    def best(some):
        top = max([liked for liked, _ in some if liked == liked], default=NAN)
        rights = [right for liked, right in some if liked == top or top != top]
        return sum(rights) / len(rights)

    every = [best(some) for some in itertools.combinations(tries, k)]
    assert chosen(tries, k) == pytest.approx(sum(every) / len(every))


def test_best_of_is_one_number_a_problem():
    liked = gd.reward(lambda completion: float(completion.partition("\n")[0] or NAN) if "\n" in completion else None)
    said = [["1\n= 4", "9\n= 5", "5\n= 4", "7\n= 6"], ["= 4", "= 5", "= 5", "= 5"]]
    found = best_of(liked, name="by_mark")(example_sitting(said, answer="4"))
    assert list(found) == [
        *(f"by_mark@{k}{end}" for k in (2, 4) for end in ("", "_low", "_high")),
        "by_mark_unscored",
    ]
    assert found["by_mark@4"] == (0.0 + 0.25) / 2 and found["by_mark_unscored"] == 0.5
    # of the six pairs of the first problem only 1 with 5 has a right one as its best
    assert found["by_mark@2"] == pytest.approx((1 / 6 + 1 / 4) / 2)
    assert [found["by_mark@4_low"], found["by_mark@4_high"]] == pytest.approx(interval([0.0, 0.25])[1:])
    assert "by_mark@1" in best_of(liked, name="by_mark")(example_sitting([["= 4"]], answer="4"))


def test_the_most_common_answer_by_hand():
    assert voted([("4", True), ("4", True), ("5", False)]) == 1.0
    assert voted([("4", True), ("5", False)]) == 0.5  # a tie is shared
    assert voted([(None, False), (None, False), ("4", True)]) == 1.0  # who says nothing does not vote
    assert voted([(None, False), (None, True)]) == 0.5
    said = [["a\n= 4", "b\n= 4", "= 5", "= 4"], ["= 5", "= 5", "= 4", "= 6"]]
    assert majority_vote()(example_sitting(said, answer="4"))["majority@4"] == 0.5
    # two at a time: right, half; wrong, half (4 and 6 tie)
    assert majority_vote(k=2)(example_sitting(said, answer="4"))["majority@2"] == pytest.approx((0.75 + 0.25) / 2)
    # three at a time: the fourth is left out
    assert majority_vote(k=3)(example_sitting(said, answer="4"))["majority@3"] == 0.5
    with refusal(UserError, "8", "4"):
        majority_vote(k=8)(example_sitting(said, answer="4"))
    loose = example_sitting([["so 4", "4.0", "= 5"]], answer="5")
    assert majority_vote(answer="number")(loose)["majority@3"] == 0.0
    assert majority_vote(answer="text")(loose)["majority@3"] == pytest.approx(1 / 3)


def test_accuracy_and_coverage_by_hand():
    said = [["= 4", "= 5", "= 6", "= 4"], ["= 5", "= 5", "= 5", "= 7"]]
    sitting = example_sitting(said, answer="4")
    right, some = accuracy()(sitting), coverage()(sitting)
    assert right["pass@1"] == 0.25 and right["pass@2"] == pytest.approx(pass_at_k(4, 2, 2) / 2)
    assert some["coverage"] == right["pass@4"] == 0.5 and some["coverage_high"] == right["pass@4_high"]
    assert some["distinct_answers"] == 2.5 and "kinds" not in right
    assert answer_length()(sitting) == {"length": 3.0}


def test_accuracy_by_kind():
    sitting = example_sitting([["= 4", "= 4"], ["= 4", "= 5"]], answer="4")
    hard = [e.but(ask=e.ask.but(task=replace(e.task, level=1 + int(e.task.id)))) for e in sitting.batch.episodes]
    batch = pack(hard).with_cols(sitting.batch.cols)
    assert accuracy()(replace(sitting, batch=batch))["kinds"] == {"task:1": 1.0, "task:2": 0.5}


# --- what the environment paid --------------------------------------------------------------------------------------


def test_returns_are_of_whole_episodes():
    sitting = example_sitting([["a", "b"], ["c", "d"]], paid=[[1.0, -1.0], [0.0, 2.0]])
    assert mean_return()(sitting) == {"return": 0.5, "return_std": pytest.approx(math.sqrt(5) / 2), "episodes": 4}
    found = games_won()(sitting)
    assert (found["win_rate"], found["draw_rate"], found["loss_rate"], found["games"]) == (0.5, 0.25, 0.25, 4)
    assert games_won(even=1.0)(sitting)["loss_rate"] == 0.5
    turns = [e.but(segments=(*e.segments, e.segments[0].but(parent=0, rewards=[0.5]))) for e in sitting.batch.episodes]
    turns[0] = turns[0].but(info={"error": "broke"})
    both = mean_return()(replace(sitting, batch=pack(turns)))  # every turn, as a whole and action by action
    assert both["return"] == pytest.approx((-1.5 + 0.5 + 4.5) / 3) and both["episodes"] == 3
    with pytest.raises(RunStopped, match="paid 'policy' nothing"):
        mean_return()(example_sitting([["a"]]))


# --- scorers --------------------------------------------------------------------------------------------------------


def test_pairs_by_hand():
    said, score = [["= 4", "= 5", "= 4", "= 6"]], [2.0, 1.0, 0.0, 1.0]
    found = pair_accuracy("rm")(example_sitting(said, answer="4", rm__final=score))
    assert found["pair_accuracy"] == roc_auc_score([1, 0, 1, 0], score) == 0.5 and found["pairs_examined"] == 4
    p = 1 / (1 + math.exp(-1))
    assert found["pair_brier"] == pytest.approx(((1 - p) ** 2 + p**2) / 2, rel=1e-6)
    assert found["pair_ece"] == pytest.approx(abs(p - 0.5), rel=1e-6)
    tied = pair_accuracy("rm")(example_sitting([["= 4", "= 5"]], answer="4", rm__final=[1.0, 1.0]))
    assert (tied["pair_accuracy"], tied["pair_ece"], tied["pair_brier"]) == (0.5, 0.0, 0.25)
    assert pair_accuracy("rm")(example_sitting([["= 4", "= 4"]], answer="4", rm__final=score[:2])) == {
        "pairs_examined": 0
    }


def test_pairs_are_of_one_problem_and_of_what_has_a_score():
    sitting = example_sitting([["= 4", "= 5"], ["= 4", "= 5"]], answer="4", rm__final=[3.0, 2.0, 1.0, 0.0])
    assert pair_accuracy("rm")(sitting)["pairs_examined"] == 2
    column = sitting.batch.cols["rm.final"]
    value, reason = column.value.clone(), column.reason.clone()
    value[0], reason[0] = NAN, int(Reason.NOT_APPLICABLE)
    holed = sitting.batch.with_cols({"rm.final": Column("track", value, reason)})
    assert pair_accuracy("rm")(replace(sitting, batch=holed))["pairs_examined"] == 1


def test_confidence_by_hand():
    said = [["= 4", "= 5", "= 4"]]
    found = calibration("rm.final")(example_sitting(said, answer="4", rm__final=[0.95, 0.65, 0.15]))
    assert found["ece"] == pytest.approx((0.05 + 0.65 + 0.85) / 3)
    assert found["brier"] == pytest.approx((0.05**2 + 0.65**2 + 0.85**2) / 3, rel=1e-6)
    assert found["confidence"] == pytest.approx(0.35 + 0.7 / 3) and found["confident"] == 3
    squashed = calibration("rm.final", squash=True)(example_sitting(said, answer="4", rm__final=[0.0, 0.0, 0.0]))
    assert squashed["ece"] == pytest.approx(2 / 3 - 0.5) and squashed["brier"] == 0.25
    asked = calibration(gd.reward(lambda completion: 0.75 if completion == "= 4" else None))(
        example_sitting(said, answer="4")
    )
    assert asked == {"ece": 0.25, "brier": 0.0625, "confidence": 0.75, "confident": 2}
    with refusal(UserError, "0", "1"):
        calibration("rm.final")(example_sitting(said, answer="4", rm__final=[0.5, 2.0, 0.1]))
    assert calibration("rm.final").needs == ("correct", "rm.final")


@pytest.mark.parametrize("by", ["all", "problem"])
def test_the_area_under_the_curve_is_scikit_learns(by):
    dice = np.random.default_rng(0)
    right, marks = dice.random((20, 8)) < 0.4, dice.integers(0, 5, (20, 8)) / 4  # many ties
    said = [["= 4" if each else "= 5" for each in tries] for tries in right]
    found = auroc("sure", by=by)(example_sitting(said, answer="4", sure=marks.ravel().tolist()))
    if by == "all":
        want = roc_auc_score(right.ravel(), marks.ravel())
    else:
        pairs = right.sum(1) * (8 - right.sum(1))
        areas = [roc_auc_score(y, s) if n else 0.0 for y, s, n in zip(right, marks, pairs, strict=True)]
        want = float(np.average(areas, weights=pairs))
    assert found["auroc"] == pytest.approx(want, abs=1e-12)
    assert found["auroc_right"] + found["auroc_wrong"] == 160 and found["auroc_right"] == right.sum()


def test_tries_without_a_score_or_a_verdict_are_in_no_pair():
    said = [["= 4", "= 5", "= 5", "= 4"]]
    scores = gd.reward(lambda completion: 0.5 if completion == "= 4" else None)
    found = auroc(scores, name="sure")(example_sitting(said, answer="4"))
    assert found == {"sure_right": 2, "sure_wrong": 0, "sure_unscored": 0.5}  # no pair, so no area
    sitting = example_sitting(said, answer="4", sure=[0.1, 0.2, 0.9, 0.3])
    blind = Column("track", torch.tensor([1.0, 0.0, math.nan, 1.0]), torch.tensor([0, 0, 2, 0], dtype=torch.int8))
    sitting = replace(sitting, batch=sitting.batch.with_cols({"correct": blind}))
    assert auroc("sure")(sitting) == {"auroc": 0.5, "auroc_right": 2, "auroc_wrong": 1, "auroc_unscored": 0.0}
    assert auroc("sure").needs == ("correct", "sure")
