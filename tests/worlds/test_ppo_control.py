"""`ppo_control`: exact resume, micro-batches, budgets in env steps, what a user sees; stable-baselines3's loss and gradient."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from command_line import command_line, refused
from killing import killed_at
from own_gyms import Broken, counting, restless
from refusals import refusal
from tolerances import assert_rounded

import guerdon as gd
from guerdon.runs.run import Run
from guerdon.training.catalog import find_recipe

SMALL = {"worlds": 2, "horizon": 32, "minibatch": 16, "epochs": 2, "hidden": (8,), "exam": 2, "steps": 4}
OWN = Path(__file__).parent.parent / "own_gyms.py"


def made(**changes):
    return find_recipe("ppo_control")(**{**SMALL, "env": counting, **changes})


def train(recipe, out, **how):
    return gd.train(recipe, out=out, options=gd.Options(**{"eval_tasks": 0, "save_every": 2, **how}), seed=1)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return train(made(env="CartPole-v1"), tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.sampled(1, "step")
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_killed_run_ends_with_the_same_weights(tmp_path, unbroken, step):
    """Its worlds are in the middle of episodes at every step; they are brought back by their records."""
    recipe = made(env="CartPole-v1")
    with killed_at(step):
        train(recipe, tmp_path / "run")
    run = gd.train(recipe, resume=tmp_path / "run")
    assert run.weights == unbroken.weights
    assert run.batch(3).same(unbroken.batch(3))
    assert any("from" in e.info for e in run.batch(3).episodes)


def test_a_run_of_an_environment_is_rerun_and_extended(tmp_path):
    small = {name: value for name, value in SMALL.items() if name != "steps"}
    how = gd.Options(eval_tasks=0)
    first = gd.train(
        "ppo_control", settings={"env": "CartPole-v1", **small}, steps=1, out=tmp_path / "a", options=how, seed=1
    )
    more = gd.train(again=first.path, steps=2, out=tmp_path / "b")
    whole = gd.train(
        "ppo_control", settings={"env": "CartPole-v1", **small}, steps=2, out=tmp_path / "c", options=how, seed=1
    )
    assert more.weights == whole.weights != first.weights


CHILD = """
import os, signal, sys
import torch; torch.set_num_threads(1)
import guerdon as gd
from guerdon.worlds.gymnasium_world import SomeWorld
step, calls, at = SomeWorld.step, [0], int(sys.argv[2])
def counted(self, action):
    calls[0] += 1
    if calls[0] == at: os.kill(os.getpid(), signal.SIGKILL)
    return step(self, action)
SomeWorld.step = counted
settings = dict(env="CartPole-v1", worlds=2, horizon=32, minibatch=16, epochs=2, hidden=(8,), exam=2, steps=4)
gd.train("ppo_control", settings=settings, out=sys.argv[1], options=gd.Options(eval_tasks=0, save_every=1), seed=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", [5, 100, 170, 255])  # of 64 env steps a step
def test_sigkill_in_a_world_changes_no_weight(tmp_path, call):
    out = tmp_path / "run"
    dead = subprocess.run([sys.executable, "-c", CHILD, str(out), str(call)], capture_output=True, text=True)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    run = gd.train(resume=out)
    settings = {**SMALL, "env": "CartPole-v1"}
    whole = gd.train("ppo_control", settings=settings, out=tmp_path / "whole", options=gd.Options(eval_tasks=0), seed=1)
    assert run.weights == whole.weights


@pytest.mark.slow
def test_played_ahead_it_is_resumed_too(tmp_path):
    recipe = made(ahead=True) if "ahead" in find_recipe("ppo_control").knobs() else made().but(ahead=True)
    whole = train(recipe, tmp_path / "whole")
    with killed_at(3):
        train(recipe, tmp_path / "run")
    assert gd.train(recipe, resume=tmp_path / "run").weights == whole.weights


def test_an_environment_that_does_not_repeat_refuses_to_resume(tmp_path):
    with killed_at(3):
        train(made(env=restless), tmp_path / "run")
    with refusal(gd.UserError):
        gd.train(made(env=restless), resume=tmp_path / "run")


def test_the_size_of_micro_batches_changes_no_gradient(tmp_path):
    def weights(micro):
        recipe = made(steps=1, epochs=1).but(**{"learn.opt": gd.sgd(lr=0.5), "learn.micro": micro})
        return train(recipe, tmp_path / str(micro)).model().weights.parameters()

    for a, b in zip(weights(1), weights(0), strict=True):
        assert_rounded(a, b, terms=4 * 16 * 8)  # four updates of 16 steps, through 8 units


def test_a_step_is_so_many_env_steps_and_a_budget_counts_them(tmp_path):
    run = gd.train(made(), budget="100:env_steps", out=tmp_path / "run", options=gd.Options(eval_tasks=4), seed=1)
    assert (run.steps_done, run.spent["env_steps"], run.spent["tokens"]) == (2, 128, 0)  # exams are not spent
    assert run.batch(0).S == 64
    assert run.metrics["env_steps"].to_pylist() == [64, 64]
    assert run.metrics["episode_return"].to_pylist() == [6.0, 6.0]
    assert run.progress == "2 steps, 128 of 100 env steps"
    assert [e["return"] for e in run.evaluations] == [6.0, 6.0]
    assert run.evaluations[0]["episodes"] == 2
    assert not [w for w in run.warnings if "max_tokens" in w]


def test_held_out_seeds_are_the_same_for_all_and_never_trained_on(tmp_path):
    source = gd.worlds.episodes("CartPole-v1")
    held_out = {source.get("test", i).meta["seed"] for i in range(100)}
    run = train(made(env="CartPole-v1", steps=1), tmp_path / "run")
    assert len(held_out) == 100
    assert held_out.isdisjoint(e.seed % 2**31 for e in run.batch(0).episodes)


def test_rewards_that_fail_stop_the_run_in_a_line(tmp_path):
    def nan():
        return Broken("nan")

    with refusal(gd.RunStopped):
        train(made(env=nan), tmp_path / "run")


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    return command_line(tmp_path, monkeypatch, capsys)


def test_it_is_one_command(cli, tmp_path):
    (tmp_path / "own.py").write_text(OWN.read_text())
    small = [f"--set={name}={value}" for name, value in SMALL.items() if name not in ("hidden", "steps")]
    said = cli("train", "ppo_control", "--env", "own.py:counting", *small, "--steps", "2", "--out", "run")
    assert said.code == 0, said.err
    assert "held-out return before training: 6.000" in said.out
    assert "spent     128 env steps, 16 updates" in said.out
    assert "env steps/s" in said.out
    assert "tokens" not in said.out
    run = Run("run")
    assert run.headline.text == "6.000 (6.000 to 6.000) -> 6.000 (6.000 to 6.000)  held-out counting"
    assert run.folder.report.is_file()
    tried = cli("train", "ppo_control", "--env", "own.py:counting", *small, "--dry-run")
    assert "env steps  64 a step" in tried.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ppo_control", "--env", "CartPoole-v1"], "unknown environment 'CartPoole-v1': did you mean 'CartPole-v1'?"),
        (
            ["ppo_control", "--task", "chain:1"],
            "ppo_control has a fixed world (the environment that --env names): leave",
        ),
        (
            ["grpo", "--task", "chain:1", "--env", "CartPole-v1"],
            "grpo has no environment to choose, as recipes for control",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(cli, words, told):
    refused(cli("train", *words), told)


@pytest.mark.peers("stable-baselines3")
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_loss_and_gradient_are_those_of_stable_baselines3(tmp_path, env):
    from gymnasium import make
    from stable_baselines3.common.policies import ActorCriticPolicy

    recipe = made(env=env, steps=1, hidden=(64, 64), entropy_weight=0.01)
    run = train(recipe, tmp_path / "run")
    ours, loss = recipe.models["policy"], recipe.stages.learners[0].loss
    ours.start(7, {})
    world = make(env)
    theirs = ActorCriticPolicy(world.observation_space, world.action_space, lambda _: 1e-3, net_arch=[64, 64])
    pairs = {
        "mlp_extractor.policy_net.0": ours.net.policy[0],
        "mlp_extractor.policy_net.2": ours.net.policy[2],
        "mlp_extractor.value_net.0": ours.net.value[0],
        "mlp_extractor.value_net.2": ours.net.value[2],
        "action_net": ours.net.policy[4],
        "value_net": ours.net.value[4],
    }
    weights = {f"{name}.{kind}": getattr(layer, kind) for name, layer in pairs.items() for kind in ("weight", "bias")}
    if ours.moves:
        weights["log_std"] = ours.net.log_std
    theirs.load_state_dict({name: weight.detach() for name, weight in weights.items()}, strict=False)

    batch = run.batch(0).without("reward", "reward_turns")
    share = batch.share_steps(2, torch.Generator().manual_seed(0), True, ours.row)[0]
    value, _ = loss(share, ours.read(share, loss.wants))
    value.backward()

    seen, advantage = share.context.view(share.S, -1), share["advantage"]
    found, logp, entropy = theirs.evaluate_actions(seen, share.action)
    ratio = torch.exp(logp - share.logp)  # ppo.py, `train`
    policy_loss = -torch.min(advantage * ratio, advantage * torch.clamp(ratio, 1 - 0.2, 1 + 0.2)).mean()
    value_loss = torch.nn.functional.mse_loss(share["return"], found.flatten())
    whole = policy_loss + 0.01 * -torch.mean(entropy) + 0.5 * value_loss
    whole.backward()
    assert_rounded(value, whole, terms=share.S + 64)
    named = dict(theirs.named_parameters())
    for name, weight in weights.items():
        assert_rounded(weight.grad, named[name].grad, terms=share.S + 64)
