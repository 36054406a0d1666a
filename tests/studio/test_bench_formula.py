"""Formulas as trees: their weights changed over the same leaves, and written as Python that makes them again."""

from __future__ import annotations

import pytest

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.studio.bench.formula_tree import as_python, reweighted, tree_of, weights_of


@gd.reward(isolate=False)
def right(completion: str, answer: str) -> float:
    """Whether it is the answer."""
    return float(completion == answer)


@gd.reward(isolate=False)
def brief(completion: str) -> float:
    return -len(completion) / 10


SUM = gd.blend(right=right, brief=brief.weight(0.5))
NESTED = gd.blend(shaped=gd.blend(a=right, b=brief.weight(2.0)).clip(-1.0, 1.0).weight(0.25), right=right)
FORMULAS = [
    SUM,
    NESTED,
    right + 0.1 * brief,
    right - brief,
    3 * right,
    right * brief,
    gd.least(right, gd.most(brief, 2 * right)),
    right.gated_by(brief, -0.5),
    right.vetoed_by(brief, least=-0.1, value=-1.0),
    gd.normalised(SUM, scale=False),
    gd.bonus(right, brief, more=0.5),
    gd.blend(renormalise=True, **{"two words": right, "b": brief.weight(gd.linear(0.0, 1.0))}),
    gd.blend(right=right, short=gd.length(256, margin=64).weight(0.1)),
]


def test_a_tree_names_every_part_and_its_weight() -> None:
    tree = tree_of(NESTED)
    shaped, own = tree["parts"]
    assert (shaped["path"], shaped["weight"], shaped["kind"], shaped["weight_key"]) == (
        "shaped",
        0.25,
        "clip",
        "shaped",
    )
    (inner,) = shaped["parts"]
    assert [part["path"] for part in inner["parts"]] == ["shaped/blend/a", "shaped/blend/b"]
    assert own["doc"] == "Whether it is the answer." and [w["name"] for w in own["wants"]] == ["completion", "answer"]
    assert weights_of(NESTED) == {"shaped": 0.25, "shaped/blend/a": 1.0, "shaped/blend/b": 2.0, "right": 1.0}
    assert weights_of(3 * right) == {"*": 3} and weights_of(right) == {} and weights_of(right * brief) == {}
    schedule = tree_of(FORMULAS[11])["parts"][1]
    assert schedule["weight"] is None and "linear" in schedule["schedule"] and schedule["weight_key"] == "b"


@pytest.mark.sampled(5, "formula")
@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_the_same_weights_give_the_same_formula_over_the_same_leaves(formula: gd.Reward) -> None:
    numbers = {key: by for key, by in weights_of(formula).items() if by is not None}
    again = reweighted(formula, numbers)
    assert str(again) == str(formula) and again.version == formula.version
    assert [id(leaf) for leaf in again.leaves] == [id(leaf) for leaf in formula.leaves]


def test_other_weights_by_hand() -> None:
    samples = [{"completion": "42", "answer": "42"}, {"completion": "4", "answer": "42"}]
    changed = reweighted(SUM, {"right": 2.0, "brief": 0.0})
    assert gd.score_samples(changed, samples).whole == [2.0, 0.0] and str(changed) == "2 * right + 0 * brief"
    assert gd.score_samples(SUM, samples).whole == pytest.approx([0.9, -0.05]), "the first is as it was"
    deep = reweighted(NESTED, {"shaped/blend/b": 0.0, "shaped": 1.0})
    assert gd.score_samples(deep, samples).whole == [2.0, 0.0]
    assert gd.score_samples(reweighted(3 * right, {"*": -1.0}), samples).whole == [-1.0, 0.0]
    for weights, says in (({"wrong": 1.0}, "unknown weight 'wrong'"), ({"right": float("nan")}, "is a number")):
        with pytest.raises(UserError, match=says):
            reweighted(SUM, weights)


@pytest.mark.sampled(5, "formula")
@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_python_makes_the_formula_again(formula: gd.Reward) -> None:
    text = as_python(formula, {})
    made = eval(text, {"gd": gd, "right": right, "brief": brief})
    assert str(made) == str(formula) and made.version == formula.version, text


def test_python_is_what_a_person_would_write() -> None:
    assert as_python(reweighted(SUM, {"brief": 0.02}), {}) == "gd.blend(right=right, brief=brief.weight(0.02))"
    assert as_python(SUM, {id(brief): "short"}) == "gd.blend(right=right, brief=short.weight(0.5))"
    assert as_python(right.clip(0.0, 1.0), {}) == "gd.clip(right, low=0.0, high=1.0)"
    assert as_python(gd.reward(lambda completion: 1.0), {}) == "MY_REWARD"
