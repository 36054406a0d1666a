"""Our own worlds: physics by hand, gold players, and N side by side as each alone."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import command_line, refused

import guerdon as gd
from guerdon.runs.run import Run
from guerdon.worlds.ball import FALL, HITS, Ball
from guerdon.worlds.bandits import Bandits
from guerdon.worlds.desk import GRIP, NEAR, STEP, TOUCH, Desk
from guerdon.worlds.own_worlds import OwnWorld, OwnWorlds

NAMES = ["desk:reach", "desk:push", "desk:carry", "desk:obstacles", "ball", "bandits:5", "bandits:2"]


def desk(job, hand, puck=(0.0, 0.0), goal=(0.6, 0.6), gap=0.0):
    made = Desk(1, job)
    made.hand[0], made.puck[0], made.goal[0], made.gap[0] = hand, puck, goal, gap
    return made


def test_the_hand_moves_and_is_paid_by_distance():
    made = desk("reach", (0.0, 0.0), goal=(0.3, 0.0))
    pay, over, cut, reached = made.step([[1.0, 0.0]])
    assert made.hand[0].tolist() == [STEP, 0.0]
    assert (pay[0], bool(over[0]), bool(cut[0])) == (pytest.approx(-0.02), False, False)
    made.step([[9.0, 0.0]])  # clipped: one step
    pay, over, cut, reached = made.step([[0.3, 0.0]])
    assert np.hypot(*(made.hand[0] - made.goal[0])) <= NEAR
    assert (pay[0], bool(over[0]), bool(reached[0])) == (1.0, True, True)
    assert desk("reach", (1.0, 1.0)).step([[1.0, 1.0]])[1] == [False]


def test_a_puck_is_pushed_away_from_the_hand_and_no_further():
    made = desk("push", (-0.15, 0.0))
    made.step([[1.0, 0.0]])
    assert made.puck[0] == pytest.approx([-0.05 + TOUCH, 0.0])
    made = desk("push", (-0.15, 0.05))  # touched beside its middle it slips to the other side
    made.step([[1.0, 0.0]])
    assert made.puck[0][0] > 0 and made.puck[0][1] < 0
    assert np.hypot(*(made.puck[0] - made.hand[0])) == pytest.approx(TOUCH)
    made = desk("push", (-0.5, 0.0))
    made.step([[1.0, 0.0]])
    assert made.puck[0].tolist() == [0.0, 0.0]


def test_a_puck_is_carried_while_the_grip_is_closed():
    made = desk("carry", (GRIP / 2, 0.0))
    made.step([[1.0, 0.0, -1.0]])
    assert made.puck[0].tolist() == [0.0, 0.0]  # open
    made = desk("carry", (GRIP / 2, 0.0))
    made.step([[1.0, 0.0, 1.0]])
    assert made.puck[0].tolist() == made.hand[0].tolist() == pytest.approx([GRIP / 2 + STEP, 0.0])
    made.step([[0.0, 1.0, -1.0]])
    assert made.puck[0] == pytest.approx([GRIP / 2 + STEP, 0.0])  # let go
    far = desk("carry", (0.3, 0.0))
    far.step([[0.0, 0.0, 1.0]])
    assert not far.held[0]


def test_a_wall_is_passed_through_its_opening_alone():
    made = desk("obstacles", (-0.05, 0.5), goal=(0.6, 0.5))
    made.step([[1.0, 0.0]])
    assert made.hand[0][0] < 0
    made = desk("obstacles", (-0.05, 0.1), goal=(0.6, 0.5))
    made.step([[1.0, 0.0]])
    assert made.hand[0][0] == pytest.approx(0.05)


def test_a_bandit_counts_and_pays_as_often_as_its_mean():
    made = Bandits(400, 3)
    for i in range(400):
        made.begin(i, np.random.default_rng(i))
    for _ in range(100):
        _, over, _, reached = made.step(made.gold())
    assert over.all() and reached.all()
    best = made.means.max(1)
    assert made.pulled.sum(1).tolist() == [100.0] * 400
    assert abs((made.paid.sum(1) / 100 - best).mean()) < 4 * 0.5 / np.sqrt(100 * 400)
    view = made.seen()[0]
    assert view[-1] == 0.0 and view[:3].sum() == 1.0
    assert view[3:6].sum() == pytest.approx(made.paid[0].sum() / 100)


def ball(place, way, paddle):
    made = Ball(1)
    made.place[0], made.way[0], made.paddle[0] = place, way, paddle
    return made


def test_a_ball_is_thrown_back_and_a_hit_is_paid():
    made = ball((0.5, 0.03), (0.01, -FALL), 0.46)  # it lands at 0.51, half the paddle beside its middle
    pay, over, _, _ = made.step([[0.0]])
    assert (pay[0], bool(over[0]), made.hits[0]) == (1.0, False, 1)
    assert made.place[0] == pytest.approx([0.51, 0.05])
    assert made.way[0] == pytest.approx([0.01 + 0.02 * 0.5, FALL])
    missed = ball((0.5, 0.03), (0.0, -FALL), 0.65)
    pay, over, cut, reached = missed.step([[0.0]])
    assert (pay[0], bool(over[0]), bool(cut[0]), bool(reached[0])) == (0.0, True, False, False)
    wall = ball((0.98, 0.5), (0.04, FALL), 0.5)
    wall.step([[0.0]])
    assert wall.place[0] == pytest.approx([0.98, 0.58]) and wall.way[0] == pytest.approx([-0.04, FALL])
    ceiling = ball((0.5, 0.97), (0.0, FALL), 0.5)
    ceiling.step([[0.0]])
    assert ceiling.place[0] == pytest.approx([0.5, 0.95]) and ceiling.way[0][1] == -FALL


def test_the_last_hit_ends_it():
    made = ball((0.5, 0.03), (0.0, -FALL), 0.5)
    made.hits[0] = HITS - 1
    pay, over, _, reached = made.step([[0.0]])
    assert (pay[0], bool(over[0]), bool(reached[0])) == (1.0, True, True)


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract(name):
    counts = gd.check_env(gd.worlds.gym(name), episodes=12)
    assert counts["goals"] == 12


@pytest.mark.parametrize("name", NAMES)
def test_several_side_by_side_are_each_alone(name):
    many, dice = OwnWorlds(name, 3), np.random.default_rng(0)
    seen, _ = many.reset(seed=[5, 6, 7])
    alone = [OwnWorld(name) for _ in range(3)]
    shown = [env.reset(seed=seed)[0] for env, seed in zip(alone, (5, 6, 7), strict=True)]
    for _ in range(220):  # two episodes and more
        assert np.array_equal(seen, shown)
        gold = many.gold() if dice.random() < 0.5 else None
        actions = gold if gold is not None else np.stack([_any(env, dice) for env in alone])
        seen, pay, over, cut, infos = many.step(actions)
        for i, env in enumerate(alone):
            shown[i], own, done, ended, info = env.step(actions[i])
            assert (own, done, ended, info["success"]) == (pay[i], over[i], cut[i], infos["success"][i])
            if done or ended:
                assert np.array_equal(infos["final_obs"][i], shown[i])
                shown[i] = env.reset()[0]


def _any(env, dice):
    return (
        dice.integers(env.action_space.n)
        if hasattr(env.action_space, "n")
        else dice.uniform(-1, 1, env.action_space.shape)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_gold_player_reaches_the_goal(name):
    many = OwnWorlds(name, 200)
    many.reset(seed=1)
    won = np.zeros(200, bool)
    for _ in range(400 if name == "ball" else 100):
        _, _, _, _, infos = many.step(many.gold())
        won |= infos["success"]
    assert won.all()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("desk:rech", "unknown world 'desk:rech': did you mean 'desk:reach'?"),
        ("bandits:1", "bandits have 2 to 100 arms, bandits:10, not 'bandits:1'"),
        ("ball:2", "unknown world 'ball:2': did you mean 'ball'?"),
        ("bandit", "unknown environment 'bandit': did you mean 'bandits:5'?"),
    ],
)
def test_a_name_that_is_none_is_one_line(name, told):
    with pytest.raises(gd.UserError) as refused_:
        gd.worlds.open_world(name)
    assert str(refused_.value).startswith(told)


def test_an_environment_without_gold_is_told_so():
    with pytest.raises(gd.UserError, match=r"CartPole-v1 has no gold player, .* give it a method gold\(\)"):
        gd.check_env(gd.worlds.gym("CartPole-v1"), episodes=2)


def test_a_reward_of_ours_pays_in_them():
    env = gd.gym_reward(OwnWorlds("desk:reach", 4), lambda next_observation, info: float(info["success"]))
    env.reset(seed=0)
    total = sum(env.step(env.unwrapped.gold())[1].sum() for _ in range(30))
    assert total >= 4


@pytest.mark.slow
def test_ppo_learns_to_reach(tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    words = ("--set", "minibatch=256", "--set", "lr=1e-3", "--steps", "15", "--out", "run")
    assert cli("train", "ppo_control", "--env", "desk:reach", *words).code == 0
    first, last = Run("run").evaluations[0], Run("run").evaluations[-1]
    assert first["success"] < 0.5 < 0.9 < last["success"]
    refused(
        cli("eval", "run", "--env", "desk:push"),
        "run reads 6 numbers and gives 2 numbers; desk:push shows 10 and takes 2",
    )


@pytest.mark.slow
def test_ppo_learns_to_keep_a_ball_in_the_air(tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    words = ("--set", "minibatch=256", "--set", "lr=1e-3", "--steps", "30", "--out", "run")
    assert cli("train", "ppo_control", "--env", "ball", *words).code == 0
    first, last = Run("run").evaluations[0], Run("run").evaluations[-1]
    assert first["success"] < 0.2 and last["success"] > 0.7
