"""Rewards and checks of text over a policy that makes none, such as one of continuous actions: refused, never a silent 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from torch import nn

import guerdon as gd
from guerdon.core.model import Model, Reply
from guerdon.core.task import truth_of
from guerdon.training.readings import reads_text

QUIET = {"eval_tasks": 0}


@gd.part
class pushes(Model):
    """A policy of continuous actions: a push drawn around a mean. It says nothing."""

    reads = {"logp": "step", "entropy": "step"}

    def build(self, seed):
        return nn.Linear(1, 1)

    def encode(self, view, path=()):
        return np.ones(1, np.float32)

    def act(self, requests):
        mean = float(self.weights.bias)
        draws = [torch.randn(1, generator=torch.Generator().manual_seed(r.seed)) + mean for r in requests]
        logp = [np.asarray(-((d - mean) ** 2) / 2, np.float32) for d in draws]
        return [Reply(self.encode(r.view), d.numpy(), p, "") for r, d, p in zip(requests, draws, logp, strict=True)]

    def teacher_force(self, view, text, path=()):
        raise NotImplementedError

    def read(self, batch, want):
        logp = -((batch.action.view(-1) - self.weights.bias) ** 2) / 2
        return {name: {"logp": logp, "entropy": torch.zeros_like(logp)}[name] for name in want}


def firm(actions) -> float:
    return float(actions[0])


def brief(completion) -> float:
    return float(len(completion) < 9)


def trained(out, reward, **options):
    task = gd.tasks.load("parity")
    learn = gd.Learn("policy", gd.losses.clipped(), opt=gd.adam(lr=0.1))
    stages = [gd.rewards.verified(task), gd.rewards.score(reward), gd.credit.centre("reward"), learn]
    curriculum = gd.curricula.uniform(task, tries=2)
    recipe = gd.Recipe({"policy": pushes()}, curriculum, gd.envs.single_turn(), stages, exams=[gd.Exam(task)])
    return gd.train(recipe.but(prompts=2, steps=1), out=out, options=gd.Options(**(options or QUIET)))


@pytest.mark.parametrize(
    ("reward", "name"), [(gd.exact(), "exact"), (brief, "brief"), (gd.exact() + gd.reward(firm), "exact")]
)
def test_a_reward_of_text_is_refused_where_none_is_made(tmp_path, reward: Any, name: str):
    with pytest.raises(gd.RunStopped) as caught:
        trained(tmp_path / "run", reward)
    assert str(caught.value) == (
        f"reward {name} reads the completion, and 'policy' makes no text: give a reward that takes made, actions or path"
    )


def test_a_reward_of_actions_is_not_and_the_truth_does_not_apply(tmp_path):
    run = trained(tmp_path / "run", firm)
    batch = run.batch(0)
    assert not batch.cols["reward"].missing.any() and batch.cols["correct"].missing.all()
    with refusal(gd.RunStopped):
        trained(tmp_path / "examined", firm, eval_tasks=4)


def test_an_exam_by_a_reward_of_text_is_refused_too():
    task = gd.tasks.load("parity")
    exam = gd.Exam(task, [gd.exams.mean_reward(gd.reward(brief))])
    with refusal(gd.RunStopped):
        gd.evaluate(pushes(), exam=exam, tasks=2)


def test_an_empty_answer_of_a_model_that_makes_text_is_wrong(tmp_path):
    found = gd.evaluate(gd.models.scripted(lambda *_: ""), task="parity", reward=gd.exact(), tasks=4)
    assert found["pass@1"] == 0.0 and found["reward"] == 0.0
    task = gd.tasks.load("parity").get("test", 0)
    silent = gd.Segment("policy", task.prompt, [5], [1], [0.0], text="")  # the end, at once
    assert truth_of(gd.tasks.load("parity"), task, {"completion": "", "path": [silent]}) == 0.0


def test_which_rewards_are_of_text_alone():
    def either(made, completion):
        return 1.0

    def if_any(view, completion=""):
        return 1.0

    assert [reads_text(gd.reward(f)) for f in (brief, firm, either, if_any)] == [True, False, False, False]
    assert reads_text(gd.majority()) and reads_text(gd.judge("sprig", question="Is it right?"))
