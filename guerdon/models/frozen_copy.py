"""A frozen copy of another model of the recipe: a reference, a previous iteration, an opponent from the past."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from torch import nn

from guerdon.core.batch import Batch
from guerdon.core.model import Model
from guerdon.core.part import knob, live, part
from guerdon.models.standin import StandIn, behind


@part
class snapshot(StandIn):
    """The weights of `of` as they were at the start, or `every` so many steps ago at most: copied again after each
    `every`-th step (0: never). Its weights are its own and go to the checkpoint.

    Args:
        of: name of the model.
        every: steps between two copies; 0 keeps the first.

    >>> import guerdon as gd
    >>> {"policy": gd.models.tabular(), "reference": gd.models.snapshot("policy")}
    {'policy': tabular(), 'reference': snapshot(of='policy')}
    """

    of: str
    every: int = knob(default=0, ge=0)

    source: Any = live()

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        self.source = models[self.of]
        self.source.start(seed, models)
        if self.net is None:  # a snapshot kept from an earlier run stays as it was
            self.refresh()

    def refresh(self) -> None:
        self.net = behind(self.source).copied_weights().requires_grad_(False)
        self.version = self.source.version

    def shell(self) -> Model:
        shell = copy.copy(behind(self.source))
        shell.net = self.net
        return shell

    def frozen_weights(self) -> dict[str, nn.Parameter]:
        return self.shell().frozen_weights() if self.net is not None and self.source is not None else {}

    def observe(self, batch: Batch, play: Any) -> None:
        if self.every and (play.step + 1) % self.every == 0:
            self.refresh()
