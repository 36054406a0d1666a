"""Running, weighted and best-of-k baselines and gains along a tree, by hand and by enumeration."""

from __future__ import annotations

import itertools
import json
import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import episode, segment, task

from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.part import get_state, set_state
from guerdon.core.task import Ask
from guerdon.credit.baselines import cross_baseline, role_baseline, weighted_baseline
from guerdon.credit.group_relative import centre
from guerdon.credit.pass_at_k import best_of_k, best_with_and_without
from guerdon.credit.returns import reward_to_go
from guerdon.credit.tree import prefix_gain
from guerdon.credit.turns import turn_baseline

NAN = float("nan")


def rewarded(eps, rewards):
    value = torch.tensor([NAN if r is None else r for r in rewards])
    return pack(eps).with_cols(
        {"reward": Column("track", value, torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8))}
    )


def game(*rewards, family="f"):
    """Episodes of a game of two roles, each with its own reward."""
    ask = Ask(task(family=family))
    eps = [episode(segment([0]), segment([0], role="second"), ask=ask, attempt=i) for i in range(len(rewards))]
    return rewarded(eps, [r for pair in rewards for r in pair])


# --- role_baseline --------------------------------------------------------------------------------------------------


def test_each_role_has_its_own_running_mean():
    stage = role_baseline(decay=0.75)
    assert stage(game((1.0, -1.0), (3.0, -3.0)), ExamplePlay())["advantage"].tolist() == [1.0, -1.0, 3.0, -3.0]
    assert stage.mean == {"policy": 0.5, "second": -0.5}  # a quarter of the means 2 and -2
    assert stage(game((1.0, -1.0)), ExamplePlay())["advantage"].tolist() == [0.5, -0.5]


def test_the_baseline_knows_nothing_of_the_step_it_is_used_in():
    one, other = role_baseline(start=0.25), role_baseline(start=0.25)
    a = one(game((1.0, 0.0), (9.0, 0.0)), ExamplePlay())["advantage"]
    b = other(game((1.0, 0.0), (-9.0, 0.0)), ExamplePlay())["advantage"]
    assert a[0] == b[0] == 0.75


def test_failed_tracks_move_no_baseline():
    stage = role_baseline(decay=0.5)
    made = stage(game((None, -1.0), (4.0, None)), ExamplePlay()).cols["advantage"]
    assert stage.mean == {"policy": 2.0, "second": -0.5}
    assert made.reason.tolist() == [Reason.FAILED, 0, 0, Reason.FAILED]
    stage(game((None, -1.0)), ExamplePlay())
    assert stage.mean["policy"] == 2.0


def test_families_apart():
    stage = role_baseline(decay=0.5, by_family=True)
    stage(game((2.0, 0.0), family="kuhn"), ExamplePlay())
    stage(game((4.0, 0.0), family="nim"), ExamplePlay())
    assert stage.mean == {"kuhn/policy": 1.0, "kuhn/second": 0.0, "nim/policy": 2.0, "nim/second": 0.0}


def test_the_baselines_go_through_a_checkpoint():
    stage, fresh = role_baseline(), role_baseline()
    stage(game((1.0, -1.0)), ExamplePlay())
    set_state(fresh, json.loads(json.dumps(get_state(stage))))
    again = game((1.0, -1.0))
    assert torch.equal(stage(again, ExamplePlay())["advantage"], fresh(again, ExamplePlay())["advantage"])


# --- weighted_baseline ----------------------------------------------------------------------------------------------


def test_longer_tracks_weigh_more():
    eps = [episode(segment([0] * n), attempt=i) for i, n in enumerate([1, 3])]
    made = weighted_baseline()(rewarded(eps, [0.0, 4.0]), ExamplePlay())["advantage"]
    assert made.tolist() == [-3.0, 1.0, 1.0, 1.0]
    made = weighted_baseline(others=True)(rewarded(eps, [0.0, 4.0]), ExamplePlay())["advantage"]
    assert made.tolist() == [-4.0, 4.0, 4.0, 4.0]


def test_given_steps_weigh_nothing():
    eps = [episode(segment([0] * 9, given=8)), episode(segment([0] * 3), attempt=1)]
    assert weighted_baseline()(rewarded(eps, [0.0, 4.0]), ExamplePlay())["advantage"][0] == -3.0


def test_alone_failed_and_weightless():
    play = ExamplePlay()
    made = weighted_baseline()(example_tries([[5.0, None], [None], [1.0, 3.0]]), play).cols["advantage"]
    assert [v if v == v else None for v in made.value.tolist()] == [0.0, None, None, -1.0, 1.0]
    assert play.metrics["advantage/single_groups"] == 0.5
    batch = example_tries([[1.0, 3.0]], size=[0.0, 0.0])
    assert weighted_baseline(weights="size")(batch, ExamplePlay())["advantage"].tolist() == [0.0, 0.0]


def test_equal_weights_are_the_plain_mean():
    batch = example_tries(torch.rand(5, 4, generator=torch.Generator().manual_seed(1)).tolist(), steps=2)
    for others in (False, True):
        want = centre(std=False, others=others)(batch, ExamplePlay())["advantage"]
        assert torch.allclose(weighted_baseline(others=others)(batch, ExamplePlay())["advantage"], want, atol=1e-6)


def test_a_baseline_of_what_was_predicted_of_the_others():
    play, nan = ExamplePlay(), float("nan")
    predicted = [0.9, 0.2, 0.4, 0.5, 0.7, nan, 0.3]
    batch = example_tries(
        [[1.0, 0.0, None], [2.0], [1.0, 3.0], [4.0]], predicted=[x if x == x else 0.0 for x in predicted]
    )
    reason = torch.tensor([0] * 5 + [int(Reason.FAILED)] + [0], dtype=torch.int8)
    batch = batch.with_cols({"predicted": Column("track", torch.tensor(predicted), reason)})
    made = cross_baseline()(batch, play)["advantage"]
    want = torch.tensor([1 - 0.3, -0.65, nan, 0.0, 0.0, 3 - 0.7, 0.0])
    assert torch.allclose(made, want, equal_nan=True)
    assert play.metrics["advantage/no_baseline"] == 0.5  # two are alone, and one whose other has no number; of six
    own = cross_baseline(own=True)(batch, ExamplePlay())["advantage"]
    assert torch.allclose(own, torch.tensor([0.1, -0.2, nan, 1.5, 0.3, 0.0, 3.7]), equal_nan=True)


def test_no_baseline_has_less_variance_than_the_one_weighted_by_squared_norms():
    """One draw of three actions with score vectors of different length: scan constant baselines by brute force."""
    p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    score = torch.eye(3, dtype=torch.float64) - p  # gradient of log softmax
    reward = torch.tensor([1.0, 3.0, 0.0], dtype=torch.float64)
    norm = score.square().sum(1)

    def variance(b):
        g = score * (reward - b)[:, None]
        return float((p[:, None] * (g - (p[:, None] * g).sum(0)).square()).sum())

    best = float((p * norm * reward).sum() / (p * norm).sum())
    assert all(variance(best) <= variance(b) + 1e-12 for b in torch.linspace(-2, 4, 121, dtype=torch.float64))
    batch = example_tries(
        [[1.0] * 5 + [3.0] * 3 + [0.0] * 2], size=[float(norm[i]) for i in [0] * 5 + [1] * 3 + [2] * 2]
    )
    made = weighted_baseline(weights="size")(batch, ExamplePlay())["advantage"]
    assert made[0].item() == pytest.approx(1.0 - best, abs=1e-6)  # the group has exactly these shares


# --- best_of_k ------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, 1.0, -0.5, 3.25]), min_size=4, max_size=7), min_size=1, max_size=3),
    st.integers(1, 3),
)
def test_subsets_with_and_without_are_those_enumerated(groups, k):
    want_with, want_without = [], []
    for group in groups:
        for i in range(len(group)):
            subsets = list(itertools.combinations(range(len(group)), k))
            want_with.append(statistics.fmean(max(group[j] for j in s) for s in subsets if i in s))
            want_without.append(statistics.fmean(max(group[j] for j in s) for s in subsets if i not in s))
    x = torch.tensor([v for g in groups for v in g], dtype=torch.float64)
    index = torch.tensor([i for i, g in enumerate(groups) for _ in g])
    mixed = torch.randperm(len(x), generator=torch.Generator().manual_seed(k))
    found = best_with_and_without(x[mixed], index[mixed], k)
    for got, want in zip(found, (want_with, want_without), strict=True):
        assert torch.allclose(got, torch.tensor(want, dtype=torch.float64)[mixed], atol=1e-10)


def test_best_of_two_by_hand():
    # tries 1, 0, 0, 0: with the good one every pair has 1, without it none; with a bad one 1/3, without it 2/3
    play = ExamplePlay()
    made = best_of_k(k=2)(example_tries([[1.0, 0.0, 0.0, 0.0]]), play)["advantage"].tolist()
    assert made == pytest.approx([2.0, -2 / 3, -2 / 3, -2 / 3])
    assert play.metrics["advantage/best"] == pytest.approx(0.5)  # three of six pairs


def test_best_of_one_is_leave_one_out():
    batch = example_tries(torch.rand(6, 5, generator=torch.Generator().manual_seed(2)).tolist(), steps=2)
    want = centre(std=False, others=True)(batch, ExamplePlay())["advantage"]
    assert torch.allclose(best_of_k(k=1)(batch, ExamplePlay())["advantage"], want, atol=1e-6)


def test_large_groups_do_not_overflow():
    made = best_of_k(k=500)(example_tries([[1.0] * 10 + [0.0] * 1990]), ExamplePlay())["advantage"]
    assert torch.isfinite(made).all()
    missed = math.comb(1990, 500) / math.comb(2000, 500)
    assert float(made[0]) > 0 > float(made[-1])
    assert abs(float(made[0])) < 500 * missed * 2


def test_groups_that_are_too_small_get_zero_and_are_reported():
    play = ExamplePlay()
    made = best_of_k(k=2)(example_tries([[1.0, 0.0, None], [1.0, 0.0, 0.0]]), play).cols["advantage"]
    assert [v if v == v else None for v in made.value.tolist()] == [0.0, 0.0, None, 2.0, -1.0, -1.0]
    assert play.metrics["advantage/short_groups"] == 0.5
    assert made.reason.tolist() == [0, 0, Reason.FAILED, 0, 0, 0]


# --- prefix_gain ----------------------------------------------------------------------------------------------------


def five_nodes():
    parts = [segment([0]), segment([1], parent=0), segment([2], parent=0), segment([3], parent=1)]
    return [episode(*parts, segment([4], parent=1))]


def test_gains_along_a_tree_by_hand():
    # tracks end in segments 2, 3, 4 with 4, 0, 2: V(0) = 2, V(1) = 1, V(2) = 4
    batch = rewarded(five_nodes(), [4.0, 0.0, 2.0])
    made = prefix_gain()(batch, ExamplePlay())["advantage"]
    assert made.tolist() == [0.0, -1.0, 2.0, -1.0, 1.0]
    assert batch.up(made, "track").tolist() == [2.0, -2.0, 0.0]  # each reward less the mean of all


def test_gains_pass_failed_tracks_over():
    made = prefix_gain()(rewarded(five_nodes(), [4.0, None, 2.0]), ExamplePlay()).cols["advantage"]
    assert [v if v == v else None for v in made.value.tolist()] == [0.0, -1.0, 1.0, None, 0.0]
    assert made.reason.tolist() == [0, 0, 0, Reason.FAILED, 0]


def test_gains_of_single_tries_are_dr_grpo():
    batch = example_tries([[0.0, 3.0, 6.0], [1.0]], steps=2)
    assert torch.equal(
        prefix_gain()(batch, ExamplePlay())["advantage"], centre(std=False)(batch, ExamplePlay())["advantage"]
    )


# --- turn_baseline --------------------------------------------------------------------------------------------------


def talks():
    """Three tries of one, two and two turns; the second turn of the second try has two steps."""
    eps = [
        episode(segment([0])),
        episode(segment([0]), segment([0, 0], parent=0), attempt=1),
        episode(segment([0]), segment([0], parent=0), attempt=2),
    ]
    return pack(eps)


def test_a_try_that_is_over_has_nothing_more_to_come():
    batch = talks().with_cols({"process": Column.full("step", torch.tensor([1.0, 0.0, 2.0, 2.0, 1.0, 6.0]))})
    # returns by turn: 1; 4, 4; 7, 6. others' means: (4+7)/2; (1+7)/2, (0+6)/2; (1+4)/2, (0+4)/2
    made = turn_baseline()(reward_to_go("process", per="turn")(batch, ExamplePlay()), ExamplePlay())["advantage"]
    assert made.tolist() == [1 - 5.5, 4 - 4.0, 4 - 3.0, 4 - 3.0, 7 - 2.5, 6 - 2.0]


def test_a_try_with_a_missing_return_is_in_no_baseline():
    value = torch.tensor([1.0, NAN, 4.0, 4.0, 7.0, 6.0])
    column = Column("step", value, torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8))
    made = turn_baseline("return")(talks().with_cols({"return": column}), ExamplePlay()).cols["advantage"]
    # the second try: what it has left is compared with the two whole ones
    assert [v if v == v else None for v in made.value.tolist()] == [-6.0, None, 1.0, 1.0, 6.0, 6.0]
    assert made.reason.tolist() == [0, Reason.FAILED, 0, 0, 0, 0]


def test_the_only_try_of_a_task_gets_zero_at_every_turn():
    play = ExamplePlay()
    batch = example_tries([[2.0]], steps=2, returns=[5.0, 3.0])
    assert turn_baseline("returns", per="step")(batch, play)["advantage"].tolist() == [0.0, 0.0]
    assert play.metrics["advantage/single_groups"] == 1.0
