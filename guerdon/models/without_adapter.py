"""A model without its adapter: what it was before it was trained, at no cost in memory.

With LoRA the frozen weights are the start model's own, so a reference needs no copy.
Leaves out: adapters (`lora.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import live, part
from guerdon.models.language_model import lm
from guerdon.models.lora import bare
from guerdon.models.standin import StandIn, behind


@part
class base(StandIn):
    """`of`, a language model with an adapter, with the adapter switched off. It has no weights of its own: those of `of`
    are read in place, and a checkpoint holds them once.

    If `of` started from a trained adapter, this is the model below that adapter, not the one the run began with.

    Args:
        of: name of the model with an adapter.

    >>> import guerdon as gd
    >>> models = {"policy": gd.models.load("sprig", lora=8), "reference": gd.models.base("policy")}
    >>> "logp" in models["reference"].readings(models)
    True
    """

    of: str

    source: Any = live()
    view: Any = live()  # kept, so that a sampler may keep what it made for it
    view_of: Any = live()

    def readings(self, models: Mapping[str, Model]) -> Mapping[str, Any]:
        """Refuses what cannot be switched off, while the recipe is checked."""
        below = models[self.of] if self.of in models else behind(self.source)
        while isinstance(below, StandIn):
            below = models[below.of]
        if not isinstance(below, lm) or not below.is_adapted:
            raise UserError(
                f"base({self.of!r}) needs a model with an adapter: set lm.lora=16, or use snapshot({self.of!r})"
            )
        return super().readings(models)

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        self.readings(models)
        self.source = models[self.of]
        self.source.start(seed, models)
        self.net = nn.Module()

    def identity(self) -> None:
        """Nothing beyond what the hash knows of `of`."""

    def shell(self) -> Model:
        shell = copy.copy(behind(self.source))
        assert isinstance(shell, lm)
        if self.view_of is not shell.decoder:  # a snapshot below it may have been refreshed
            self.view_of, self.view = shell.decoder, bare(shell.decoder)
        shell.net = self.view
        return shell

    @property
    def device(self) -> torch.device:
        return self.shell().device
