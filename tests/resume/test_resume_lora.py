"""A run that trains an adapter, with the model below it as reference, goes on to the same weights after it broke."""

from __future__ import annotations

import pytest
import torch
from everything import letters
from killing import Killed
from safetensors.torch import load_file
from small import small_lm

import guerdon as gd
from guerdon import models
from guerdon.core.learn import Learn
from guerdon.core.model import weights_hash
from guerdon.core.optim import adam
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped
from guerdon.models.without_adapter import base
from guerdon.rewards.stage.score_stages import score

OPTIONS = gd.Options(save_every=2, eval_tasks=0)


def brief(completion):
    """Something that differs between tries."""
    return -float(len(completion))


def recipe(folder):
    model = small_lm(folder)
    model.lora = 2
    learn = Learn("policy", clipped() + kl(0.1), opt=adam(lr=1e-2))
    return gd.Recipe(
        {"reference": base("policy"), "policy": model}, uniform(letters(), tries=4), single_turn(),
        [score(brief), centre("reward"), learn], sampling=gd.Sampling(max_tokens=4), prompts=2, steps=4,
    )  # fmt: skip


def test_a_broken_run_goes_on_to_the_same_adapter(tmp_path, monkeypatch):
    made = recipe(tmp_path / "lm")
    whole = gd.train(made, seed=3, out=tmp_path / "whole", options=OPTIONS)
    plain, calls = Learn.update, []

    def breaks(self, *args):
        calls.append(1)
        if len(calls) == 4:
            raise Killed
        return plain(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Learn, "update", breaks)
        with pytest.raises(Killed):
            gd.train(made, seed=3, out=tmp_path / "broken", options=OPTIONS)
    again = gd.train(made, resume=tmp_path / "broken")
    assert again.complete and again.weights == whole.weights
    assert again.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    assert again.metrics["policy/kl_reference"].to_pylist()[0] == pytest.approx(0.0, abs=1e-6)
    assert again.metrics["policy/kl_reference"].to_pylist()[-1] > 1e-4

    held = load_file(sorted((tmp_path / "broken" / "checkpoints").iterdir())[-1] / "tensors.safetensors")
    assert not any(name.startswith("model/reference/") for name in held)
    trained = again.model()
    assert weights_hash(trained.net) == weights_hash(models.load(str(again.path / "models" / "policy")).net)
    start = made.models["policy"].net
    assert not start.has_adapter and torch.equal(trained.net.embed, start.embed)
    assert trained.net.layer_weights()[0].qkv.tolist() != start.layer_weights()[0].qkv.tolist()
