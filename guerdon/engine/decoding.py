"""What the engine asks of the machine that decodes: rows with a past, which can be read into, moved and continued.

Two machines answer it: `cpu.py` and `cuda.py`.
Which rows there are, and when, is decided in `continuous.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from guerdon.models.text import TokenRequest

PREFILL_TOKENS = 8192  # of one forward pass over prompts


@dataclass(frozen=True)
class Prompt:
    """Tokens to be read: after the first `past` tokens of row `after`, for all of `rows`; the first of a conversation, or a
    continuation."""

    tokens: Sequence[int]
    rows: Sequence[int]
    past: int = 0
    after: int = -1
    goes_on: bool = False


class Sampled(NamedTuple):
    """The next tokens of rows, n of each, and their log-probs."""

    token: npt.NDArray[np.int64]  # [n, B]
    logp: npt.NDArray[np.float32]  # [n, B]


class Decoding(Protocol):
    """Rows 0, 1, ... and what each of them has read."""

    def room(self, longest: int) -> int:
        """How many rows of at most so many tokens may be sampled at a time; at least one."""

    def reserve(self, live: int, ended: int, entering: int, longest: int) -> int:
        """Have places for live and entering rows of at most so many tokens, and behind them for those that ended, which stand
        behind the live ones now. Of these only so many stay as there is room for: how many that is. The others are gone."""

    def swap(self, a: int, b: int) -> None:
        """Two rows change places."""

    def copy(self, to: int, row: int, tokens: int) -> None:
        """Put the first tokens that a row has read into another place."""

    def read(self, prompts: Sequence[Prompt]) -> Tensor:
        """[B, V] logits after the prompts, for all of their rows, which stand next to each other."""

    def begin(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        """Sample the first token of rows from `first` on, whose prompts were read."""

    def enter(self, first: int, requests: Sequence[TokenRequest]) -> None:
        """What `begin` does of rows whose first token is drawn elsewhere: note what was asked of them."""

    def extend(self, token: npt.NDArray[np.int64]) -> Tensor:
        """[B, V] logits after the first rows were given their latest tokens."""

    def draw(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        """Sample a token of rows from `first` on by such logits."""

    def advance(self, token: npt.NDArray[np.int64], requests: Sequence[TokenRequest]) -> Sampled:
        """Give the first rows their latest tokens and sample one or several more."""


def batches(prompts: Sequence[Prompt]) -> Iterator[list[Prompt]]:
    """So many prompts at a time that a pass over them stays small."""
    some: list[Prompt] = []
    size = 0
    for prompt in prompts:
        if some and size + len(prompt.tokens) > PREFILL_TOKENS:
            yield some
            some, size = [], 0
        some.append(prompt)
        size += len(prompt.tokens)
    if some:
        yield some
