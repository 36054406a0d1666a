"""A small classifier and its training loop, for supervised studies: plain PyTorch, the same on every run of a seed.

What is learned from, and in which order, is an iterable of batches that the study makes; how fast is an optimiser part, whose
learning rate takes any schedule. Left out: convolutions, regularisers, anything but the processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from guerdon.core.optim import adam, sgd
from guerdon.core.schedule import at
from guerdon.core.seeds import derive, generator, seed_torch
from guerdon.studies.digits import CLASSES, PIXELS, Examples

Opt = adam | sgd
Watch = Callable[[nn.Module, int], None]
OPTIMISERS: dict[str, Callable[[Any], Opt]] = {  # from a learning rate or a schedule of it
    "sgd": lambda lr: sgd(lr=lr, momentum=0.9),
    "adam": lambda lr: adam(lr=lr),
}
RATES = {
    "sgd": (0.01, 0.03, 0.1, 0.3, 1.0),
    "adam": (0.001, 0.003, 0.01, 0.03, 0.1),
}  # to choose from, for every arm alike


def network(seed: int, *, hidden: int = 64) -> nn.Sequential:
    """One hidden layer, with the weights of this seed."""
    with torch.random.fork_rng(devices=[]):
        seed_torch(derive(seed, "network"))
        return nn.Sequential(nn.Linear(PIXELS, hidden), nn.ReLU(), nn.Linear(hidden, CLASSES))


def shuffled(examples: Examples, samples: int, batch: int, *path: int | str) -> Iterator[Examples]:
    """Batches from one shuffle after the other, until so many samples are drawn."""
    draw, drawn = generator(*path, "shuffled"), 0
    while drawn < samples:
        rows = torch.randperm(len(examples), generator=draw)[: samples - drawn]
        yield from (examples[chunk] for chunk in torch.split(rows, batch))
        drawn += len(rows)


def learn(net: nn.Module, batches: Iterable[Examples], opt: Opt, steps: int, watch: Watch | None = None) -> None:
    """Learn from one batch after the other. `steps` is what schedules take for the whole run. `watch` is called with the
    number of steps done after each, while the weights still have its gradient."""
    optimiser = opt.build(net.parameters())
    for step, batch in enumerate(batches):
        optimiser.zero_grad()
        cross_entropy(net(batch.x), batch.y).backward()  # type: ignore[no-untyped-call]
        for group in optimiser.param_groups:
            group["lr"] = at(opt.lr, step, steps)
        optimiser.step()
        if watch is not None:
            watch(net, step + 1)


def fitted(
    seed: int, examples: Examples, opt: Opt, steps: int, batch: int, watch: Watch | None = None
) -> nn.Sequential:
    """A network after so many steps in the plain way: pass after pass over all examples, shuffled."""
    net = network(seed)
    learn(net, shuffled(examples, steps * batch, batch, seed), opt, steps, watch)
    return net


def gradient_norm(net: nn.Module, order: int) -> float:
    """Of all weights together: the sum of absolute values (1), or the Euclidean length (2)."""
    grads = [weight.grad for weight in net.parameters() if weight.grad is not None]
    return float(nn.utils.get_total_norm(grads, norm_type=float(order)))


@torch.no_grad()
def losses(net: nn.Module, examples: Examples) -> Tensor:
    """The cross-entropy of every example."""
    return cross_entropy(net(examples.x), examples.y, reduction="none")


def loss(net: nn.Module, examples: Examples) -> float:
    return float(losses(net, examples).mean())


@torch.no_grad()
def accuracy(net: nn.Module, examples: Examples) -> float:
    return float((net(examples.x).argmax(1) == examples.y).double().mean())


def best_rate(optimiser: str, train: Callable[[float], nn.Module], by: Examples) -> float:
    """Of the learning rates tried with an optimiser, the one that trains the network with the lowest loss on `by`."""
    losses_by_rate = {rate: loss(train(rate), by) for rate in RATES[optimiser]}
    return min(
        losses_by_rate, key=lambda rate: losses_by_rate[rate] if math.isfinite(losses_by_rate[rate]) else math.inf
    )
