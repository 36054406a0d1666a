"""Numbers beside the words: a head on a model's last hidden state, as critics and reward models have.

It is a module of the net, so that optimisers, checkpoints and snapshots see it, and stands in a file of its own,
so that the folder stays one that `transformers` loads as a language model.
Leaves out: what is trained with it and how.

Axes: N tokens, E width of a hidden state, O outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from guerdon.core.column import Per
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.seeds import generator
from guerdon.models.plain_files import is_there

FILE = "value_head.safetensors"
NAME = "value_head"  # of the module in the net
READS: Mapping[str, Per] = {"value": "step", "after": "step", "final": "track"}


@part
class head:
    """What a model's `value` may be in place of True: a head that returns `outputs` numbers, where True is one.

    With several, the readings `value`, `after` and `final` have so many numbers a row. `width` puts a hidden layer of so many
    units before them, bent by `bend` (0: none, the head is linear). A fresh head returns `begin`: the weights of its last layer
    are zero. The layer before that is the same for every seed of a run.

    Args:
        outputs: numbers for each row.
        width: units of a hidden layer; 0 for none.
        bend: its activation.
        begin: what a fresh head returns: the log-odds of a rare label, say.

    >>> import guerdon as gd
    >>> gd.models.head(outputs=3, width=64)
    head(outputs=3, width=64)
    """

    outputs: int = knob(default=1, ge=1)
    width: int = knob(default=0, ge=0)
    bend: Literal["tanh", "gelu"] = "tanh"
    begin: float = knob(default=0.0, absent=0.0)


def asked(where: str, value: bool | head) -> head | None:
    """What the knob `where` asks for, in full."""
    if isinstance(value, head):
        return value
    if not isinstance(value, bool):
        raise UserError(f"{where} must be True, False or a head, such as head(outputs=3, width=64), not {value!r}")
    return head() if value else None


class ValueHead(nn.Module):
    """In float32 whatever the model computes in. One with one number is w . h + b, without an axis for it."""

    def __init__(self, size: int, form: head) -> None:
        super().__init__()
        self.size, self.form = size, (form.outputs, form.width, form.bend)
        if form.width:
            drawn = torch.randn(form.width, size, generator=generator(NAME, form.width, size))
            self.inner = nn.Parameter(drawn / math.sqrt(size))
            self.inner_bias = nn.Parameter(torch.zeros(form.width))
        rows = (form.outputs,) if form.outputs > 1 else ()
        self.weight = nn.Parameter(torch.zeros(*rows, form.width or size))
        self.bias = nn.Parameter(torch.full(rows, form.begin))

    def forward(self, hidden: Tensor) -> Tensor:
        """[N] or [N, O] from [N, E]."""
        x = hidden.to(self.weight.dtype)
        _, width, bend = self.form
        if width:
            x = F.linear(x, self.inner, self.inner_bias)
            x = torch.tanh(x) if bend == "tanh" else F.gelu(x)
        return F.linear(x, self.weight) + self.bias

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> ValueHead:
        """Follow the net to its device, never to its float type: small errors of a value are all that a critic learns by."""
        super()._apply(lambda t: t.to(fn(t).device), recurse)  # type: ignore[no-untyped-call]
        return self


def head_of(net: nn.Module) -> ValueHead | None:
    module = net._modules.get(NAME)
    assert module is None or isinstance(module, ValueHead)
    return module


def fit(net: nn.Module, form: head | None, places: Sequence[Path], size: Callable[[], int]) -> None:
    """Give the net the head that is asked for: the one it has if it is of that form, else the one in the first folder that has
    one, else a fresh one; trainable even below an adapter. Where none is asked for it is left without. `size` is the width
    of hidden states.
    """
    if form is None:
        net._modules.pop(NAME, None)
        return
    value_head = head_of(net)
    if value_head is None or value_head.form != (form.outputs, form.width, form.bend):
        value_head = ValueHead(size(), form)
        stored = next((place / FILE for place in places if is_there(place / FILE)), None)
        if stored is not None:
            _fill(value_head, stored)
        net.add_module(NAME, value_head.to(next(net.parameters()).device))
    value_head.requires_grad_(True)


def _fill(value_head: ValueHead, path: Path) -> None:
    try:
        if path.stat().st_size > 2**20 + 8 * sum(weight.numel() for weight in value_head.parameters()):
            raise UserError(f"{path} is not a value head of this model: it is larger than one")
        value_head.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UserError(f"{path} is not a value head of this model: {' '.join(str(error).split())}") from error


def say(net: nn.Module, hidden: Tensor | None) -> Tensor:
    """The head's output for hidden states [N, E]: [N] or [N, O]. None is none of them, N = 0."""
    value_head = head_of(net)
    assert value_head is not None, "the model has no value head: make it with value=True"
    value: Tensor = value_head(value_head.weight.new_zeros(0, value_head.size) if hidden is None else hidden)
    return value


def write(folder: Path, net: nn.Module) -> None:
    """Beside the model's weights, where there is one."""
    value_head = head_of(net)
    if value_head is not None:
        save_file({name: tensor.cpu().contiguous() for name, tensor in value_head.state_dict().items()}, folder / FILE)
