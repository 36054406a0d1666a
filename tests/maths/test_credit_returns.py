"""Returns and advantages along a track, by hand, against stable-baselines3, and over a million steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.group_relative import centre
from guerdon.credit.returns import redistribute, reward_to_go

NAN = float("nan")


def column(level, values, reason=Reason.FAILED):
    value = torch.tensor([NAN if v is None else float(v) for v in values])
    return Column(level, value, torch.where(value.isnan(), int(reason), 0).to(torch.int8))


def critic(batch, reward, value, final=None, level="track"):
    final = [0.0] * batch.K if final is None else final
    cols = {
        "reward": column(level, reward),
        "critic.value": column("step", value),
        "critic.final": column("track", final),
    }
    return batch.with_cols(cols)


# --- gae ------------------------------------------------------------------------------------------------------------


def test_gae_by_hand():
    batch = critic(pack([episode(segment([0, 0, 0]))]), [2.0], [0.5, 1.0, 1.5], [100.0])
    made = gae(gamma=0.5, lam=0.5)(batch, ExamplePlay())
    # deltas: 0.5*1 - 0.5 = 0; 0.5*1.5 - 1 = -0.25; 2 - 1.5 = 0.5 (DONE: the final value is not used)
    want = [0.25 * (-0.25 + 0.25 * 0.5), -0.25 + 0.25 * 0.5, 0.5]
    assert made["advantage"].tolist() == pytest.approx(want)
    assert made["return"].tolist() == pytest.approx([a + v for a, v in zip(want, [0.5, 1.0, 1.5], strict=True)])


def test_a_track_that_was_cut_goes_on_with_the_final_value():
    eps = [episode(segment([0], end=end), attempt=i) for i, end in enumerate([End.DONE, End.CUT, End.FAILED])]
    made = gae(gamma=0.9)(critic(pack(eps), [1.0, 1.0, 1.0], [0.5, 0.5, 0.5], [10.0, 10.0, 10.0]), ExamplePlay())
    assert made["advantage"][:2].tolist() == pytest.approx([0.5, 9.5])
    assert made["return"][:2].tolist() == pytest.approx([1.0, 10.0])
    assert made.cols["advantage"].reason.tolist() == [0, 0, Reason.FAILED]


def test_a_missing_final_value_matters_only_where_it_is_used():
    eps = [episode(segment([0], end=end), attempt=i) for i, end in enumerate([End.DONE, End.CUT])]
    made = gae()(critic(pack(eps), [1.0, 1.0], [0.5, 0.5], [None, None]), ExamplePlay()).cols["advantage"]
    assert made.value[0].item() == 0.5
    assert made.reason.tolist() == [0, Reason.FAILED]


def test_segments_of_a_track_are_one_way_and_roles_are_apart():
    parts = [segment([0]), segment([0], role="second"), segment([0], parent=0), segment([0], role="second", parent=1)]
    batch = critic(pack([episode(*parts)]), [1.0, -1.0], [0.1, 0.2, 0.3, 0.4])
    made = gae(lam=1.0)(batch, ExamplePlay())["advantage"]
    assert made.tolist() == pytest.approx([0.9, -1.2, 0.7, -1.4])


def test_a_trunk_has_the_mean_of_its_branches():
    batch = pack([episode(segment([0]), segment([0], parent=0), segment([0], parent=0))])
    made = gae(lam=0.5)(critic(batch, [1.0, 5.0], [0.5, 2.0, 3.0]), ExamplePlay())["advantage"]
    # branches: 1 - 2 = -1 and 5 - 3 = 2; trunk: (2 - 0.5) + 0.5 * -1 = 1, (3 - 0.5) + 0.5 * 2 = 3.5
    assert made.tolist() == pytest.approx([(1.0 + 3.5) / 2, -1.0, 2.0])


def test_what_is_missing_is_missing_from_there_backwards():
    batch = critic(pack([episode(segment([0, 0, 0]))]), [1.0], [0.5, None, 0.5])
    made = gae()(batch, ExamplePlay()).cols["advantage"]
    assert made.missing.tolist() == [True, True, False]
    assert made.reason.tolist() == [Reason.FAILED, Reason.FAILED, 0]
    unpaid = gae()(critic(pack([episode(segment([0, 0]))]), [None], [0.5, 0.5]), ExamplePlay()).cols
    assert unpaid["advantage"].missing.all()
    assert unpaid["return"].missing.all()


def test_empty_tracks_and_batches():
    for eps in ([], [episode(segment([]))], [episode(segment([]), segment([0], parent=0))]):
        batch = pack(eps)
        made = gae()(critic(batch, [1.0] * batch.K, [0.25] * batch.S), ExamplePlay())
        assert made["advantage"].tolist() == [0.75] * batch.S


def test_explained_variance_is_one_for_a_perfect_critic():
    batch, play = example_tries([[1.0, 2.0], [3.0, 4.0]], steps=2), ExamplePlay()
    perfect = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]
    gae()(critic(batch, [1.0, 2.0, 3.0, 4.0], perfect), play)
    assert play.metrics["critic/explained_variance"] == pytest.approx(1.0)
    gae(lam=1.0)(critic(batch, [1.0, 2.0, 3.0, 4.0], [0.0] * 8), play)
    assert play.metrics["critic/explained_variance"] == pytest.approx(0.0)


@pytest.mark.peers("stable-baselines3")
@pytest.mark.parametrize(("gamma", "lam"), [(0.99, 0.95), (1.0, 1.0), (0.9, 0.0)])
def test_gae_is_that_of_stable_baselines3(gamma, lam):
    from gymnasium import spaces
    from stable_baselines3.common.buffers import RolloutBuffer

    steps, rng = 60, np.random.default_rng(5)
    reward, value = rng.normal(size=steps).astype(np.float32), rng.normal(size=steps).astype(np.float32)
    lengths = [7, 1, 20, 32]  # the last is cut by the end of the buffer: sb3 goes on with its last value
    begins = np.zeros(steps, np.float32)
    begins[np.cumsum([0, *lengths[:-1]])] = 1
    buffer = RolloutBuffer(steps, spaces.Box(-1, 1, (1,)), spaces.Box(-1, 1, (1,)), gae_lambda=lam, gamma=gamma)
    buffer.rewards[:, 0], buffer.values[:, 0], buffer.episode_starts[:, 0] = reward, value, begins
    buffer.compute_returns_and_advantage(torch.tensor([0.7]), np.array([0.0]))
    ends = [End.DONE, End.DONE, End.DONE, End.CUT]
    eps = [episode(segment([0] * n, end=end), attempt=i) for i, (n, end) in enumerate(zip(lengths, ends, strict=True))]
    batch = critic(pack(eps), reward.tolist(), value.tolist(), [9.0, 9.0, 9.0, 0.7], level="step")
    made = gae(gamma=gamma, lam=lam)(batch, ExamplePlay())
    assert np.allclose(made["advantage"].numpy(), buffer.advantages[:, 0], atol=1e-5)
    assert np.allclose(made["return"].numpy(), buffer.returns[:, 0], atol=1e-5)


# --- returns --------------------------------------------------------------------------------------------------------


def test_process_rewards_become_returns():
    batch = example_tries([[0.0, 0.0]], steps=3, process=[0.0, 1.0, 2.0, 5.0, 0.0, 0.0])
    assert reward_to_go("process")(batch, ExamplePlay())["return"].tolist() == [3.0, 3.0, 2.0, 5.0, 0.0, 0.0]
    assert reward_to_go("process", gamma=0.5)(batch, ExamplePlay())["return"].tolist() == [1.0, 2.0, 2.0, 5.0, 0.0, 0.0]


def test_a_number_for_a_track_is_paid_at_its_end():
    batch = example_tries([[8.0, None]], steps=3)
    made = reward_to_go("reward", gamma=0.5)(batch, ExamplePlay()).cols["return"]
    assert made.value[:3].tolist() == [2.0, 4.0, 8.0]
    assert made.reason[3:].tolist() == [Reason.FAILED] * 3


def test_steps_it_does_not_apply_to_were_paid_nothing():
    batch = example_tries([[0.0, 0.0]], steps=2).with_cols(
        {"process": column("step", [None, 1.0, None, None], Reason.NOT_APPLICABLE)}
    )
    made = reward_to_go("process")(batch, ExamplePlay()).cols["return"]
    assert made.value[:2].tolist() == [1.0, 1.0]
    assert made.reason[2:].tolist() == [Reason.NOT_APPLICABLE] * 2


def test_process_supervision_normalises_step_ends_and_adds_up_what_follows():
    """GRPO's process variant: r~ = (r - mean) / std over all step ends of the group, A_t = the sum of the r~ from t on."""
    process = column("step", [None, 1.0, 3.0, None, 2.0], Reason.NOT_APPLICABLE)  # ends at steps 1 and 2, and at 4
    batch = pack([episode(segment([0] * 3)), episode(segment([0] * 2), attempt=1)]).with_cols({"process": process})
    batch = centre("process", eps=0.0, gives_to="standard")(batch, ExamplePlay())
    made = reward_to_go("standard", gives_to="advantage")(batch, ExamplePlay())["advantage"]
    assert made.tolist() == pytest.approx([0.0, 0.0, 1.0, 0.0, 0.0])  # -1 + 1, -1 + 1, 1; 0, 0


def test_a_broken_step_reward_leaves_those_before_it_without_a_return():
    batch = example_tries([[0.0]], steps=3).with_cols({"process": column("step", [1.0, None, 4.0])})
    made = reward_to_go("process")(batch, ExamplePlay()).cols["return"]
    assert made.missing.tolist() == [True, True, False]
    assert made.reason[:2].tolist() == [Reason.FAILED] * 2


def test_returns_by_turn_discount_from_turn_to_turn():
    parts = [segment([0, 0]), segment([], parent=0), segment([0, 0, 0], parent=1)]
    batch = pack([episode(*parts)]).with_cols({"process": column("step", [0.0, 1.0, 0.0, 2.0, 2.0])})
    made = reward_to_go("process", gamma=0.5, per="turn")(batch, ExamplePlay())["return"]
    assert made.tolist() == [1 + 0.25 * 4, 1 + 0.25 * 4, 4.0, 4.0, 4.0]


def test_returns_of_a_tree_are_the_means_of_its_tracks():
    batch = pack([episode(segment([0]), segment([0], parent=0), segment([0], parent=0))])
    batch = batch.with_cols({"process": column("step", [1.0, 2.0, 6.0])})
    assert reward_to_go("process")(batch, ExamplePlay())["return"].tolist() == [5.0, 2.0, 6.0]


def test_a_million_steps_keep_five_digits():
    n = 1_000_000
    batch = pack([episode(segment(np.zeros(n, int)))])
    batch = batch.with_cols({"process": Column.full("step", torch.full((n,), 0.1))})
    made = reward_to_go("process", gamma=1.0)(batch, ExamplePlay())["return"].double()
    want = float(torch.tensor(0.1)) * torch.arange(n, 0, -1, dtype=torch.float64)
    assert float(((made - want) / want).abs().max()) < 1e-5


# --- redistribution -------------------------------------------------------------------------------------------------


def test_a_return_is_spread_and_adds_up():
    batch = example_tries([[8.0, 3.0]], steps=3, care=[1.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    play = ExamplePlay()
    made = redistribute(weights="care")(batch, play)
    assert made["reward_steps"].tolist() == [2.0, 0.0, 6.0, 1.0, 1.0, 1.0]
    assert play.metrics["reward_steps/even"] == 0.5
    assert redistribute()(batch, ExamplePlay())["reward_steps"][:3].tolist() == pytest.approx([8 / 3] * 3)


def test_a_missing_return_is_not_spread_and_a_missing_weight_is_none():
    batch = example_tries([[8.0, None]], steps=2).with_cols({"care": column("step", [None, 2.0, 1.0, 1.0])})
    made = redistribute(weights="care")(batch, ExamplePlay()).cols["reward_steps"]
    assert made.value[:2].tolist() == [0.0, 8.0]
    assert all(math.isnan(v) for v in made.value[2:].tolist())


def test_step_rewards_can_be_moved():
    batch = example_tries([[0.0]], steps=3, reward_steps=[1.0, 2.0, 3.0])
    assert redistribute("reward_steps")(batch, ExamplePlay())["reward_steps"].tolist() == [2.0, 2.0, 2.0]
