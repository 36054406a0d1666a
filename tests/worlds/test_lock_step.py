"""Worlds in lock step: the numbers of tracks by hand, streams that go on, what fails and how it is told."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from own_gyms import Broken, Counting, Moving, counting, cut_off
from refusals import refusal
from tolerances import rounding

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.episode import End
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.rows import share_steps
from guerdon.engine.player import Player
from guerdon.runs.rollout_files import read_batch, read_table, write_batch


def player(env, actor=None, seed=3, **sampling):
    model = actor or gd.models.mlp(3, (2,), hidden=(8,))
    model.start(1, {})
    return Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(**sampling), seed, 1)


def asked(n, tries=1):
    return [gd.Ask(gd.Task(str(i), "", family="counting"), tries) for i in range(n)]


def stretches(play, worlds=2, steps=4):
    return play(gd.worlds.streams("counting", steps=steps).draw(worlds, play))


def test_a_track_has_a_row_for_each_action_and_the_last_view():
    [episode] = player(gd.worlds.gym(counting))(asked(1))
    [segment] = episode.segments
    rows, actions = segment.context.reshape(-1, 3), segment.actions
    assert rows.shape == (4, 3)
    assert rows[:, 1].tolist() == [0, 1, 2, 3]  # the terminal view too
    assert rows[:, 2].tolist() == [-1, *actions.tolist()]
    assert (rows[:, 0] == rows[0, 0]).all()
    assert segment.rewards.tolist() == [1.0, 2.0, 3.0]
    assert (segment.end, episode.info) == (End.DONE, {"return": 6.0, "steps": 3})


def test_log_probs_are_those_that_are_read():
    play = player(gd.worlds.gym(counting))
    batch = pack(play(asked(4, 2)))
    model = play.models["policy"]
    read = model.read(batch, ["logp", "value", "final"])
    assert (read["logp"] - batch.logp).abs().max() < rounding(8 + 3, 4.0)
    rows = batch.context.view(-1, 3)
    last = torch.arange(1, batch.G + 1) * 4 - 1
    assert torch.equal(read["final"], model.towers.value(rows[last])[:, 0])
    assert batch.row_of_step(3).tolist() == [i for i in range(len(rows)) if i % 4 != 3]


@pytest.mark.parametrize(("env", "end"), [(counting, End.DONE), (cut_off, End.CUT)])
def test_what_is_truncated_is_cut_and_what_is_terminated_is_done(env, end):
    play = player(gd.worlds.gym(env))
    batch = pack(play(asked(2)))
    value, final = torch.arange(6.0), torch.tensor([10.0, 20.0])
    columns = {"policy.value": gd.Column.full("step", value), "policy.final": gd.Column.full("track", final)}
    batch = gd.rewards.paid()(batch, play).with_cols(columns)
    advantage = gd.credit.gae("reward_steps", critic="policy", gamma=0.5, lam=0.0)(batch, play)["advantage"]
    after = [1.0, 2.0, 10.0 if end is End.CUT else 0.0, 4.0, 5.0, 20.0 if end is End.CUT else 0.0]
    assert advantage.tolist() == [r + 0.5 * v - i for r, v, i in zip([1, 2, 3] * 2, after, range(6), strict=True)]
    assert all(e.segments[0].end is end for e in batch.episodes)


def test_how_many_play_at_once_changes_no_track():
    apart = player(gd.worlds.gym(counting, at_once=1))(asked(3, 2))
    beside = player(gd.worlds.gym(counting, at_once=4))(asked(3, 2))
    for one, other in zip(apart, beside, strict=True):
        (a,), (b,) = one.segments, other.segments
        assert one.seed == other.seed
        assert np.array_equal(a.context, b.context)
        assert np.array_equal(a.actions, b.actions)
        assert np.abs(a.logp - b.logp).max() < rounding(8 + 3, 4.0)
    assert len({e.seed for e in apart}) == 6


def test_a_stream_goes_on_where_it_was():
    """Episodes of three steps, stretches of four: the second begins in the middle of an episode."""
    env = gd.worlds.gym(counting)
    play = player(env)
    first = stretches(play)
    play.begin(1)
    second = stretches(play)
    for number in (0, 1):
        (a, b), (c, d) = ([e for e in played if e.number == number] for played in (first, second))
        assert [len(e.segments[0].actions) for e in (a, b, c, d)] == [3, 1, 2, 2]
        assert [e.segments[0].end for e in (a, b, c, d)] == [End.DONE, End.CUT, End.DONE, End.CUT]
        assert (c.info, c.seed) == ({"from": 1, "return": 6.0, "steps": 3}, b.seed)
        assert np.array_equal(b.segments[0].context[-3:], c.segments[0].context[:3])
        assert (d.seed, d.info) != (c.seed, c.info)
    assert play.meter.env_steps == 8  # of this step


def test_a_stream_is_brought_back_by_its_record():
    env, again = gd.worlds.gym(counting), gd.worlds.gym(counting)
    play = player(env)
    stretches(play, steps=5)
    again.streams = env.streams  # as a checkpoint holds them
    for each in (play, other := player(again, play.models["policy"])):
        each.begin(1)
    assert all(a.same(b) for a, b in zip(stretches(play), stretches(other), strict=True))


def test_a_minibatch_takes_the_rows_of_its_steps():
    play = player(gd.worlds.gym(counting))
    batch = pack(play(asked(5, 2)))
    batch = gd.rewards.paid()(batch, play)
    model, dice = play.models["policy"], torch.Generator().manual_seed(0)
    whole = model.read(batch, ["logp", "value", "entropy"])
    shares = share_steps(batch, 4, dice, True, 3)
    assert sum(share.S for share in shares) == batch.S
    rows = batch.context.view(-1, 3)[batch.row_of_step(3)]
    at = {tuple(row): i for i, row in enumerate(torch.cat([rows, batch.logp[:, None]], 1).tolist())}
    for share in shares:
        index = [at[tuple(r)] for r in torch.cat([share.context.view(-1, 3), share.logp[:, None]], 1).tolist()]
        assert len(share.context) == 3 * share.S
        assert torch.equal(share["reward_steps"], batch["reward_steps"][index])
        assert torch.equal(share.action, batch.action[index])
        for name, value in model.read(share, ["logp", "value", "entropy"]).items():
            assert (value - whole[name][index]).abs().max() < rounding(11, 4.0)


def test_shares_of_several_segments_take_the_same_rows():
    """The same tracks with a segment for each action, as `seats.act` plays them, through the general way."""
    play = player(gd.worlds.gym(counting))
    one = pack(play(asked(2, 2)))
    each = []
    for episode in one.episodes:
        (whole,) = episode.segments
        rows = whole.context.reshape(-1, 3)
        turns = [
            whole.but(context=rows[t], actions=whole.actions[t : t + 1], logp=whole.logp[t : t + 1], parent=t - 1,
                      rewards=whole.rewards[t : t + 1])
            for t in range(len(whole.actions))
        ]  # fmt: skip
        each.append(episode.but(segments=tuple(turns)))
    shares = zip(
        *(share_steps(b, 3, torch.Generator().manual_seed(0), True, 3) for b in (one, pack(each))), strict=True
    )
    for a, b in shares:
        assert torch.equal(a.context, b.context)
        assert torch.equal(a.action, b.action)
        assert (a.K, a.count) == (b.K, b.count)


def test_a_track_is_stored_as_columns(tmp_path):
    batch = pack(player(gd.worlds.gym(lambda: Counting(200)))(asked(2)))
    write_batch(tmp_path / "b.parquet", batch)
    table, _ = read_table(tmp_path / "b.parquet")
    assert table.num_rows == 2
    text = {n: table[n].to_pylist() for n in table.column_names if str(table[n].type) == "string"}
    assert len(json.dumps(text)) < 1500  # whatever the number of its actions
    assert read_batch(tmp_path / "b.parquet").same(batch)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("nan", "the reward is nan at step 2 of seed SEED, component 'reward_ctrl'"),
        ("infinite", "the reward is inf at step 2 of seed SEED, component 'reward'"),
        ("blind", "the view is not finite at step 2 of seed SEED"),
        ("raises", "ValueError: the motor is off"),
    ],
)
def test_what_is_no_number_failed_and_is_never_0(how, told):
    play = player(gd.worlds.gym(lambda: Broken(how)))
    batch = pack(play(asked(2)))
    for episode in batch.episodes:
        assert told.replace("SEED", str(episode.seed)) in episode.info["error"]
    paid = gd.rewards.paid()(batch, ExamplePlay())
    assert (paid.cols["reward"].reason == Reason.FAILED).all()
    assert torch.isnan(paid["reward_steps"]).all()
    stretch = stretches(player(gd.worlds.gym(lambda: Broken(how))), worlds=1)  # the world is thrown away
    assert [e.failed for e in stretch] == [True]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            "four",
            "step returned 4 values: Gymnasium's returns an observation, a reward, terminated, truncated and info",
        ),
        ("words", "step returned terminated='no': it is True or False, not of type str"),
        ("number", "step returned truncated=1: it is True or False, not of type int"),
        ("wide", "step 2 shows 5 numbers, and its observation_space has 3"),
        ("many", "step returned the reward array([0., 0.]): it is one number"),
    ],
)
def test_a_broken_contract_is_one_line(how, told):
    def broken():
        return Broken(how)

    with pytest.raises(gd.UserError) as refused:
        player(gd.worlds.gym(broken))(asked(2))
    assert str(refused.value) == f"broken: {told}"


def test_an_environment_that_cannot_begin_fails_and_stops_nothing():
    class Shut(Counting):
        def reset(self, **how):
            raise OSError("no display")

    play = player(gd.worlds.gym(Shut))
    assert all("no display" in e.info["error"] for e in play(asked(3)))
    assert all(e.failed for e in stretches(play))


def test_moves_are_recorded_as_drawn_and_clipped_in_the_world():
    made = []

    def moving():
        made.append(Moving())
        return made[-1]

    actor = gd.models.mlp(3, moves=2, hidden=(8,))
    batch = pack(player(gd.worlds.gym(moving, at_once=1), actor)(asked(1, 4)))
    taken = np.concatenate([np.stack(env.taken) for env in made if env.taken])
    assert batch.action.shape == (20, 2)
    assert (batch.action.abs() > 1).any()  # of 40 normal numbers about 13
    assert np.array_equal(taken, batch.action.numpy().clip(-1, 1))
    expected = torch.distributions.Normal(
        actor.towers.policy(batch.context.view(-1, 3)[batch.row_of_step(3)]), actor.towers.log_std.exp()
    )
    assert torch.allclose(expected.log_prob(batch.action).sum(-1), batch.logp, atol=rounding(12, 10.0))
    assert torch.allclose(expected.entropy().sum(-1), actor.read(batch, ["entropy"])["entropy"])


def test_greedy_actions_are_the_likeliest():
    play = player(gd.worlds.gym(counting), temperature=0.0)
    batch = pack(play(asked(2, 2)))
    out = play.models["policy"].towers.policy(batch.context.view(-1, 3)[batch.row_of_step(3)])
    assert torch.equal(batch.action, out.argmax(-1))
    with refusal(gd.UserError, "1", "0"):
        player(gd.worlds.gym(counting), temperature=0.5)(asked(1))


def test_models_that_do_not_act_on_rows_play_by_turns():
    from shapes.nets import chooser

    play = player(gd.worlds.gym(cut_off), chooser(3, 2))
    [episode] = play(asked(1))
    assert [len(s.actions) for s in episode.segments] == [1, 1, 1, 0]
    assert (episode.segments[-1].end, play.meter.env_steps) == (End.CUT, 0)
    assert episode.info == {"return": 6.0, "steps": 3}


def test_an_actor_is_saved_loaded_and_taught(tmp_path):
    model = gd.models.mlp(3, (2, 3), hidden=(8,))
    model.start(1, {})
    gd.models.save(model, tmp_path / "m")
    again = gd.models.load(str(tmp_path / "m"))
    assert (repr(again), again.identity()) == (repr(model), model.identity())
    view = np.arange(3.0)
    assert model.teacher_force(view, "1 2").actions.tolist() == [[1, 2]]
    with refusal(gd.UserError, "2", "1"):
        model.teacher_force(view, "1")
    with refusal(gd.UserError, "3", "2"):
        model.encode(view[:2])


def test_a_model_that_reads_apart_is_given_no_path():
    """Else an episode of T turns would copy T (T - 1) / 2 segments of its own past."""
    from shapes.nets import chooser

    shown = []

    class Looking(chooser):
        def act(self, requests):
            shown.extend(len(request.path) for request in requests)
            return super().act(requests)

    player(gd.worlds.gym(lambda: Counting(20)), Looking(3, 2))(asked(1))
    assert shown == [0] * 20
