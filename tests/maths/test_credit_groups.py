"""Who is compared with whom, by hand: siblings, turns, positions, the others; whitening; several rewards."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from refusals import refusal
from strategies import episode, segment

from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.levels import gather_up
from guerdon.core.pack import pack
from guerdon.credit.baselines import whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed, separately

NAN = float("nan")


def run(stage, batch, name="advantage"):
    return [round(v, 6) if v == v else None for v in stage(batch, ExamplePlay())[name].tolist()]


def rewarded(eps, rewards, level="track"):
    value = torch.tensor([NAN if r is None else r for r in rewards])
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(eps).with_cols({"reward": Column(level, value, reason)})


def tree():
    """Five nodes: a root, two children, one of which has two children; three tracks, a step a segment."""
    parts = [segment([0]), segment([1], parent=0), segment([2], parent=0), segment([3], parent=1)]
    return [episode(*parts, segment([4], parent=1))]


# --- centre ---------------------------------------------------------------------------------------------------------


def test_the_default_is_what_it_was_to_the_last_bit():
    reward = torch.rand(96, generator=torch.Generator().manual_seed(4))
    batch = example_tries(reward.view(12, 8).tolist(), steps=3)
    group, n = batch.group("task")
    gap = batch["reward"] - gather_up(batch["reward"], group, n, "mean")[group]
    want = batch.down(gap / (gather_up(batch["reward"], group, n, "std")[group] + 1e-4), "track")
    assert torch.equal(centre()(batch, ExamplePlay())["advantage"], want)


def test_the_mean_of_the_others_by_hand():
    batch = example_tries([[0.0, 3.0, 6.0], [1.0, 2.0]])
    assert run(centre(std=False, others=True), batch) == [-4.5, 0.0, 4.5, -1.0, 1.0]
    assert run(centre(std=False, others=True), example_tries([[7.0]])) == [0.0]
    assert run(centre(std=False, others=True), example_tries([[0.0, None, 1.0]])) == [-1.0, None, 1.0]


def test_others_with_std_divides_by_the_spread_of_the_group():
    assert run(centre(others=True, eps=0.0), example_tries([[0.0, 2.0, 4.0]])) == [-1.5, 0.0, 1.5]


def test_siblings_are_compared_below_their_parent():
    # tracks end in segments 2, 3, 4 with 4, 0, 2: V(1) = 1, V(2) = 4; siblings (1, 2) mean 2.5, (3, 4) mean 1
    batch = rewarded(tree(), [4.0, 0.0, 2.0])
    assert run(centre(by="parent", std=False), batch) == [0.0, -1.5, 1.5, -1.0, 1.0]
    play = ExamplePlay()
    centre(by="parent")(batch, play)
    assert play.metrics["advantage/single_groups"] == pytest.approx(1 / 3)  # the root is alone


def test_first_segments_are_children_of_their_task():
    eps = [episode(segment([0]), segment([1], parent=0), attempt=i) for i in range(2)]
    assert run(centre(by="parent", std=False), rewarded(eps, [0.0, 4.0])) == [-2.0, 0.0, 2.0, 0.0]


def test_a_failed_track_is_in_no_sibling_s_mean():
    assert run(centre(by="parent", std=False), rewarded(tree(), [4.0, None, 2.0])) == [0.0, -1.0, 1.0, None, 0.0]


def test_turns_are_compared_with_the_same_turns():
    eps = [
        episode(segment([0, 0]), segment([1], parent=0), attempt=0),
        episode(segment([0]), segment([1, 1], parent=0), attempt=1),
        episode(segment([0]), attempt=2),
    ]
    batch = rewarded(eps, [0.0, 2.0, 4.0])
    assert run(centre(by="turn", std=False), batch) == [-2.0, -2.0, -1.0, 0.0, 1.0, 1.0, 2.0]


def test_positions_are_compared_with_the_same_positions():
    eps = [episode(segment([0] * n), attempt=i) for i, n in enumerate([1, 2, 3])]
    batch = rewarded(eps, [1.0, 10.0, 20.0, 5.0, 8.0, 100.0], "step")
    # first steps 1, 10, 5; second 20, 8; third 100 alone
    third = 16 / 3
    want = [1 - third, 10 - third, 6.0, 5 - third, -6.0, 0.0]
    assert run(centre(by="position", std=False), batch) == [round(v, 6) for v in want]


def test_positions_when_one_track_is_far_longer():
    eps = [
        episode(segment([0] * n), name=f"t{i // 2}", number=i // 2, attempt=i % 2)
        for i, n in enumerate([1, 99, 2, 2, 1, 1])
    ]
    batch = rewarded(eps, [0.0, 2.0, 0.0, 4.0, 0.0, 6.0])
    found = centre(by="position", std=False)(batch, ExamplePlay())["advantage"]
    assert found.tolist() == [-1.0, 1.0, *[0.0] * 98, -2.0, -2.0, 2.0, 2.0, -3.0, 3.0]


def test_positions_of_roles_that_take_turns():
    eps = [
        episode(
            segment([0]),
            segment([1], role="second"),
            segment([0], parent=0),
            segment([1], role="second", parent=1),
            attempt=i,
        )
        for i in range(2)
    ]
    batch = rewarded(eps, [1.0, 10.0, 3.0, 30.0])  # tracks: policy, second; policy, second
    assert run(centre(by="position", std=False), batch) == [-1.0, -10.0, -1.0, -10.0, 1.0, 10.0, 1.0, 10.0]


def test_a_step_column_by_task_compares_steps():
    batch = example_tries([[0.0, 0.0]], steps=2, process=[1.0, 2.0, 3.0, 6.0])
    assert run(centre("process", std=False), batch) == [-2.0, -1.0, 0.0, 3.0]


def test_an_empty_batch_has_no_advantages():
    for by in ("task", "ask", "episode", "parent", "turn", "position"):
        batch = rewarded([episode(error="broke")], [])
        assert run(centre(by=by), batch) == []
        assert run(centre(by=by), rewarded([episode(segment([]))], [1.0])) == []


# --- whiten ---------------------------------------------------------------------------------------------------------


def test_whitening_by_hand_over_steps_and_tracks():
    eps = [episode(segment([0] * n), attempt=i) for i, n in enumerate([1, 3])]
    batch = rewarded(eps, [0.0, 4.0])
    # over steps: 0, 4, 4, 4: mean 3, deviation sqrt((9 + 3) / 3) = 2
    assert run(whiten("reward", eps=0.0), batch) == [-1.5, 0.5, 0.5, 0.5]
    # over tracks: 0, 4: mean 2, deviation sqrt(8)
    assert run(whiten("reward", "track", eps=0.0), batch) == [round(-2 / 8**0.5, 6)] + [round(2 / 8**0.5, 6)] * 3


def test_whitening_a_step_column_over_steps_is_that_of_its_numbers():
    numbers = [1.0, 2.0, 3.0, 6.0]
    batch = example_tries([[0.0, 0.0]], steps=2, advantage=numbers)
    mean, spread = statistics.fmean(numbers), statistics.stdev(numbers)
    assert run(whiten(eps=0.0), batch) == [round((x - mean) / spread, 6) for x in numbers]
    assert run(whiten(over="track", eps=0.0), batch)[0] == round((1 - 3) / statistics.stdev([1.5, 4.5]), 6)


def test_given_and_missing_steps_are_in_no_statistic():
    eps = [episode(segment([0, 0], given=1)), episode(segment([0]), attempt=1), episode(segment([0]), attempt=2)]
    batch = rewarded(eps, [100.0, 0.0, 2.0, None], "step")
    found = whiten("reward", eps=0.0)(batch, ExamplePlay()).cols["advantage"]
    assert found.value[1:3].tolist() == pytest.approx([-1 / 2**0.5, 1 / 2**0.5])
    assert found.reason.tolist() == [0, 0, 0, Reason.FAILED]


def test_without_spread_whitening_gives_zero_and_says_so():
    play = ExamplePlay()
    found = whiten("reward", eps=0.0)(example_tries([[0.1, 0.1, 0.1], [0.1]]), play)["advantage"]
    assert found.tolist() == [0.0] * 4
    assert play.metrics["advantage/flat"] == 1.0
    assert run(whiten("reward"), example_tries([[5.0]])) == [0.0]


def test_roles_are_whitened_apart():
    eps = [episode(segment([0]), segment([0], role="second"), attempt=i) for i in range(2)]
    found = run(whiten("reward", eps=0.0), rewarded(eps, [0.0, 100.0, 1.0, 300.0]))
    assert found == [-0.707107, -0.707107, 0.707107, 0.707107]


def test_reinforce_pp_baseline_is_two_parts():
    batch = example_tries([[0.0, 2.0], [5.0, 9.0]])
    centred = centre(std=False)(batch, ExamplePlay())
    assert run(whiten(eps=0.0), centred) == [round(x / statistics.stdev([-1, 1, -2, 2]), 6) for x in (-1, 1, -2, 2)]


# --- several rewards ------------------------------------------------------------------------------------------------


def two(style, reason=None):
    value = torch.tensor([NAN if s is None else s for s in style])
    why = torch.where(value.isnan(), int(reason or Reason.FAILED), 0).to(torch.int8)
    return example_tries([[0.0, 2.0, 4.0]], steps=2).with_cols({"style": Column("track", value, why)})


def test_rewards_are_normalised_before_they_are_added():
    batch = two([0.0, 0.0, 300.0])
    mean, spread = 100.0, statistics.stdev([0, 0, 300])
    want = [a + 0.5 * (s - mean) / spread for a, s in zip([-1, 0, 1], [0, 0, 300], strict=True)]
    assert run(separately(("reward", "style"), (1.0, 0.5), eps=0.0), batch)[::2] == [round(w, 6) for w in want]


def test_what_does_not_apply_adds_nothing_and_what_broke_leaves_no_sum():
    quiet = two([0.0, None, 2.0], Reason.NOT_APPLICABLE)
    assert run(separately(("reward", "style"), std=False), quiet)[::2] == [-3.0, 0.0, 3.0]
    broken = separately(("reward", "style"), std=False)(two([0.0, None, 2.0]), ExamplePlay()).cols["advantage"]
    assert broken.value[::2].tolist()[::2] == [-3.0, 3.0]
    assert broken.reason.tolist() == [0, 0, Reason.FAILED, Reason.FAILED, 0, 0]


def test_where_no_reward_applies_there_is_no_advantage():
    none = Column.empty("track", 3)
    batch = example_tries([[0.0, 2.0, 4.0]]).with_cols({"a": none, "b": none})
    for stage in (separately(("a", "b")), mixed(("a", "b"))):
        assert stage(batch, ExamplePlay()).cols["advantage"].reason.tolist() == [Reason.NOT_APPLICABLE] * 3


def test_mixing_refuses_what_cannot_be_meant():
    with refusal(UserError, "2", "1"):
        mixed(("a", "b"), (1.0,))
    with refusal(UserError):
        separately("reward")


def test_a_mixture_keeps_its_holes():
    batch = example_tries([[1.0, None]], steps=2, step=[1.0, 2.0, 3.0, 4.0])
    found = mixed(("reward", "step"), (10.0, 1.0))(batch, ExamplePlay()).cols["advantage"]
    assert found.value[:2].tolist() == [11.0, 12.0]
    assert all(math.isnan(v) for v in found.value[2:].tolist())
    assert found.reason.tolist() == [0, 0, Reason.FAILED, Reason.FAILED]
