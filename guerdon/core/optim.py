"""Optimisers as parts: knobs in, a torch optimiser out.

Torch guards an optimiser's methods against its compiler, and to do so imports the compiler, which takes longer than all
else that a training begins with. Ours are torch's classes with the guards taken off: the arithmetic is torch's own.

Weights in half precision get a master copy in float32, which the optimiser works on;
gradients are added up in float32 too.
A step of 1e-5 of a weight's size would vanish in bfloat16, which keeps three digits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from guerdon.core.part import knob, part


class _Unguarded(Optimizer):
    """The methods that torch guards, as they stand below the guard. Nothing here is ever compiled."""

    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    state_dict = inspect.unwrap(Optimizer.state_dict)
    load_state_dict = inspect.unwrap(Optimizer.load_state_dict)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)


class _AdamW(_Unguarded, torch.optim.AdamW):
    step = torch.no_grad()(inspect.unwrap(torch.optim.AdamW.step))


class _SGD(_Unguarded, torch.optim.SGD):
    step = torch.no_grad()(inspect.unwrap(torch.optim.SGD.step))


@part
class adam:
    """AdamW (arXiv:1711.05101). Defaults are torch's, except no weight decay, as in TRL's GRPO.

    Args:
        lr: learning rate.
        beta1: decay of the gradient's running mean.
        beta2: decay of its running mean square.
        eps: added to the root of the mean square.
        weight_decay: decoupled weight decay.

    >>> import guerdon as gd
    >>> gd.adam(lr=3e-4), gd.adam(lr=gd.linear(1e-3, 0.0))
    (adam(lr=0.0003), adam(lr=linear(start=0.001, end=0.0)))
    """

    lr: float = knob(default=1e-3, ge=0.0, le=1e6)
    beta1: float = knob(default=0.9, ge=0.0, le=1.0)
    beta2: float = knob(default=0.999, ge=0.0, le=1.0)
    eps: float = knob(default=1e-8, gt=0.0)
    weight_decay: float = knob(default=0.0, ge=0.0)

    def build(self, weights: Iterable[nn.Parameter]) -> Optimizer:
        def make(weights: list[nn.Parameter]) -> Optimizer:
            betas = (self.beta1, self.beta2)
            return _AdamW(weights, lr=0.0, betas=betas, eps=self.eps, weight_decay=self.weight_decay, fused=True)

        return with_masters(make, list(weights))


@part
class sgd:
    """Plain stochastic gradient descent with momentum.

    Args:
        lr: learning rate.
        momentum: decay of the running sum of gradients; 0 is none.

    >>> import guerdon as gd
    >>> gd.sgd(lr=0.1, momentum=0.9)
    sgd(lr=0.1, momentum=0.9)
    """

    lr: float = knob(default=1e-2, ge=0.0, le=1e6)
    momentum: float = knob(default=0.0, ge=0.0, le=1.0)

    def build(self, weights: Iterable[nn.Parameter]) -> Optimizer:
        def make(weights: list[nn.Parameter]) -> Optimizer:
            return _SGD(weights, lr=0.0, momentum=self.momentum)

        return with_masters(make, list(weights))


def with_masters(make: Callable[[list[nn.Parameter]], Optimizer], weights: list[nn.Parameter]) -> Optimizer:
    """An optimiser of the weights, in place of which those in half precision have their masters in it."""
    pairs = [(w, nn.Parameter(w.detach().float())) for w in weights if w.dtype in (torch.bfloat16, torch.float16)]
    if not pairs:
        return make(weights)
    master_of = {id(weight): master for weight, master in pairs}
    optimiser = make([master_of.get(id(w), w) for w in weights])

    def gather(weight: Tensor) -> None:
        master = master_of[id(weight)]
        assert weight.grad is not None
        master.grad = weight.grad.float() if master.grad is None else master.grad.add_(weight.grad)
        weight.grad = None

    def write_back(opt: Optimizer, *_: Any) -> None:
        with torch.no_grad():
            torch._foreach_copy_([weight for weight, _ in pairs], [master for _, master in pairs])
            for pair in pairs:
                opt.state[pair[1]]["master"] = pair[1].data  # so that a checkpoint has it

    def restore(opt: Optimizer) -> None:
        with torch.no_grad():
            for weight, master in pairs:
                master.copy_(opt.state[master].get("master", weight))

    for weight, _ in pairs:
        weight.register_post_accumulate_grad_hook(gather)  # type: ignore[no-untyped-call]
    optimiser.register_step_post_hook(write_back)
    optimiser.register_load_state_dict_post_hook(restore)
    return optimiser
