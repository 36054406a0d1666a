"""Guided sampling: a model that acts, and others of the same tokens whose log-probs are added to its logits at every token.

Every model reads the rows in a memory of its own; the one that acts draws. Graphs are not used, and nothing of a row that ended
is kept: its next turn is read again.
Leaves out: the mixture (`models/sampling.py`), who may guide whom (`core/model.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from guerdon.core.errors import UserError
from guerdon.core.model import Model, check_guides
from guerdon.core.task import Sampling
from guerdon.engine.cpu import CpuDecoding
from guerdon.engine.cuda import CudaDecoding
from guerdon.engine.decoding import Decoding, Prompt, Sampled
from guerdon.models.language_model import lm
from guerdon.models.sampling import guided
from guerdon.models.standin import behind
from guerdon.models.text import TokenRequest

Guides = Sequence[tuple[Any, float]]  # models, each with a weight


def guides_of(name: str, sampling: Sampling, models: Mapping[str, Model]) -> Guides:
    """The models that guide the one of that name."""
    check_guides(sampling, models, [name])
    return [(behind(models[guide]), weight) for guide, weight in sampling.weighted_guides]


class GuidedDecoding:
    """A `Decoding` of a language model and its guides, which move and read the same rows."""

    def __init__(self, model: lm, guides: Guides) -> None:
        self.guides, self.weights = [guide for guide, _ in guides], [weight for _, weight in guides]
        self.own, *self.others = self.all = [_decoding(each, 1 + len(guides)) for each in (model, *self.guides)]

    def fitting(self, request: TokenRequest) -> TokenRequest:
        """The request, no longer than the context of any guide."""
        most = min(guide.max_positions for guide in self.guides)
        if request.limit and len(request.prompt) >= most:
            raise UserError(
                f"a prompt of {len(request.prompt)} tokens leaves no room in a guide's context of {most}: shorten it, or use a"
                " guide with a longer context"
            )
        return request._replace(limit=min(request.limit, most - len(request.prompt))) if request.limit else request

    def room(self, longest: int) -> int:
        return min(each.room(longest) for each in self.all)

    def reserve(self, live: int, ended: int, entering: int, longest: int) -> int:
        for each in self.all:
            each.reserve(live, 0, entering, longest)
        return 0

    def swap(self, a: int, b: int) -> None:
        for each in self.all:
            each.swap(a, b)

    def copy(self, to: int, row: int, tokens: int) -> None:
        for each in self.all:
            each.copy(to, row, tokens)

    def read(self, prompts: Sequence[Prompt]) -> Tensor:
        tokens = sum(len(prompt.tokens) for prompt in prompts)
        return self._mixed([each.read(prompts) for each in self.all], tokens)

    def begin(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        for each in self.others:
            each.enter(first, requests)
        return self.own.begin(first, logits, requests)

    def enter(self, first: int, requests: Sequence[TokenRequest]) -> None:
        for each in self.all:
            each.enter(first, requests)

    def advance(self, token: npt.NDArray[np.int64], requests: Sequence[TokenRequest]) -> Sampled:
        return self.draw(0, self.extend(token), requests)

    def extend(self, token: npt.NDArray[np.int64]) -> Tensor:
        return self._mixed([each.extend(token) for each in self.all], len(token))

    def draw(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        return self.own.draw(first, logits, requests)

    def _mixed(self, logits: Sequence[Tensor], tokens: int) -> Tensor:
        """[B, V] of the mixture, after each guide has processed so many tokens."""
        for guide in self.guides:
            guide.meter.read += tokens
        own, *others = logits
        return guided(own, list(zip(others, self.weights, strict=True)))


def _decoding(model: lm, parts: int) -> Decoding:
    """One of its own, with its part of a GPU's memory: what is kept from one `play` to the next is that of unguided rows."""
    if model.decoder.device.type != "cuda":
        return CpuDecoding(model.decoder)
    decoding = CudaDecoding(model.decoder)
    decoding.most_pages //= parts
    return decoding
