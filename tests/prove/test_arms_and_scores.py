"""Arms of a claim, the size of its exams, and scores and curves of runs, by hand."""

from __future__ import annotations

import pytest

from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim
from guerdon.prove.arms import arms_of, make_arm
from guerdon.prove.proving import OPTIONS, How
from guerdon.prove.records import mean_curve, score_of, value_of


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("grpo kl", "KNOB=VALUE"),
        ("grop", "did you mean 'grpo'"),
        ("grpo lrr=1", "did you mean 'lr'"),
        ("grpo lr=x", "must be"),
    ],
)
def test_arms_that_cannot_be(words, says):
    with pytest.raises(UserError, match=says):
        make_arm(words, Claim("x", task="successor:1", model="tabular"), OPTIONS).build()


def test_arms_have_the_claims_settings_and_their_own():
    claim = Claim(
        "x", baseline="grpo lr=0.5", ablation="rloo", task="successor:1", model="tabular", settings="tries=4 lr=0.1"
    )
    arms = arms_of("dr_grpo", claim, OPTIONS)
    assert {n: (a.what, a.request.settings["lr"], a.request.settings["tries"]) for n, a in arms.items()} == {
        "method": ("dr_grpo", "0.1", "4"),
        "baseline": ("grpo lr=0.5", "0.5", "4"),
        "ablation": ("rloo", "0.1", "4"),
    }
    assert arms["method"].key(0) != arms["method"].key(1) != arms["ablation"].key(1)
    assert make_arm("grpo lr=0.5", claim, OPTIONS).key(3) == arms["baseline"].key(3)


@pytest.mark.parametrize(
    ("metric", "names"),
    [
        ("pass@1", ["method", "baseline", "plain"]),
        ("mean pass@1", ["method", "baseline", "plain"]),
        ("length", ["method", "baseline"]),
    ],
)
def test_plain_grpo_stands_beside_claims_about_accuracy_alone(metric, names):
    claim = Claim("x", baseline="rloo", task="functions:8", model="sprig-2", metric=metric)
    assert list(arms_of("verpo", claim, OPTIONS)) == names, "an exam of GRPO need not have what others are about"


def test_a_claim_says_how_large_its_exams_are() -> None:
    usual, small = Claim("x"), Claim("x", exam=500)
    assert (How().options(usual).eval_whole, How().options(usual).eval_tasks) == (2000, 384)
    assert (How().options(small).eval_whole, How().options(small).eval_tasks) == (500, 96)
    assert How(quick=True).options(small) == How(quick=True).options(usual)
    assert "exam" not in usual.told() and small.told()["exam"] == 500, "claims of before are what they were"


def test_scores_by_hand():
    points = [
        {"spent": {"tokens": tokens}, "result": {"pass@1": value, "point": point}}
        for tokens, value, point in ((0, 0.2, "start"), (10, 0.4, "0.5"), (30, 0.6, "late"), (40, 0.8, "last"))
    ]
    record = {"points": points}
    assert score_of(record, Claim("x")) == pytest.approx(0.7)  # of the last two whole exams
    assert score_of(record, Claim("x", metric="mean pass@1")) == pytest.approx((10 * 0.3 + 20 * 0.5 + 10 * 0.7) / 40)
    kinds = {"chain:1": 1.0, "chain:5": 0.5, "other:6": 0.1}
    assert value_of({"pass@1": 0.7, "kinds": kinds}, "pass@1", ()) == 0.7
    assert value_of({"pass@1": 0.7, "kinds": kinds}, "pass@1", (5, 6)) == pytest.approx(0.3)
    with pytest.raises(UserError, match="unknown metric"):
        value_of({"pass@1": 0.7}, "pas@1", ())
    with pytest.raises(UserError, match="levels"):
        value_of({"pass@1": 0.7}, "pass@1", (5,))


def test_curves_of_seeds_meet_at_equal_amounts():
    averaged = mean_curve(
        [
            [{"spent": 0, "value": 0.0}, {"spent": 10, "value": 1.0}, {"spent": 20, "value": 1.0}],
            [{"spent": 0, "value": 0.0}, {"spent": 12, "value": 0.6}, {"spent": 18, "value": 0.9}],
        ]
    )
    assert [p["spent"] for p in averaged] == [0, 9, 18]
    assert averaged[1]["mean"] == pytest.approx((0.9 + 0.45) / 2)
    assert averaged[2]["mean"] == pytest.approx((1.0 + 0.9) / 2)
