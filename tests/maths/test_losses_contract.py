"""What every loss must hold: order, micro-batches and what has no value change nothing; gradients are right."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil

import pytest
import torch
from scheduling import little_and_much
from shelf import LOSSES, batch_of, live_of
from strategies import episode, segment

import guerdon.losses
from guerdon.core.batch import Count
from guerdon.core.column import Column
from guerdon.core.part import PARTS

pytestmark = pytest.mark.sampled(12, "name")
NAN = float("nan")


def tries():
    """Chains of 1 to 4 steps, one with steps that were given; every second try is a tree; one is a game of two roles."""
    made = []
    for n in range(8):
        first = segment([0] * (1 + n % 4), logp=[-1.0 - 0.1 * t for t in range(1 + n % 4)], given=int(n == 3))
        rest = [segment([0] * 2, parent=0), segment([0] * (1 + n % 3), parent=0)] if n % 2 else []
        rest += [segment([0] * 2, role="second"), segment([0], role="second", parent=1)] if n == 6 else []
        made.append(episode(first, *rest, name="ab"[n % 2], attempt=n))
    return made


@functools.cache
def whole():
    """The batch that every loss is held to, packed once. No loss writes into it."""
    return batch_of(tries())


def found(loss, batch):
    total, metrics = loss(batch, live_of(batch))
    return float(total), {n: float(x) for n, x in metrics.items()}


@pytest.mark.sampled(5, "name")
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
    batch = whole()
    micros = batch.split(most)
    assert len(micros) > 1
    total, metrics = found(LOSSES[name], batch)
    parts = [found(LOSSES[name], micro) for micro in micros]
    assert sum(p[0] for p in parts) == pytest.approx(total, rel=1e-9)
    summed = {n: sum(p[1][n] for p in parts) for n in metrics}
    assert summed == {n: pytest.approx(x, rel=1e-5, abs=1e-7) for n, x in metrics.items()}
    derived = LOSSES[name].derive(summed)
    assert derived == {n: pytest.approx(x, rel=1e-4, abs=1e-6) for n, x in LOSSES[name].derive(metrics).items()}


@pytest.mark.parametrize("name", LOSSES)
@little_and_much("fast", True, False)
def test_the_gradient_is_that_of_finite_differences(name, fast):
    """Fast: along random directions. Else number by number."""
    if "cispo" in name or name in ("masked", "weights bounded by track", "tracks' advantages"):
        pytest.skip("its weight has no gradient on purpose")
    batch = whole()
    wants = LOSSES[name].wants
    given = {n: x.clone().requires_grad_(n in wants) for n, x in live_of(batch).items()}

    def loss(*readings):
        return LOSSES[name](batch, {**given, **dict(zip(wants, readings, strict=True))})[0]

    assert torch.autograd.gradcheck(loss, [given[n] for n in wants], eps=1e-7, atol=1e-6, fast_mode=fast)


@pytest.mark.parametrize("name", LOSSES)
def test_steps_that_weigh_nothing_may_be_missing_and_get_no_gradient(name):
    batch = whole()
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
    batch = whole()
    nothing = batch.take(torch.zeros(batch.K, dtype=torch.bool))
    assert nothing.count == Count(0.0, 0)
    total, metrics = found(LOSSES[name], nothing)
    assert total == 0 and not any(metrics.values())
    LOSSES[name].derive(metrics)


@pytest.mark.parametrize("name", LOSSES)
def test_tracks_without_a_step_add_nothing_and_break_nothing(name):
    if name in ("bradley_terry", "bradley_terry, scaled", "discriminator") or name.startswith("outcome"):
        pytest.skip("a head reads a track that did nothing as well")
    eps = [*tries(), episode(segment([]), attempt=8)]
    batch, plain = batch_of(eps), whole()
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
    } | {"aot"}  # stages, and one that refuses an update in parts (test_pair.py)


def test_every_part_shows_an_example():
    parts = {name: part for name, part in PARTS.items() if name.startswith("guerdon.losses.")}
    assert not [name for name, part in parts.items() if ">>>" not in (part.__doc__ or "")]
