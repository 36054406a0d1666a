"""A number beside the words: a linear head on a decoder's last hidden state, as critics and reward models have.

It is a module of the net, so that optimisers, checkpoints and snapshots see it, and stands in a file of its own, so that
the folder stays one that `transformers` loads as a language model. Left out: what is trained with it and how.

Axes: N tokens, E width of the residual stream.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from guerdon.core.errors import UserError
from guerdon.models.decoder import Decoder

FILE = "value_head.safetensors"
NAME = "value_head"  # of the module in the net


class ValueHead(nn.Module):
    """w . h + b, in float32 whatever the decoder computes in. A fresh one says 0, so a critic begins without an opinion."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, hidden: Tensor) -> Tensor:
        """[N] from [N, E]."""
        return F.linear(hidden.to(self.weight.dtype), self.weight) + self.bias

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> ValueHead:
        """Follow the net to its device, never to its float type: small errors of a value are all that a critic learns by."""
        super()._apply(lambda t: t.to(fn(t).device), recurse)  # type: ignore[no-untyped-call]
        return self


def head_of(net: Decoder) -> ValueHead | None:
    found = net._modules.get(NAME)
    assert found is None or isinstance(found, ValueHead)
    return found


def give(net: Decoder, source: Path) -> ValueHead:
    """The net's head: the one it has, else the one in the folder, else a fresh one; trainable even below an adapter."""
    head = head_of(net)
    if head is None:
        head = ValueHead(net.config.hidden)
        if (source / FILE).is_file():
            _fill(head, source / FILE)
        net.add_module(NAME, head.to(net.device))
    head.requires_grad_(True)
    return head


def take(net: Decoder) -> None:
    """Leave the net without a head."""
    net._modules.pop(NAME, None)


def _fill(head: ValueHead, path: Path) -> None:
    try:
        head.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UserError(f"{path} is no value head of this model: {' '.join(str(error).split())}") from error


def write(folder: Path, net: Decoder) -> None:
    """Beside the model's weights, where there is one."""
    head = head_of(net)
    if head is not None:
        save_file({name: tensor.cpu().contiguous() for name, tensor in head.state_dict().items()}, folder / FILE)
