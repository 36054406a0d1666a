"""On a GPU: the same command and seed give the same weights, resumed or not, and a sample does not depend on its company."""

from __future__ import annotations

import pytest
import torch
from killing import Killed

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

import guerdon as gd
from guerdon import models
from guerdon.core.model import Request
from guerdon.core.task import Sampling
from guerdon.engine.batching import answer
from guerdon.training.record import Options

ASKED = [f"countdown {a} {b} {a + 2 * b} -> {a * b}" for a in range(3, 9) for b in range(2, 8)]


def requests(how=None):
    how = how or Sampling(max_tokens=48)
    return [Request((), text, how, seed) for seed, text in enumerate(ASKED * 2)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("how", [Sampling(max_tokens=48), Sampling(max_tokens=16, top_p=0.9)])
def test_a_sample_does_not_depend_on_its_company(dtype, how):
    model = models.load("sprig", dtype=dtype)
    model.start(0, {})
    asked = requests(how)
    together = answer(model, asked)
    for number in (0, 1, 17, 40, 71):
        (alone,) = answer(model, [asked[number]])
        assert alone.actions.tolist() == together[number].actions.tolist()
        assert alone.logp.tobytes() == together[number].logp.tobytes()
    some = answer(model, asked[::-1][:23])[::-1]
    for alone, other in zip(some, together[-23:], strict=True):
        assert alone.logp.tobytes() == other.logp.tobytes()


def test_a_row_that_fills_the_context_is_the_same_beside_rows_that_go_on():
    model = models.load("sprig")
    model.start(0, {})
    texts = ("countdown" + " 5" * count for count in range(model.max_positions))
    room = 5  # less than a round: the row stands still at its end while the others go on
    full = next(text for text in texts if model.max_positions - len(model.encode(text)) <= room)
    filling = [Request((), full, Sampling(max_tokens=48), seed) for seed in range(4)]
    together = answer(model, [*filling, *requests()])
    for request, reply in zip(filling, together, strict=False):
        (alone,) = answer(model, [request])
        assert 0 < len(reply.actions) <= room
        assert alone.actions.tolist() == reply.actions.tolist()
        assert alone.logp.tobytes() == reply.logp.tobytes()


def trained(out, recipe="grpo", steps=6, **more):
    settings = {"task": "countdown:1-6", "model": "sprig", "seed": 1, "steps": steps, "prompts": 8, **more}
    return gd.train(recipe, out=out, options=Options(eval_tasks=0, save_every=2, rollouts_every=0), **settings)


@pytest.mark.parametrize("recipe, knobs", [("grpo", {}), ("grpo", {"kl": 0.04}), ("ppo", {}), ("online_dpo", {})])
def test_the_same_command_gives_the_same_weights(tmp_path, recipe, knobs):
    first = trained(tmp_path / "a", recipe, max_tokens=64, **knobs)
    assert trained(tmp_path / "b", recipe, max_tokens=64, **knobs).weights == first.weights


def test_a_run_that_was_broken_ends_with_the_same_weights(tmp_path):
    whole = trained(tmp_path / "whole", max_tokens=64)

    def stop(event):
        if type(event).__name__ == "StepDone" and event.step == 3:
            raise Killed

    with pytest.raises(Killed):
        trained(tmp_path / "broken", max_tokens=64, listeners=[stop])
    assert gd.train(resume=tmp_path / "broken").weights == whole.weights


def test_in_bfloat16_and_with_an_adapter_too(tmp_path):
    found = [
        trained(tmp_path / str(n), max_tokens=64, settings={"lm.dtype": "bfloat16", "lm.lora": 8}).weights
        for n in range(2)
    ]
    assert found[0] == found[1]


def test_ahead_of_time_and_with_choices_left_out_too(tmp_path):
    more = {"max_tokens": 32, "settings": {"ahead": True, "sampling.top_p": 0.9}}
    assert trained(tmp_path / "a", **more).weights == trained(tmp_path / "b", **more).weights
