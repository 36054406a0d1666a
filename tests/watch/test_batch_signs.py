"""Signs of a batch, on tries that can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import guerdon as gd
from guerdon.core.column import Column
from guerdon.watch.batch_signs import batch_signs, repeated_share, twins


def tries(groups: list[list[list[int]]], **columns: list[float]) -> gd.Batch:
    """A batch of tries by their actions, group by group, with columns of tracks."""
    episodes = []
    for g, group in enumerate(groups):
        ask = gd.Ask(gd.Task(str(g), f"problem {g}", "4"), n=len(group))
        for i, actions in enumerate(group):
            turn = gd.Segment(
                "policy", "?", [1], actions, np.full(len(actions), -0.5), text=" ".join(map(str, actions))
            )
            episodes.append(gd.Episode(ask, (turn,), number=g, attempt=i))
    batch = gd.pack(episodes)
    made = {name: _column(values) for name, values in columns.items()}
    return batch.with_cols({name.replace("__", "."): column for name, column in made.items()})


def _column(values: list[float]) -> Column:
    value = torch.tensor(values)
    return Column("track", value, torch.isnan(value).to(torch.int8) * 2)  # 2: failed


def test_repeated_n_grams_by_hand():
    once, loop, short = [*range(12)], [1, 2, 3] * 4, [1, 1, 1]
    # twelve actions are nine 4-grams: 123123123123 has three that differ (1231, 2312, 3123)
    assert repeated_share(tries([[once, loop, short]])).tolist()[:2] == pytest.approx([0.0, 1 - 3 / 9])
    assert math.isnan(float(repeated_share(tries([[once, loop, short]]))[2]))


def test_the_same_words_in_two_tries_are_no_repetition():
    assert repeated_share(tries([[[*range(12)], [*range(12)]]])).tolist() == [0.0, 0.0]


def test_n_grams_by_another_way():
    dice = np.random.default_rng(0)
    group = [dice.integers(0, 3, size=n).tolist() for n in (11, 20, 47)]
    expected = [1 - len({tuple(a[i : i + 4]) for i in range(len(a) - 3)}) / (len(a) - 3) for a in group]
    assert repeated_share(tries([group])).tolist() == pytest.approx(expected)


def test_twins_are_of_one_group():
    a, b = [*range(12)], [*range(1, 13)]
    batch = tries([[a, a, b], [a, b, b]])
    assert twins(batch).tolist() == [2, 2, 1, 1, 2, 2]
    assert batch_signs(batch)["watch/identical"] == pytest.approx(4 / 6)


def test_tries_that_differ_in_length_alone_are_no_twins():
    assert twins(tries([[[5] * 12, [5] * 13, []]])).tolist() == [1, 1, 1]


def test_agreement_is_inside_groups():
    # between the groups reward and truth go together; inside them they are opposed
    one = [[1], [2]]
    batch = tries([one, one], reward=[1.0, 0.0, 11.0, 10.0], truth=[0.0, 1.0, 10.0, 11.0])
    assert batch_signs(batch)["watch/agreement"] == pytest.approx(-1.0)
    flat = tries([one, one], reward=[1.0, 1.0, 2.0, 2.0], truth=[0.0, 1.0, 0.0, 1.0])
    assert "watch/agreement" not in batch_signs(flat) and batch_signs(flat)["watch/flat"] == 1.0


def test_agreement_is_numpys_correlation():
    reward, truth = [0.1, 0.7, 0.4, 0.9], [0.0, 1.0, 1.0, 0.0]
    batch = tries([[[1], [2], [3], [4]]], reward=reward, truth=truth)
    assert batch_signs(batch)["watch/agreement"] == pytest.approx(np.corrcoef(reward, truth)[0, 1], abs=1e-6)


def test_shares_of_parts():
    # whole = right + 10 * work: inside the group work alone explains nearly all of it
    right, work = [1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]
    whole = [r + 10 * w for r, w in zip(right, work, strict=True)]
    signs = batch_signs(tries([[[1], [2], [3], [4]]], reward=whole, reward__right=right, reward__work=work))
    assert signs["watch/share.work"] == pytest.approx(100 / 101) and signs["watch/share.right"] == pytest.approx(
        1 / 101
    )


def test_a_single_part_is_no_mixture():
    signs = batch_signs(tries([[[1], [2]]], reward=[1.0, 0.0], reward__right=[1.0, 0.0]))
    assert not any(name.startswith("watch/share") for name in signs)


def test_groups_without_signal():
    one = [[1], [2]]
    batch = tries([one, one, one, [[1]]], reward=[1.0, 1.0, 0.0, 1.0, 0.3, 0.3, 5.0])
    assert batch_signs(batch)["watch/flat"] == pytest.approx(2 / 3), "a lone try is no group"


def test_scores_that_are_missing_do_not_count():
    batch = tries([[[1], [2], [3]]], reward=[1.0, 1.0, float("nan")], truth=[1.0, 0.0, 1.0])
    assert batch_signs(batch)["watch/flat"] == 1.0
    nothing = tries([[[1], [2]]], reward=[float("nan")] * 2)
    assert batch_signs(nothing) == {}


def test_continuous_actions_and_empty_batches_have_no_signs():
    turn = gd.Segment("policy", "?", [1.0], np.zeros((12, 2), np.float32), np.zeros(12))
    moves = gd.pack([gd.Episode(gd.Ask(gd.Task("1", "?")), (turn,))])
    assert batch_signs(moves) == {} and batch_signs(gd.pack([])) == {}


def test_actions_of_physics_are_no_text():
    """The best arm of a bandit is pulled again and again: that is no text which repeats itself."""
    same = np.zeros(20, np.int64)
    signs = {}
    for name, context in (("text", np.zeros(3, np.int64)), ("rows", np.zeros(21 * 3, np.float32))):
        track = gd.Segment("policy", "", context, same, np.zeros(20, np.float32))
        signs[name] = batch_signs(gd.pack([gd.Episode(gd.Ask(gd.Task("1", "")), (track,))]))
    assert signs["text"]["watch/repeated"] > 0.9
    assert not {"watch/repeated", "watch/identical"} & set(signs["rows"])
