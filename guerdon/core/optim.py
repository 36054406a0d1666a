"""Optimisers as parts: knobs in, a torch optimiser out."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from guerdon.core.part import knob, part


@part
class adam:
    """AdamW (arXiv:1711.05101). Defaults are torch's, except no weight decay, as in TRL's GRPO."""

    lr: float = knob(default=1e-3, ge=0.0, le=1e6)
    beta1: float = knob(default=0.9, ge=0.0, le=1.0)
    beta2: float = knob(default=0.999, ge=0.0, le=1.0)
    eps: float = knob(default=1e-8, gt=0.0)
    weight_decay: float = knob(default=0.0, ge=0.0)

    def build(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            weights, lr=0.0, betas=(self.beta1, self.beta2), eps=self.eps, weight_decay=self.weight_decay
        )


@part
class sgd:
    """Plain stochastic gradient descent with momentum."""

    lr: float = knob(default=1e-2, ge=0.0, le=1e6)
    momentum: float = knob(default=0.0, ge=0.0, le=1.0)

    def build(self, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(weights, lr=0.0, momentum=self.momentum)
