"""Gradients of a whole model on a GPU are those on the CPU, for every loss of the shelf: through kernels, attention and head.

Where test tools are few: `PYTHONPATH=.:tests python -m pytest --noconftest tests/models/test_gpu_gradients.py`.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import torch
from shelf import LOSSES, TOP, batch_of

from guerdon import models
from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.task import Ask, Task
from guerdon.models import value_head

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

LONG = "sort the list [" + ", ".join(str(n) for n in range(150)) + "]"  # long enough for attention without a mask
VIEWS = ["12 + 345", "x + 4 = 9", "sort [3, 1]", "reach 24 with 3, 8"]
TEXTS = ["it is 357", "x = 5", "1 3", "8 * 3 = 24"]


@functools.cache
def sprig(on, dtype="float32", **knobs):
    """With a head whose numbers are not zero, or nothing below it would be learned from what it says."""
    model = models.load("sprig", value=True, on=on, dtype=dtype, **knobs)
    model.start(0, {})
    head = value_head.head_of(model.weights)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in head.parameters():
            weight.copy_(0.1 * torch.randn(weight.shape, generator=generator))
    return model


def segment(model, n, parent=-1, path=(), role="policy", given=0):
    view = LONG if n == 2 else VIEWS[n % 4]
    said = model.teacher_force(view, TEXTS[n % 4], path)
    return Segment(role, view, said.context, said.actions, said.logp, said.text, parent, given=given)


@functools.cache
def batch():
    """Chains, trees and a game of two roles, as the contract of losses has them, in sprig's words; sampled long ago, that is
    with log-probs that are somewhat off."""
    model, eps = sprig("cpu"), []
    for n in range(8):
        first = segment(model, n, given=int(n == 3))
        rest = [segment(model, n + i, 0, (first,)) for i in (3, 4)] if n % 2 else []
        rest += [segment(model, 1, role="second")] if n == 6 else []
        ask = Ask(Task(id="ab"[n % 2], prompt=VIEWS[n % 4], answer="1"))
        eps.append(Episode(ask, (first, *rest), 0, 0, n, {}))
    made = batch_of(eps)
    cols = {n: dataclasses.replace(c, value=c.value.float()) for n, c in made.cols.items() if not n.startswith("live.")}
    rng = np.random.default_rng(0)
    named = np.stack([rng.choice(model.config.vocab, TOP, replace=False) for _ in range(made.S)])
    cols["teacher.top_token"] = Column.full("step", torch.from_numpy(named).float())
    with torch.no_grad():
        logp = model.read(made, ["logp"])["logp"]
    old, *others = logp + 0.15 * torch.randn(3, made.S, generator=torch.Generator().manual_seed(6))
    cols |= {n: Column.full("step", x) for n, x in zip(("policy.logp", "reference.logp"), others, strict=True)}
    bare = made.without(*made.cols)
    return dataclasses.replace(bare, logp=torch.where(made.weight > 0, old, made.logp)).with_cols(cols).recount()


def gradients(name, model):
    """Of every weight, by its name, on the CPU."""
    model.weights.zero_grad(set_to_none=True)
    loss, _ = LOSSES[name](batch().to(model.device), model.read(batch(), LOSSES[name].wants))
    loss.backward()
    found = {n: p.grad.cpu().double() for n, p in model.weights.named_parameters() if p.grad is not None}
    return float(loss.detach()), found


def hold(name, model, reference):
    """Within a thousandth of each weight's gradient and a millionth of the largest: float32, summed otherwise."""
    (loss, got), (expected, want) = gradients(name, model), gradients(name, reference)
    assert loss == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert set(got) == set(want)
    largest = max(float(g.norm()) for g in want.values())
    assert largest > 0
    off = {n: (float((got[n] - want[n]).norm()), float(want[n].norm())) for n in want}
    assert {n: pair for n, pair in off.items() if pair[0] > 1e-3 * pair[1] + 1e-6 * largest} == {}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_on_the_cpu(name):
    hold(name, sprig("cuda"), sprig("cpu"))


@pytest.mark.parametrize("knobs", [{"recompute": True}, {"lora": 4}], ids=str)
def test_they_are_so_with_an_adapter_and_computed_again(knobs):
    hold("grpo", sprig("cuda", **knobs), sprig("cpu", **knobs))


@pytest.mark.parametrize("name", ["sft", "awr", "value", "bradley_terry"])
def test_in_half_precision_they_point_the_same_way(name):
    """Losses without an edge that rounding could carry a step over."""
    got, want = gradients(name, sprig("cuda", "bfloat16"))[1], gradients(name, sprig("cpu"))[1]
    a, b = (torch.cat([found[n].flatten() for n in sorted(want)]) for found in (got, want))
    assert float(a @ b / (a.norm() * b.norm())) > 0.99
    assert float(a.norm() / b.norm()) == pytest.approx(1.0, abs=0.05)
