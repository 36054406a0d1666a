"""A model whose output a function returns: a fixed opponent, a simulated user, a gold player.

It samples nothing and learns nothing. Its actions are the bytes of its output, each with probability 1.
Leaves out: reading other models' tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from guerdon.core.batch import Batch
from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Model, Reply, Request
from guerdon.core.part import part

Past = list[tuple[Any, str]]  # its views and outputs, turn by turn


@part
class scripted(Model):
    """Returns the text of `say(view, past, seed)`: `view` is what it is shown now, `past` its earlier turns as pairs of what it
    was shown and what it said, `seed` another number for every turn, for a script that draws.

    Args:
        say: the script, `say(view, past, seed)`.

    >>> import guerdon as gd
    >>> echo = gd.models.scripted(lambda view, past, seed: f"{len(past)}: {view}")
    >>> gd.evaluate(echo, task="chain:1", tasks=4)["pass@1"]
    0.0
    """

    say: Callable[[Any, Past, int], str]

    trains: ClassVar[bool] = False
    reads: ClassVar[dict[str, Literal["step", "track"]]] = {"logp": "step", "entropy": "step"}

    def build(self, seed: int) -> nn.Module:
        return nn.Module()

    def encode(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[np.int64]:
        return _bytes(str(view))

    def decode(self, actions: Sequence[int]) -> str:
        return bytes(actions).decode(errors="replace")

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        said = self.say(request.view, [(s.view, s.text) for s in request.path], request.seed)
        if not isinstance(said, str):
            raise UserError(f"a script returns text, not {said!r}: let its function return a str")
        actions, most = _bytes(said), request.sampling.max_tokens
        end = End.CUT if len(actions) > most else End.DONE
        actions = actions[:most]
        text = self.decode(actions.tolist()) if end is End.CUT else said
        return Reply(self.encode(request.view), actions, np.zeros(len(actions), np.float32), text, end)

    def teacher_force(self, view: Any, text: str, path: Sequence[Segment] = ()) -> Reply:
        actions = _bytes(text)
        return Reply(self.encode(view), actions, np.full(len(actions), np.nan, np.float32), text)

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        return {name: torch.zeros(batch.S) for name in want}


def _bytes(text: str) -> npt.NDArray[np.int64]:
    return np.frombuffer(text.encode(), np.uint8).astype(np.int64)
