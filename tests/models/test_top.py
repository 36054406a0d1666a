"""Several tokens at a place: against the whole softmax, with gradients, and as a teacher and a student use them."""

from __future__ import annotations

import pytest
import torch
from scheduling import mostly_slow

import guerdon as gd
from guerdon import models
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.losses.distillation import distilled, divergence
from guerdon.models import logit_head as heads
from guerdon.models.logit_head import NAMED, logp_at, top_tokens
from guerdon.tasks import load


def some(n=7, width=5, vocabulary=90, seed=0):
    torch.manual_seed(seed)
    return (
        torch.randn(n, width, dtype=torch.float64, requires_grad=True),
        torch.randn(vocabulary, width, dtype=torch.float64, requires_grad=True),
        torch.rand(n, dtype=torch.float64) + 0.5,
    )


@pytest.mark.parametrize("at_once", [1 << 24, 200])  # in one go, and two places at a time
def test_likeliest_tokens_are_those_of_the_whole_softmax(monkeypatch, at_once):
    monkeypatch.setattr(heads, "LOGITS", at_once)
    hidden, head, heat = some()
    token, logp = top_tokens(hidden, head, heat)
    whole = torch.log_softmax(hidden @ head.t() / heat[:, None], -1)
    best = whole.topk(NAMED, -1)
    assert torch.equal(token, best.indices)
    torch.testing.assert_close(logp, best.values)


def test_a_small_vocabulary_is_named_whole():
    hidden, head, heat = some(vocabulary=11)
    token, logp = top_tokens(hidden, head, heat)
    assert token.shape == (7, 11)
    torch.testing.assert_close(logp.exp().sum(1), torch.ones(7, dtype=torch.float64))


@pytest.mark.parametrize("at_once", [1 << 24, 200])
def test_log_probs_of_given_tokens_and_their_gradient(monkeypatch, at_once):
    monkeypatch.setattr(heads, "LOGITS", at_once)
    hidden, head, heat = some()
    token = torch.randint(0, 90, (7, 3))
    pull = torch.randn(7, 3, dtype=torch.float64)
    found = logp_at(hidden, head, token, heat)
    whole = torch.log_softmax(hidden @ head.t() / heat[:, None], -1).gather(1, token)
    torch.testing.assert_close(found, whole)
    ours = torch.autograd.grad((found * pull).sum(), (hidden, head))
    theirs = torch.autograd.grad((whole * pull).sum(), (hidden, head))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_a_student_is_held_against_its_teacher_at_the_named_tokens():
    """What `distilled` makes of the two models' readings is the divergence over the named tokens and the rest."""
    student = models.load("sprig-1.1")
    student.start(0, {})
    teacher = models.load("sprig-1.1")
    teacher.start(0, {})
    with torch.no_grad():
        for weight in teacher.weights.parameters():
            drawn = torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
            weight += 0.05 * weight.abs().mean() * drawn.to(weight)
    play = Player({"policy": student}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=8), 0, 1)
    source = load("countdown:2")
    batch = pack(play([Ask(source.get("train", i), 2) for i in range(2)]))
    named = {name: x.cpu() for name, x in teacher.read(batch, ["top_token", "top_logp", "logp"]).items()}
    columns = {f"teacher.{n}": gd.Column.full("step", named[n].float().detach()) for n in ("top_token", "top_logp")}
    batch = batch.with_cols(columns)
    live = student.read(batch, ["logp_at"])
    assert live["logp_at"].shape == (batch.S, NAMED) and live["logp_at"].requires_grad
    # the token that was said, where it is among the named
    said = named["top_token"] == batch.action[:, None]
    known = said.any(1)
    torch.testing.assert_close(named["top_logp"][said], named["logp"][known], atol=1e-5, rtol=1e-5)
    live = {name: value.detach().cpu() for name, value in live.items()}
    loss, metrics = distilled(mix=0.0)(batch, live)
    rest = [
        torch.log1p(-x.exp().sum(1, keepdim=True).clamp(max=1 - 1e-6)) for x in (named["top_logp"], live["logp_at"])
    ]
    both = [torch.cat(pair, 1) for pair in zip((named["top_logp"], live["logp_at"]), rest, strict=True)]
    assert float(loss) == pytest.approx(float(divergence(*both, 0.0).mean()), rel=1e-4)
    assert float(loss) > 0 and float(metrics["teacher_mass"]) > 0.9


def test_named_by_nobody_is_refused():
    student = models.load("sprig-1.1")
    student.start(0, {})
    play = Player({"policy": student}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=2), 0, 1)
    batch = pack(play([Ask(load("countdown:2").get("train", 0))]))
    with pytest.raises(gd.UserError, match="one teacher named"):
        student.read(batch, ["logp_at"])


@pytest.mark.slow
@pytest.mark.parametrize("mix", mostly_slow([0.0, 0.5, 1.0], 0.5))
def test_distilling_over_the_likeliest_tokens_brings_the_student_nearer(tmp_path, mix):
    """From a student whose head was disturbed back to sprig: the divergence falls."""
    student = models.load("sprig-1.1")
    student.start(0, {})
    with torch.no_grad():
        head = student.decoder.head_weight
        head += 2.0 * head.std() * torch.randn(head.shape, generator=torch.Generator().manual_seed(2)).to(head)
    run = gd.train(
        "distill", task="countdown:2", model=student, teacher="sprig-1.1", over="top", mix=mix, prompts=2, tries=4,
        max_tokens=12, lr=2e-4, steps=12, out=tmp_path / "run", options=gd.Options(eval_tasks=0, rollouts_every=0),
    )  # fmt: skip
    apart = run.metrics["policy/divergence"].to_pylist()
    assert sum(apart[-3:]) < 0.8 * sum(apart[:3]), apart  # one step's is of eight samples
