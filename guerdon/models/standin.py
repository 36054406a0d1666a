"""A model that stands in for another of the recipe: it speaks and reads as that one does, with weights of its choice.

`snapshot` chooses a copy from the past, `base` the weights without their adapter.
Neither is trained.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from guerdon.core.batch import Batch
from guerdon.core.episode import Segment
from guerdon.core.model import Model, Reply


class StandIn(Model):
    """Of the model named `of`."""

    of: str
    trains = False

    @abc.abstractmethod
    def shell(self) -> Model:
        """The class and knobs of the model it stands in for, around the weights it chose."""

    def readings(self, models: Mapping[str, Model]) -> Mapping[str, Any]:
        return (models[self.of] if self.of in models else self.shell()).readings(models)

    @property
    def max_positions(self) -> int | None:
        return self.shell().max_positions

    def build(self, seed: int) -> nn.Module:
        raise AssertionError(f"a {type(self).__name__} takes its weights from {self.of!r}, it makes none")

    def encode(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[np.int64]:
        return self.shell().encode(view, path)

    def more(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[np.int64]:
        return self.shell().more(view, path)

    def teacher_force(self, view: Any, text: str, path: Sequence[Segment] = ()) -> Reply:
        return self.shell().teacher_force(view, text, path)

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        return self.shell().read(batch, want)


def behind(model: Model) -> Model:
    """The model itself, or the shell of one that stands in for another, however many stand in between."""
    while isinstance(model, StandIn):
        model = model.shell()
    return model
