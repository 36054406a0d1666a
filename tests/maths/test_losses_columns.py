"""Bounds and weights that a column has for each row, on numbers done by hand."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.losses.imitation import sft, weighed
from guerdon.losses.pair import dpo
from guerdon.losses.penalties import entropy, kl
from guerdon.losses.policy import clipped, reweighted
from guerdon.losses.reward_modelling import outcome


def batch(**cols):
    """Two tries, of two turns of one step and of one turn of two, sampled with log-prob -1; columns by their length."""
    eps = [episode(segment([0]), segment([0], parent=0)), episode(segment([0, 0]), attempt=1)]
    made = pack(eps)
    level = {4: "step", 3: "segment", 2: "track"}
    return made.with_cols({n: Column.full(level[len(x)], torch.tensor(x)) for n, x in cols.items()})


def live(*ratios):
    return {"logp": torch.tensor(ratios).log() - 1, "entropy": torch.zeros(len(ratios))}


def value(loss, made, *ratios):
    return round(float(loss(made, live(*ratios))[0]), 5)


ALL = (2.0, 2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("bound", "total"),
    [
        ([0.1, 0.2, 0.3, 5.0], 1.1 + 1.2 + 1.3 + 2.0),
        ([0.1, 0.2, 0.3], 1.1 + 1.2 + 1.3 + 1.3),
        ([0.1, 0.5], 1.1 + 1.1 + 1.5 + 1.5),
    ],
)
def test_an_upper_bound_for_each_step_segment_or_track(bound, total):
    made = batch(advantage=[1.0] * 4, bound=bound)
    assert value(clipped(high="bound", mean="step"), made, *ALL) == round(-total / 4, 5)
    assert clipped(high="bound").needs == ("advantage", "bound")
    pulled = {**live(*ALL), "logp": live(*ALL)["logp"].requires_grad_()}
    reweighted(high="bound")(made, pulled)[0].backward()
    assert pulled["logp"].grad.sum() == pytest.approx(-total / 4)


def test_a_lower_bound_and_a_number_beside_it():
    made = batch(advantage=[-1.0, -1.0, -1.0, 1.0], bound=[0.9, 0.1])
    # 0.5 is above 0.1, below 0.9; where the advantage is positive a small ratio is not stopped
    assert value(clipped(low="bound", high=0.2, mean="step"), made, 0.5, 0.5, 0.5, 0.5) == round(
        (0.5 + 0.5 + 0.9 - 0.5) / 4, 5
    )


@pytest.mark.parametrize(
    ("mean", "want"),
    [
        ("step", (1 * 1 + 2 * 2 + 3 * 3 + 4 * 4) / 4),
        ("track", ((1 * 1 + 2 * 2) / 2 + (3 * 3 + 4 * 4) / 2) / 2),
        ("constant", (1 * 1 + 2 * 2 + 3 * 3 + 4 * 4) / 2 / 5),
    ],
)
def test_rows_count_by_a_column_over_the_denominators_of_all(mean, want):
    made = batch(care=[1.0, 2.0, 3.0, 4.0])
    read = {"logp": -torch.tensor([1.0, 2.0, 3.0, 4.0])}
    loss = sft(mean=mean, constant=5.0)
    assert float(weighed(loss, by="care")(made, read)[0]) == pytest.approx(want)
    even = batch(care=[1.0] * 4)
    assert weighed(loss, by="care")(even, read)[0] == loss(even, read)[0]


def test_turns_and_tracks_count():
    read = {"logp": -torch.ones(4)}
    assert float(weighed(sft(), by="care")(batch(care=[1.0, 2.0, 3.0]), read)[0]) == (1 + 2 + 3 + 3) / 4
    assert float(weighed(sft(), by="care")(batch(care=[1.0, 5.0]), read)[0]) == (1 + 1 + 5 + 5) / 4
    assert (
        float(weighed(outcome("y"), by="care")(batch(care=[1.0, 5.0], y=[0.0, 2.0]), {"final": torch.ones(2)})[0])
        == 3.0
    )


def test_only_what_is_inside_is_weighed_and_nothing_that_is_noted():
    made = batch(advantage=[1.0] * 4, care=[0.0, 0.0, 3.0, 0.0])
    made = made.with_cols({"reference.logp": Column.full("step", torch.full((4,), -2.0))})
    plain, noted = (clipped(mean="step") + kl(0.1))(made, live(*ALL))
    both, inside = (weighed(clipped(mean="step"), by="care") + kl(0.1))(made, live(*ALL))
    alone = clipped(mean="step")(made, live(*ALL))[0]
    assert float(both) == pytest.approx(float(plain - alone) + 3 * -1.2 / 4)
    assert {n: float(x) for n, x in inside.items()} == {n: float(x) for n, x in noted.items()}


def test_tracks_that_do_not_count_are_not_read():
    made = batch(advantage=[1.0, 1.0, 1.0, 0.0], care=[0.0, 0.0, 2.0, 0.0], other=[1.0, 0.0])
    assert weighed(clipped(), by="care").silent(made).tolist() == [True, False]
    assert weighed(entropy(), by="other").silent(made).tolist() == [False, True]
    assert weighed(clipped(), by="other").needs == ("advantage", "other")


def test_what_cannot_be_weighed_is_refused():
    with refusal(UserError):
        weighed(dpo(), by="care")
    with pytest.raises(UserError, match="weighed inside weighed"):
        weighed(weighed(sft(), by="a"), by="b")
    with refusal(UserError):
        weighed(outcome("y"), by="care")(batch(care=[1.0] * 4, y=[0.0, 2.0]), {"final": torch.ones(2)})


@pytest.mark.parametrize("bad", [-0.1, 1.5])
def test_bounds_that_are_numbers_are_still_held_to_their_limits(bad):
    with pytest.raises(UserError, match=r"clipped\.low must be"):
        clipped(low=bad)
