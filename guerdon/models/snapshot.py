"""A frozen copy of another model of the recipe: a reference, a previous iteration, an opponent from the past."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from guerdon.core.batch import Batch
from guerdon.core.model import Model, Reply, Request
from guerdon.core.part import knob, live, part


@part
class snapshot(Model):
    """The weights of `of` as they were at the start, or `every` so many steps ago at most: copied anew after each
    `every`-th step (0: never again). Its weights are its own and go to the checkpoint."""

    of: str
    every: int = knob(default=0, ge=0)

    trains = False
    source: Any = live()
    copied: Any = live()

    def readings(self, models: Mapping[str, Model]) -> Mapping[str, Any]:
        return models[self.of].readings(models)

    def build(self, seed: int) -> nn.Module:
        raise AssertionError("a snapshot copies weights, it makes none")

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        self.source = models[self.of]
        self.source.start(seed, models)
        if self.net is None:
            self.refresh()
        else:  # a snapshot kept from an earlier run stays as it was
            self.copied = self._shell()

    def refresh(self) -> None:
        self.net = copy.deepcopy(self.source.weights).requires_grad_(False)
        self.version = self.source.version
        self.copied = self._shell()

    def _shell(self) -> Model:
        """The class and knobs of the model behind it (a snapshot of a snapshot has one too) around these weights."""
        behind = self.source
        while isinstance(behind, snapshot):
            behind = behind.source
        shell: Model = copy.copy(behind)
        shell.net = self.net
        return shell

    def observe(self, batch: Batch, play: Any) -> None:
        if self.every and (play.step + 1) % self.every == 0:
            self.refresh()

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return list(self.copied.act(requests))

    def encode(self, view: Any) -> npt.NDArray[np.int64]:
        return self.copied.encode(view)  # type: ignore[no-any-return]

    def recite(self, view: Any, text: str) -> Reply:
        return self.copied.recite(view, text)  # type: ignore[no-any-return]

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        return self.copied.read(batch, want)  # type: ignore[no-any-return]
