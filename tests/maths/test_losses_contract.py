"""What every loss must hold: order, micro-batches and what has no value change nothing; gradients are right."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import pkgutil

import pytest
import torch
from strategies import episode, segment

import guerdon.losses
from guerdon.core.batch import Count, Pairs
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.core.part import PARTS
from guerdon.losses.critic import value
from guerdon.losses.distillation import distilled
from guerdon.losses.eased import eased_kl
from guerdon.losses.imitation import advantage_weighted, sft
from guerdon.losses.old_policy import masked, sampled, truncated
from guerdon.losses.pair import better_nll, dpo, odds_ratio
from guerdon.losses.penalties import entropy, kl
from guerdon.losses.policy import clipped, reweighted
from guerdon.losses.reward_model import bradley_terry, implicit_outcome, outcome, step_labels
from guerdon.losses.signs import by_sign
from guerdon.losses.unpaired import kto
from guerdon.losses.weighed import weighed

NAN = float("nan")
TOP = 3

LOSSES = {
    "grpo": clipped(),
    "dapo": clipped(high=0.28, mean="step"),
    "dr_grpo": clipped(mean="constant", constant=7.0),
    "gspo": clipped(ratio="track"),
    "gspo, by step": clipped(ratio="track", mean="step"),
    "dual": clipped(dual=1.5),
    "bounded": clipped(old=sampled(bound=0.1)),
    "truncated": clipped(old=truncated(1.1)),
    "truncated, by track": clipped(old=truncated(1.1, level="track")),
    "masked": reweighted(old=masked(0.8, 1.2)),
    "masked, by track": clipped(ratio="track", old=masked(0.8, 1.2, level="track"), mean="constant"),
    "cispo": reweighted(high=0.2),
    "cispo, by track": reweighted(ratio="track", mean="track"),
    "bounds by step": clipped(low="tight", high="wide"),
    "bounds by turn": clipped(high="turn", mean="step"),
    "bounds by track": clipped(low="label", high="z", mean="constant"),
    "weights bounded by track": reweighted(high="z", low="tight"),
    "turns' advantages": clipped(advantage="turn"),
    "tracks' advantages": reweighted(advantage="z"),
    "awr, by track": advantage_weighted(advantage="z"),
    "weighed by step": weighed(clipped(), by="tight"),
    "weighed by turn": weighed(clipped(mean="step") + kl(0.1), by="turn"),
    "weighed by track": weighed(sft(mean="constant"), by="z"),
    "weighed by track, ratio too": weighed(clipped(ratio="track"), by="z"),
    "kto, weighed": weighed(kto(baseline="z"), by="z"),
    "outcome, weighed": weighed(outcome("label", kind="logistic"), by="z"),
    "by sign": by_sign(clipped(), positive=0.1),
    "kl": clipped() + kl(0.3) + kl(0.2, kind="k1") + kl(0.1, kind="k2") + entropy(0.1),
    "kl, corrected": kl(0.3, corrected=True),
    "kl, eased": eased_kl(0.3, column="label"),
    "value": value(),
    "value, clipped": value(clip=0.2, old="critic.value", mean="track"),
    "sft": sft(),
    "awr": advantage_weighted(most=2.0),
    "dpo": dpo(smoothing=0.1),
    "ipo": dpo(link="square", per="step"),
    "hinge": dpo(1.0, link="hinge"),
    "simpo": dpo(2.0, to="", per="step", margin=0.5, offset=0.3),
    "orpo": odds_ratio() + better_nll(),
    "kto": kto(baseline="z"),
    "bradley_terry": bradley_terry(margin=0.5, centre=0.1, smoothing=0.1),
    "bradley_terry, scaled": bradley_terry(scaled=True),
    "outcome": outcome("label"),
    "outcome, logistic": outcome("label", kind="logistic"),
    "step labels": step_labels(good=0.5),
    "implicit outcome": implicit_outcome(0.5, target="label"),
    "forward": distilled(mix=0.0),
    "reverse": distilled(mix=1.0, rest="renormalise"),
    "jensen-shannon": distilled(mix=0.3, rest="drop", mean="track"),
}
STEP = {"reference.logp": -1.3, "policy.logp": -1.0, "advantage": 0.0, "return": 0.5, "critic.value": 0.4}
LIVE_STEP = {"logp": -1.0, "entropy": 1.0, "value": 0.5, "after": 0.0}


def tries():
    """Chains of 1 to 4 steps, one with steps that were given; every second try is a tree; one is a game of two roles."""
    made = []
    for n in range(8):
        first = segment([0] * (1 + n % 4), logp=[-1.0 - 0.1 * t for t in range(1 + n % 4)], given=int(n == 3))
        rest = [segment([0] * 2, parent=0), segment([0] * (1 + n % 3), parent=0)] if n % 2 else []
        rest += [segment([0] * 2, role="second"), segment([0], role="second", parent=1)] if n == 6 else []
        made.append(episode(first, *rest, name="ab"[n % 2], attempt=n))
    return made


def draws(ep, size, seed, *tail):
    return torch.randn(size, *tail, generator=torch.Generator().manual_seed(1000 * seed + ep.attempt)).double()


def batch_of(eps):
    """The tries in any order, each with its own numbers; live readings stand among the columns as `live.*`."""
    batch = pack(eps)
    alone = [pack([ep]) for ep in eps]

    def col(level, seed, *tail, scale=0.3):
        return torch.cat([draws(ep, b.size(level), seed, *tail) * scale for ep, b in zip(eps, alone, strict=True)])

    step = {n: at + col("step", i) for i, (n, at) in enumerate(STEP.items())}
    step |= {f"live.{n}": at + col("step", 20 + i) for i, (n, at) in enumerate(LIVE_STEP.items())}
    step["labels"] = (col("step", 50) > 0).double() * 0.9
    step["teacher.top_token"] = torch.zeros(batch.S, TOP).double()
    step["teacher.top_logp"] = torch.log_softmax(col("step", 51, TOP + 1), 1)[:, :TOP]
    step["live.logp_at"] = torch.log_softmax(col("step", 52, TOP + 1), 1)[:, :TOP]
    step |= {"tight": col("step", 53).abs().clamp(max=0.9), "wide": col("step", 54).abs()}
    segment_ = {"turn": col("segment", 55).abs()}
    track = {"label": (col("track", 60) > 0).double(), "correct": (col("track", 61) > 0).double()}
    track |= {"z": 0.1 + col("track", 63).abs(), "live.final": col("track", 62)}
    levels = {"step": step, "segment": segment_, "track": track}
    cols = {n: Column.full(level, x) for level, named in levels.items() for n, x in named.items()}
    at = {ep.attempt: int(k) for k, ep in _first_track(batch, eps)}
    pairs = Pairs(
        torch.tensor([at[0], at[4], at[1], at[7]]),
        torch.tensor([at[1], at[5], at[2], at[6]]),
        torch.tensor([0.1, 0.5, 1.0, 0.0]).double(),
        torch.tensor([1.0, 0.7, 0.5, 1.0]).double(),
    )
    return dataclasses.replace(batch.with_cols(cols), pairs=pairs).recount()


def _first_track(batch, eps):
    home = batch.episode[batch.leaf]
    return [(int((home == e).nonzero()[0]), ep) for e, ep in enumerate(eps)]


def live_of(batch):
    return {n.removeprefix("live."): batch[n] for n in batch.cols if n.startswith("live.")}


def found(loss, batch):
    total, metrics = loss(batch, live_of(batch))
    return float(total), {n: float(x) for n, x in metrics.items()}


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_tries_changes_nothing(name):
    eps = tries()
    one = found(LOSSES[name], batch_of(eps))
    other = found(LOSSES[name], batch_of([eps[i] for i in (5, 2, 7, 0, 3, 6, 1, 4)]))
    assert one[0] == pytest.approx(other[0], rel=1e-9)
    assert one[1] == {n: pytest.approx(x, rel=1e-6, abs=1e-9) for n, x in other[1].items()}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("most", [1, 12])
def test_micro_batches_add_up_in_loss_and_metrics(name, most):
    batch = batch_of(tries())
    micros = batch.split(most)
    assert len(micros) > 1
    whole, metrics = found(LOSSES[name], batch)
    parts = [found(LOSSES[name], micro) for micro in micros]
    assert sum(p[0] for p in parts) == pytest.approx(whole, rel=1e-9)
    summed = {n: sum(p[1][n] for p in parts) for n in metrics}
    assert summed == {n: pytest.approx(x, rel=1e-5, abs=1e-7) for n, x in metrics.items()}
    derived = LOSSES[name].derive(summed)
    assert derived == {n: pytest.approx(x, rel=1e-4, abs=1e-6) for n, x in LOSSES[name].derive(metrics).items()}


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_is_that_of_finite_differences(name):
    if "cispo" in name or name in ("masked", "weights bounded by track", "tracks' advantages"):
        pytest.skip("its weight has no gradient on purpose")
    batch = batch_of(tries())
    wants = LOSSES[name].wants
    given = {n: x.clone().requires_grad_(n in wants) for n, x in live_of(batch).items()}

    def loss(*readings):
        return LOSSES[name](batch, {**given, **dict(zip(wants, readings, strict=True))})[0]

    assert torch.autograd.gradcheck(loss, [given[n] for n in wants], eps=1e-7, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_steps_that_weigh_nothing_may_be_missing_and_get_no_gradient(name):
    batch = batch_of(tries())
    off = torch.arange(batch.S) % 5 == 4
    off &= batch.length[batch.seg] > 1  # a track keeps a step of its own
    batch = dataclasses.replace(batch, weight=torch.where(off, 0.0, batch.weight))
    base, _ = found(LOSSES[name], batch)
    hole = {}
    for col, x in batch.cols.items():
        if x.level == "step" and not col.startswith("live."):
            gone = off if x.value.dim() == 1 else off[:, None]
            hole[col] = Column("step", torch.where(gone, NAN, x.value), off.to(torch.int8))
    holed = dataclasses.replace(batch.with_cols(hole), logp=torch.where(off, NAN, batch.logp))
    live = {n: x.clone().requires_grad_() for n, x in live_of(batch).items()}
    loss, metrics = LOSSES[name](holed, live)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(base, rel=1e-9)
    assert all(torch.isfinite(x) for x in metrics.values())
    for n in LOSSES[name].wants:
        if live[n].grad is not None and n != "final":
            assert torch.isfinite(live[n].grad).all() and not live[n].grad[off].any()


@pytest.mark.parametrize("name", LOSSES)
def test_no_tracks_at_all_are_no_loss(name):
    batch = batch_of(tries())
    nothing = batch.take(torch.zeros(batch.K, dtype=torch.bool))
    assert nothing.count == Count(0.0, 0)
    total, metrics = found(LOSSES[name], nothing)
    assert total == 0 and not any(metrics.values())
    LOSSES[name].derive(metrics)


@pytest.mark.parametrize("name", LOSSES)
def test_tracks_without_a_step_add_nothing_and_break_nothing(name):
    if name in ("bradley_terry", "bradley_terry, scaled") or name.startswith("outcome"):
        pytest.skip("a head reads a track that did nothing as well")
    eps = [*tries(), episode(segment([]), attempt=8)]
    batch, plain = batch_of(eps), batch_of(tries())
    kept = dataclasses.replace(batch, count=plain.count)
    if name in ("kto", "kto, weighed", "implicit outcome"):  # its log-ratio is 0, which says something about its label
        assert torch.isfinite(torch.tensor(found(LOSSES[name], kept)[0]))
    else:
        assert found(LOSSES[name], kept)[0] == pytest.approx(found(LOSSES[name], plain)[0], rel=1e-9)


def test_every_registered_loss_is_held_to_this():
    def classes(loss):
        inner = {type(getattr(loss, name, None)) for name in ("old", "loss")}
        return {type(loss)} | {type(t) for t in getattr(loss, "terms", ())} | inner

    held = set().union(*(classes(loss) for loss in LOSSES.values()))
    for module in pkgutil.iter_modules(guerdon.losses.__path__):
        importlib.import_module(f"guerdon.losses.{module.name}")
    parts = {p for n, p in PARTS.items() if n.startswith("guerdon.losses.")}
    assert {p.__name__ for p in parts - held} == {
        "kl_cost",
        "finished",
        "mismatched_kl",
        "balanced",
        "climbing",
    }  # stages


@pytest.mark.parametrize("module", [m.name for m in pkgutil.iter_modules(guerdon.losses.__path__)])
def test_examples_in_docstrings(module):
    done = doctest.testmod(importlib.import_module(f"guerdon.losses.{module}"))
    assert done.failed == 0
    assert done.attempted or module in ("reduce", "terms")
