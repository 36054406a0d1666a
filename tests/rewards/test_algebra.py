"""The algebra of rewards: numbers by hand, laws by property, and what is missing."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tolerances import rounding

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.schedule import linear
from guerdon.rewards.asking.function import reward
from guerdon.rewards.formula.algebra import blend, bonus, bounded, cascade, flipped, least, most, normalised
from guerdon.rewards.formula.per_step import delta, min_form, overall, potential, shortfall
from guerdon.rewards.formula.reward import clip, gate, product, veto, weighted
from guerdon.rewards.formula.scores import Outcome, Scores, Where
from guerdon.rewards.stage.scorer import work_out

VALUE, ABSENT, FAILED, LATE = Reason.VALUE, Reason.NOT_APPLICABLE, Reason.FAILED, Reason.TIMED_OUT


def leaf(name):
    def function(completion):
        raise AssertionError("asked")

    function.__name__ = name
    return reward(function)


A, B, C = leaf("a"), leaf("b"), leaf("c")


def scores(*outcomes):
    """Numbers, None for not applicable, a Reason, or a list of steps."""
    made = []
    for o in outcomes:
        if isinstance(o, Reason):
            made.append(Outcome(o))
        elif o is None:
            made.append(Outcome(ABSENT))
        elif isinstance(o, list):
            made.append(Outcome(VALUE, math.fsum(o), steps=tuple(o)))
        else:
            made.append(Outcome(VALUE, float(o)))
    return Scores.of(made)


def value(formula, where=None, **leaves):
    known = {id(r): s for r, s in ((A, leaves.get("a")), (B, leaves.get("b")), (C, leaves.get("c"))) if s is not None}
    size = len(next(iter(known.values())))
    return work_out(formula, known, where or Where(torch.zeros(size, dtype=torch.long))).whole


def plain(found):
    return [Reason(int(r)) if r else v for v, r in zip(found.value.tolist(), found.reason.tolist(), strict=True)]


def test_a_weighted_sum_by_hand():
    found = value(blend(a=A, b=B.weight(0.5)), a=scores(1, 2, 3), b=scores(4, -4, 0))
    assert plain(found) == [3.0, 0.0, 3.0]
    assert plain(value(A + 0.5 * B - C, a=scores(1), b=scores(4), c=scores(10))) == [-7.0]
    assert plain(value(A * B, a=scores(3), b=scores(-2))) == [-6.0]
    assert plain(value(least(A, B), a=scores(3), b=scores(-2))) == [-2.0]
    assert plain(value(most(A, B), a=scores(3), b=scores(-2))) == [3.0]
    assert plain(value(A.clip(0, 1), a=scores(3, -2, 0.5))) == [1.0, 0.0, 0.5]


MISSING = [
    # a, b, what a sum, a product and a minimum are
    (FAILED, 1, FAILED, FAILED, FAILED),
    (LATE, 1, LATE, LATE, LATE),
    (LATE, FAILED, LATE, LATE, LATE),
    (None, 5, 5.0, 5.0, 5.0),
    (None, FAILED, FAILED, FAILED, FAILED),
    (None, None, ABSENT, ABSENT, ABSENT),
]


@pytest.mark.parametrize(("a", "b", "total", "times", "smallest"), MISSING)
def test_what_is_missing_is_defined(a, b, total, times, smallest):
    given_ = {"a": scores(a), "b": scores(b)}
    for formula, want in ((blend(a=A, b=B), total), (A * B, times), (least(A, B), smallest)):
        assert plain(value(formula, **given_)) == [want]


def test_a_term_of_weight_zero_may_break():
    assert plain(value(blend(a=A, b=B.weight(0.0)), a=scores(2, 2), b=scores(FAILED, LATE))) == [2.0, 2.0]


def test_a_term_left_out_keeps_or_shares_its_weight():
    leaves = {"a": scores(1, 1), "b": scores(None, 3), "c": scores(4, 4)}
    assert plain(value(blend(a=A, b=B, c=C), **leaves)) == [5.0, 8.0]
    assert plain(value(blend(a=A, b=B, c=C, renormalise=True), **leaves)) == pytest.approx([5.0 * 3 / 2, 8.0])


def test_weights_follow_schedules():
    formula = blend(a=A.weight(linear(1.0, 0.0)), b=B)
    seen = [
        plain(value(formula, Where(torch.zeros(1, dtype=torch.long), step, 5), a=scores(8), b=scores(1)))
        for step in (0, 2, 4)
    ]
    assert seen == [[9.0], [5.0], [1.0]]


def test_gates_and_vetoes():
    leaves = {"a": scores(7, 7, 7, 7, FAILED), "b": scores(1, 0, None, FAILED, 0)}
    assert plain(value(gate(A, B), **leaves)) == [7.0, 0.0, 7.0, FAILED, 0.0]
    assert plain(value(A.gated_by(B, 1.5), **leaves)) == [0.0, 0.0, 7.0, FAILED, 0.0]
    assert plain(value(veto(A, B, value_then=-1.0), **leaves)) == [-1.0, 7.0, 7.0, FAILED, FAILED]
    assert plain(value(bonus(A, B, least=5, more=2), **leaves)) == [9.0, 7.0, 7.0, FAILED, FAILED]
    assert plain(value(bounded(A, B, delta=0.5), **leaves)) == [1.5, 0.5, 7.0, FAILED, FAILED]


def test_a_bonus_is_not_asked_about_where_the_base_was_not_earned():
    assert plain(value(bonus(A, B), a=scores(0, 1), b=scores(FAILED, FAILED))) == [0.0, FAILED]


def test_a_cascade_counts_while_the_ladder_holds():
    leaves = {"a": scores(1, 0, 1, 1, None, FAILED), "b": scores(1, 1, 0, FAILED, 1, 1), "c": scores(5, 5, 5, 5, 5, 5)}
    found = value(cascade([A, B, C]), **leaves)
    assert plain(found) == [7.0, 0.0, 1.0, FAILED, 6.0, FAILED]


def test_normalised_within_groups_and_over_the_step():
    where = Where(torch.tensor([0, 0, 1, 1, 2]))
    leaves = {"a": scores(1, 3, 5, 5, 9)}
    found = plain(value(normalised(A, eps=0.0), where, **leaves))
    assert found == pytest.approx([-1 / math.sqrt(2), 1 / math.sqrt(2), 0, 0, 0])
    assert plain(value(normalised(A, scale=False), where, **leaves)) == [-1.0, 1.0, 0.0, 0.0, 0.0]
    whole = torch.tensor([1.0, 3, 5, 5, 9], dtype=torch.float64)
    over = plain(value(normalised(A, over="step", eps=0.0), where, **leaves))
    assert over == pytest.approx(((whole - whole.mean()) / whole.std()).tolist())
    assert plain(value(normalised(A), where, a=scores(1, None, FAILED, 5, 9))) == [0.0, ABSENT, FAILED, 0.0, 0.0]


def test_planted_noise_flips_tries_or_whole_groups():
    everyone, group = [1.0, 0.25, None] * 400, torch.arange(1200) // 4
    where = Where(group, step=3)
    assert plain(value(flipped(A, 0.0), where, a=scores(*everyone)))[:3] == [1.0, 0.25, ABSENT]
    assert plain(value(flipped(A, 1.0, by="group"), where, a=scores(*everyone)))[:3] == [0.0, 0.75, ABSENT]
    turned = {by: value(flipped(A, 0.3, by=by), where, a=scores(*[1.0] * 1200)).value == 0 for by in ("try", "group")}
    assert all(abs(float(each.double().mean()) - 0.3) < 0.06 for each in turned.values())
    within = {by: {float(each[group == g].double().mean()) for g in range(300)} for by, each in turned.items()}
    assert within["group"] == {0.0, 1.0} and len(within["try"]) > 3
    again = [value(flipped(A, 0.3), at, a=scores(*[1.0] * 1200)).value == 0 for at in (where, Where(group, step=4))]
    assert torch.equal(again[0], turned["try"]) and not torch.equal(again[1], turned["try"])


def test_steps_add_up_and_the_rest_counts_at_the_last():
    found = value(blend(a=A, b=B.weight(2.0), c=C), a=scores([1, 2, 3]), b=scores([1, 0, 0]), c=scores(10))
    assert found.steps[0].tolist() == [3.0, 2.0, 13.0] and plain(found) == [18.0]


def test_rewards_along_steps_by_hand():
    steps = {"a": scores([0.5, 2.0, 0.9])}
    assert value(shortfall(A, 1.0), **steps).steps[0].tolist() == pytest.approx([-0.5, 0.0, -0.1])
    assert value(delta(A), **steps).steps[0].tolist() == pytest.approx(
        [-1.5, 2.0, 0.0]
    )  # 0.5 - 2, 2, nothing at the last
    assert value(delta(shortfall(A, 1.0)), **steps).steps[0].tolist() == pytest.approx([-0.5, 0.0, 0.0])
    assert plain(value(delta(A), **steps)) == pytest.approx([0.5])
    assert [value(delta(A), a=scores(few)).steps[0].tolist() for few in ([0.7], [0.7, 0.2])] == [[0.0], [0.7, 0.0]]
    weights = [math.exp(-x) for x in (0.5, 2.0, 0.9)]
    by_hand = [w / sum(weights) * x for w, x in zip(weights, (0.5, 2.0, 0.9), strict=True)]
    assert value(min_form(A, temperature=1.0), **steps).steps[0].tolist() == pytest.approx(by_hand)
    assert value(potential(A), **steps).steps[0].tolist() == pytest.approx([0.5, 1.5, -2.0])
    assert value(potential(A, gamma=0.5), **steps).steps[0].tolist() == pytest.approx([0.25, 0.5, -2.0])
    assert plain(value(potential(A), **steps)) == pytest.approx([0.0])
    assert [plain(value(overall(A, how), **steps))[0] for how in ("min", "last", "mean", "sum", "product")] == (
        pytest.approx([0.5, 0.9, 3.4 / 3, 3.4, 0.9])
    )


def test_formulas_read_like_formulas():
    assert str(blend(a=A, b=B.weight(0.1))) == "a + 0.1 * b"
    assert str(A + B * 0.5 - C) == "a + 0.5 * b - 1 * c"
    assert str((A + B) * C) == "(a + b) * c"
    assert str(A.gated_by(B)) == "(a if b >= 0.5)"
    assert str(normalised(A.clip(-1, 1))) == "normalised(clip(a, -1, 1))"
    assert str(A.weight(linear(1.0, 0.0))) == f"{linear(1.0, 0.0)} * a"


def test_explain_shows_every_contribution():
    right = reward(lambda completion, answer: float(completion == answer))
    brief = reward(lambda completion: None if not completion else -len(completion))
    said = blend(right=right, brief=brief.weight(0.1)).explain(completion="42", answer="42")
    assert said.splitlines() == ["blend: 0.8   = <lambda> + 0.1 * <lambda>", "  right: 1", "  brief: -2"]
    assert "not applicable" in blend(right=right, brief=brief).explain(completion="", answer="")


def test_nonsense_is_refused():
    for bad, words in (
        (lambda: blend(), "at least one"),
        (lambda: clip(A, 2, 1), "lower one"),
        (lambda: blend(a=3), "function"),
    ):
        with pytest.raises(UserError, match=words):
            bad()


# --- laws ------------------------------------------------------------------------------------------------------------

one = st.one_of(st.floats(-100, 100), st.none(), st.sampled_from([FAILED, LATE]))
rows = st.lists(st.tuples(one, one, one), min_size=1, max_size=6)
weights = st.floats(-3, 3)


def same(x, y):
    assert torch.equal(x.reason, y.reason)
    torch.testing.assert_close(x.value, y.value, equal_nan=True, rtol=1e-9, atol=1e-9)


def columns(table):
    return {name: scores(*column) for name, column in zip("abc", zip(*table, strict=True), strict=True)}


@given(rows, weights, weights)
def test_sums_commute_associate_and_distribute(table, v, w):
    leaves = columns(table)
    same(value(A + B + C, **leaves), value(C + (B + A), **leaves))
    same(value(blend(a=A.weight(v), b=B.weight(w)), **leaves), value(A * v + B * w, **leaves))
    if w:
        same(value(weighted(A + B, w), **leaves), value(A.weight(w) + B.weight(w), **leaves))


@given(rows)
def test_products_and_extremes_do_not_mind_the_order(table):
    leaves = columns(table)
    for make in (lambda *p: product(list(p)), least, most):
        same(value(make(A, B, C), **leaves), value(make(C, A, B), **leaves))


@given(rows)
def test_nothing_broken_ever_becomes_a_number(table):
    leaves = columns(table)
    for formula in (A + B + C, product([A, B, C]), least(A, B, C), normalised(A + B + C), (A + B + C).clip(-1, 1)):
        found = value(formula, **leaves)
        broken = torch.stack([s.broken for s in leaves.values()]).any(0)
        assert torch.equal(found.broken, broken)
        assert torch.equal(torch.isnan(found.value), ~found.valued)
        absent = torch.stack([s.reason == ABSENT for s in leaves.values()]).all(0)
        assert torch.equal(found.reason == ABSENT, absent)


@given(rows)
def test_an_open_gate_and_a_veto_that_never_strikes_change_nothing(table):
    leaves = columns(table)
    same(value(gate(A, B, least=-1e9), **leaves), value(veto(A, B, least=1e9), **leaves))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(-5, 5), st.floats(0, 1))
def test_delta_telescopes_clip_stays_below_and_potentials_vanish(steps, eta, gamma):
    leaves = {"a": scores(steps)}
    shaped = value(potential(A, gamma), **leaves).steps[0].tolist()
    assert sum(gamma**t * f for t, f in enumerate(shaped)) == pytest.approx(0.0, abs=1e-9)
    rest = value(delta(A), **leaves).steps[0].flip(0).cumsum(0).flip(0).tolist()  # from each step on
    assert rest == pytest.approx([*steps[:-1], 0.0], abs=1e-9)
    assert plain(value(shortfall(A, eta), **leaves))[0] <= 0.0, "a sum of numbers at most 0 rounds to one at most 0"
    both = value(delta(shortfall(A, eta)), **leaves)
    assert plain(both)[0] <= rounding(len(steps), scale=float(both.steps[0].abs().sum()), dtype=torch.float64)
    assert plain(value(min_form(A, 1e-3), **leaves))[0] == pytest.approx(min(steps), abs=1e-2)
    assert plain(value(potential(A), **leaves))[0] == pytest.approx(0.0, abs=1e-9)


@given(rows)
def test_order_of_samples_does_not_matter(table):
    for formula in (blend(a=A, b=B.weight(0.3)), normalised(A), cascade([A, B, C])):
        there, back = value(formula, **columns(table)), value(formula, **columns(table[::-1]))
        assert torch.equal(there.reason, back.reason.flip(0))
        torch.testing.assert_close(there.value, back.value.flip(0), equal_nan=True)
