"""LoRA (arXiv:2106.09685): a small trainable change of a decoder's frozen projections, `W + scale * B A`.

The change is added to the matrices once for each `Decoder.layer_weights()`, not to the activations of every layer.
So learner and sampler run the one path they always run, with fused matrices and kernels as they are,
and merging for files gives the very same numbers.
It costs a product of `r` columns a matrix, which is r / F of what a pass over F tokens costs.

What that gives up: the gradient of the whole matrix is formed on the way to those of A and B,
and the changed matrices stand beside the frozen ones, so memory is saved on gradients and optimiser alone;
there is no dropout on an adapter's input; and over a base in bfloat16 a change of less than half a unit in a weight's
last place is rounded away, in training as in what is served.

Leaves out: files (`lora_files.py`), the model without its adapter (`without_adapter.py`), adapters of embeddings,
norms and biases.

Axes: r rank.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from guerdon.models import value_head
from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder, LayerWeights, weight_shapes
from guerdon.models.names import parts_of

FUSED = ("qkv", "out", "gate_up", "down")  # a layer's matrices; all seven projections are adapted (arXiv:2305.14314)
ALPHA = 2.0  # times the rank, by default: TRL's ModelConfig has rank 16 and alpha 32


class Projection(NamedTuple):
    """One of the matrices that Hugging Face keeps separate."""

    path: str  # below `model.layers.N.`
    inputs: int
    outputs: int

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def projections(c: DecoderConfig) -> dict[str, list[Projection]]:
    """The projections in each of a layer's matrices, in their order there."""
    shapes = weight_shapes(c)
    return {
        fused: [
            Projection(part.removesuffix(".weight"), shapes[fused][0], width or shapes[fused][1])
            for part, width in parts_of(fused, c)
        ]
        for fused in FUSED
    }


class LowRank(nn.Module):
    """The change of one projection. `rslora` divides alpha by the root of the rank (arXiv:2312.03732)."""

    def __init__(self, A: Tensor, B: Tensor, alpha: float, rslora: bool = False) -> None:
        super().__init__()
        self.A = nn.Parameter(A.float())  # [r, in]
        self.B = nn.Parameter(B.float())  # [out, r]
        self.alpha, self.rslora = alpha, rslora

    @property
    def rank(self) -> int:
        return len(self.A)

    @property
    def scale(self) -> float:
        return self.alpha / (math.sqrt(self.rank) if self.rslora else self.rank)

    def forward(self) -> Tensor:
        """[in, out]"""
        return self.A.t() @ (self.B.t() * self.scale)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> LowRank:
        """Follow the net to its device, never to its float type: updates are too small for half precision."""
        super()._apply(lambda t: t.to(fn(t).device), recurse)  # type: ignore[no-untyped-call]
        return self


class Adapter(nn.Module):
    """The changes of one layer, by the names of its projections; those without one stay as they are."""

    def __init__(self, config: DecoderConfig, changes: Mapping[str, LowRank]) -> None:
        super().__init__()
        self.places = projections(config)
        self.changes = nn.ModuleDict(changes)

    def forward(self, w: LayerWeights) -> LayerWeights:
        """The sum is taken in float32 and rounded once."""
        changed = {name: self._change(name) for name in FUSED if any(p.name in self.changes for p in self.places[name])}
        return w._replace(**{name: (getattr(w, name) + c).to(getattr(w, name).dtype) for name, c in changed.items()})

    def _change(self, fused: str) -> Tensor:
        """[in, out] of a fused matrix."""
        parts = [self._part(p) for p in self.places[fused]]
        return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]

    def _part(self, p: Projection) -> Tensor:
        if p.name in self.changes:
            part: Tensor = self.changes[p.name]()
            return part
        device = next(self.parameters()).device
        return torch.zeros(p.inputs, p.outputs, device=device)


def add(net: Decoder, rank: int, alpha: float, seed: int) -> None:
    """A fresh adapter of every projection, as peft begins one: A uniform within 1 / sqrt(in) either side, B zero."""
    generator = torch.Generator().manual_seed(seed)
    fresh: dict[int, dict[str, LowRank]] = {}
    for layer in net.blocks:
        fresh[layer.number] = {}
        for p in (p for group in projections(net.config).values() for p in group):
            A = (torch.rand(rank, p.inputs, generator=generator) * 2 - 1) / math.sqrt(p.inputs)
            fresh[layer.number][p.name] = LowRank(A, torch.zeros(p.outputs, rank), alpha or ALPHA * rank)
    fit(net, fresh)


def fit(net: Decoder, changes: Mapping[int, Mapping[str, LowRank]]) -> None:
    """Give a net these changes, by layer and projection, in place of any it has; from then on they alone are trained."""
    net.requires_grad_(False)
    for layer in net.blocks:
        own = changes.get(layer.number)
        layer.adapter = Adapter(net.config, own).to(net.device) if own else None


def below(net: Decoder) -> dict[str, nn.Parameter]:
    """The weights that an adapter leaves as they are, by name: all but its own and a value head's, which is trained with it."""
    own = {id(weight) for _, _, change in changes(net) for weight in change.parameters()}
    named = [(name, weight) for name, weight in net.named_parameters() if not name.startswith(f"{value_head.NAME}.")]
    return {name: weight for name, weight in named if id(weight) not in own and not (own and weight.requires_grad)}


def bare(net: Decoder) -> Decoder:
    """The same weights, none copied, with the adapter switched off."""
    view = copy.copy(net)
    view.adapted = False
    return view


def changes(net: Decoder) -> Iterator[tuple[int, Projection, LowRank]]:
    """What a net is adapted with: the layer, the projection and its change."""
    for layer in net.blocks:
        if isinstance(layer.adapter, Adapter):
            for p in (p for group in layer.adapter.places.values() for p in group):
                if p.name in layer.adapter.changes:
                    change = layer.adapter.changes[p.name]
                    assert isinstance(change, LowRank)
                    yield layer.number, p, change
