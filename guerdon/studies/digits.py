"""Handwritten digits for supervised studies: scikit-learn's 1,797 images of 8 x 8, with a new split for every seed.

Needs `pip install 'guerdon[studies]'`; the images come with scikit-learn, nothing is downloaded. Left out: augmentation, and
every larger data set.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.core.errors import require_extra
from guerdon.core.seeds import generator

CLASSES, PIXELS = 10, 64
TEST, VALIDATION = 600, 197  # the other 1,000 are learned from


@dataclass(frozen=True)
class Examples:
    """Images as rows of pixels from 0 to 1, and their classes."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: Tensor | slice) -> Examples:
        return Examples(self.x[rows], self.y[rows])


@dataclass(frozen=True)
class Digits:
    """A split: what is learned from, what settings are chosen by, what is judged by."""

    train: Examples
    validation: Examples
    test: Examples


def digits(seed: int) -> Digits:
    """The split of a seed."""
    everything = _load()
    rows = torch.randperm(len(everything), generator=generator(seed, "digits"))
    test, validation = rows[:TEST], rows[TEST : TEST + VALIDATION]
    return Digits(everything[rows[TEST + VALIDATION :]], everything[validation], everything[test])


@functools.cache
def _load() -> Examples:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise require_extra("scikit-learn", "studies") from None
    x, y = load_digits(return_X_y=True)
    return Examples(torch.from_numpy(x).float() / 16.0, torch.from_numpy(y).long())
