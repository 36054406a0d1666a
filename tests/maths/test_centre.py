"""Group-relative credit on groups done by hand."""

from __future__ import annotations

import math

import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column, Reason
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.credit.group_relative import centre
from guerdon.engine.player import Player

NAN = float("nan")


def play():
    return Player({}, {}, None, Sampling(), 0, 1)


def tries(groups):
    """An episode of two steps for every reward, one task a group; None is a failed score."""
    eps, value = [], []
    for number, group in enumerate(groups):
        for attempt, r in enumerate(group):
            eps.append(episode(segment([0, 1]), name=f"t{number}", number=number, attempt=attempt))
            value.append(NAN if r is None else r)
    value = torch.tensor(value)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(eps).with_cols({"reward": Column("track", value, reason)})


def advantages(batch, **knobs):
    made = centre(**knobs)(batch, play()).cols["advantage"]
    assert torch.equal(made.value[::2].nan_to_num(-9), made.value[1::2].nan_to_num(-9)), "equal along the track"
    return made.value[::2].tolist()


def test_a_group_by_hand():
    # mean 2, sample deviation sqrt((4 + 0 + 4) / 2) = 2
    assert advantages(tries([[0.0, 2.0, 4.0]]), eps=0.0) == pytest.approx([-1.0, 0.0, 1.0])
    assert advantages(tries([[0.0, 2.0, 4.0]]), eps=0.5) == pytest.approx([-0.8, 0.0, 0.8])
    assert advantages(tries([[0.0, 2.0, 4.0]]), std=False) == [-2.0, 0.0, 2.0]


def test_groups_do_not_see_each_other():
    found = advantages(tries([[0.0, 1.0], [10.0, 14.0]]), std=False)
    assert found == [-0.5, 0.5, -2.0, 2.0]


def test_an_all_equal_group_teaches_nothing():
    batch, run = tries([[0.3, 0.3, 0.3], [0.0, 1.0]]), play()
    made = centre()(batch, run)["advantage"]
    assert made[:6].tolist() == [0.0] * 6
    assert run.metrics["advantage/flat_groups"] == 0.5


def test_the_only_valued_try_of_a_group_gets_zero():
    assert advantages(tries([[None, 5.0, None]]))[1] == 0.0
    assert advantages(tries([[7.0]])) == [0.0]


def test_a_failed_try_is_in_no_mean_and_says_why():
    batch = tries([[0.0, None, 1.0]])
    found = advantages(batch, std=False)
    assert [found[0], found[2]] == [-0.5, 0.5]
    assert math.isnan(found[1])
    assert centre()(batch, play()).cols["advantage"].reason[2:4].tolist() == [Reason.FAILED, Reason.FAILED]


def test_a_group_without_any_value_has_no_advantage():
    batch, run = tries([[None, None]]), play()
    made = centre()(batch, run).cols["advantage"]
    assert made.missing.all()
    assert run.metrics["advantage/flat_groups"] == 0.0


def test_an_all_equal_group_without_eps_teaches_nothing():
    assert advantages(tries([[1.0, 1.0]]), eps=0.0) == [0.0, 0.0]


def rewarded(eps, rewards):
    batch = pack(eps)
    return batch.with_cols({"reward": Column.full("track", torch.tensor(rewards))})


def test_by_task_joins_asks_and_by_ask_does_not():
    eps = [episode(segment([0]), name="same", number=i // 2, attempt=i % 2) for i in range(4)]
    batch = rewarded(eps, [0.0, 1.0, 2.0, 5.0])
    assert centre(by="task", std=False)(batch, play())["advantage"].tolist() == [-2.0, -1.0, 0.0, 3.0]
    assert centre(by="ask", std=False)(batch, play())["advantage"].tolist() == [-0.5, 0.5, -1.5, 1.5]


def test_roles_are_compared_apart():
    eps = [episode(segment([0]), segment([1], role="second"), attempt=i) for i in range(2)]
    batch = rewarded(eps, [1.0, 10.0, 3.0, 30.0])
    assert centre(std=False)(batch, play())["advantage"].tolist() == [-1.0, -10.0, 1.0, 10.0]


def test_the_trunk_of_a_tree_gets_the_mean_of_its_branches():
    eps = [episode(segment([0]), segment([1], parent=0), segment([2], parent=0), segment([3], parent=0))]
    batch = rewarded(eps, [0.0, 3.0, 9.0])
    assert centre(by="episode", std=False)(batch, play())["advantage"].tolist() == [0.0, -4.0, -1.0, 5.0]


def test_names_of_columns_are_knobs():
    stage = centre("correct", gives_to="credit")
    assert (stage.needs, stage.gives) == (("correct",), ("credit",))
