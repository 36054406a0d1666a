"""What decides a call is all that it closes over: one value that differs, however deep, makes another call."""

from __future__ import annotations

import functools
import random
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from guerdon.core.decided import decided_by
from guerdon.core.optim import adam
from guerdon.models.tables import tabular


@dataclass
class Held:
    x: Any
    more: dict[str, Any] = field(default_factory=dict)


class Plain:
    def __init__(self, x: Any) -> None:
        self.x = x

    def ask(self) -> Any:
        return self.x


def closing(value: Any) -> Any:
    def call() -> Any:
        return inner()

    def inner() -> Any:
        return value

    return call


WRAPPED = {
    "closed over by a function that is closed over": closing,
    "an argument of a partial": lambda x: functools.partial(max, x),
    "a field of an object": Plain,
    "what a method is bound to": lambda x: Plain(x).ask,
    "a field of a dataclass in a list": lambda x: [Held(1), Held(0, {"deep": x})],
    "a default": lambda x: lambda y=x: y,
}
VALUES = {
    "numbers": (1.0, 2.0),
    "a number and its text": (1, "1"),
    "an int and a float": (1, 1.0),
    "arrays": (np.arange(3), np.arange(3) + np.array([0, 0, 1])),
    "arrays of another shape": (np.zeros((2, 3)), np.zeros((3, 2))),
    "tensors in the last bit": (torch.tensor([1.0]), torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0]))),
    "dice": (random.Random(0), random.Random(1)),
    "torch's dice": (torch.Generator().manual_seed(0), torch.Generator().manual_seed(1)),
    "parts": (adam(lr=0.1), adam(lr=0.2)),
    "models": (tabular("01", length=1), tabular("01", length=2)),
    "weights": (torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)),
    "sets": ({1, 2}, {1, 3}),
    "where a list ends": ([[1], 2], [[1, 2]]),
}


@pytest.mark.parametrize("how", WRAPPED)
@pytest.mark.parametrize("what", VALUES)
def test_a_value_that_differs_makes_another_call(what, how):
    (one, other), wrap = VALUES[what], WRAPPED[how]
    assert decided_by(wrap(one)) == decided_by(wrap(one)) is not None
    assert decided_by(wrap(one)) != decided_by(wrap(other))


def test_dice_that_were_thrown_are_other_dice():
    dice = random.Random(0)
    before = decided_by(dice)
    dice.random()
    assert decided_by(dice) != before


def test_what_holds_itself_is_known():
    one, other = [1], [2]
    one.append(one)
    other.append(other)
    assert decided_by(one) != decided_by(other) and decided_by(one) is not None


@pytest.mark.parametrize("value", [threading.Lock(), iter([1]), (i for i in range(2)), memoryview(b"1")])
def test_what_cannot_be_taken_apart_has_no_hash(value):
    assert decided_by(value) is None and decided_by(closing([value])) is None
