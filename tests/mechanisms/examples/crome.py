"""Crome: right answers against spoiled copies, and ties with harmless ones."""

from __future__ import annotations

from math import exp, log

import torch
from harness import Mechanism, World, example, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.models.scripted_model import scripted


def paired(**knobs):
    """A right and a wrong answer after the recipe's stages between the truth and the learner."""
    play, ask = ExamplePlay(), gd.Ask(gd.Task("t", ""), 2)
    play.models, play.seats = {"author": scripted(lambda view, past, seed: "")}, {"policy": "author"}
    batch = pack([episode(segment(text=text), ask=ask, attempt=i) for i, text in enumerate(("1+2=3", "1+2=4"))])
    batch = batch.with_cols({"correct": Column.full("track", torch.tensor([1.0, 0.0]))})
    for stage in made("crome", "chain:1", small_model(), **knobs).stages[1:-1]:
        batch = stage(batch, play)
    return batch


def found(**knobs):
    texts, pairs = (batch := paired(**knobs)).texts, batch.pairs
    return [[texts[a], texts[b], float(p)] for a, b, p in zip(pairs.better, pairs.worse, pairs.label, strict=True)]


def learned(scores, **knobs):
    """The loss of scores for the answers, and its gradient."""
    score = torch.tensor(scores, requires_grad=True)
    loss, _ = gd.losses.bradley_terry()(paired(**knobs), {"final": score})
    loss.backward()
    return float(loss.detach()), score.grad.tolist()


DATA = SPOILED = ["1+2=3", "1+2=4", 1.0]
TIES = [["1+2=3", "1 + 2=3", 0.5], ["1+2=4", "1 + 2=4", 0.5]]
LOSS = {d: log(1 + exp(-d)) for d in (2, 1, 0, -1)}  # -log sigma(d)

mechanism = Mechanism(
    "crome",
    source="arXiv:2506.16507: -log sigma(d) on preferences and causal pairs, -(log sigma(d) + log sigma(-d)) / 2 on ties",
    numbers={
        "all pairs": (found, [DATA, SPOILED, *TIES]),
        "other changes": (lambda: found(causal=str.upper, neutral=lambda text: text + "!")[1], ["1+2=3", "1+2=3!", 0.5]),
        "the last number": (lambda: [example("crome").miscounted(t) for t in ("a9b10c", "none")], ["a9b11c", None]),
        "spaces": (lambda: example("crome").respaced("-1+x*2/3-4\n= 5"), "-1 + x * 2 / 3 - 4\n= 5"),
        # scores of the two answers, of a spoiled copy and of two harmless ones
        "loss": (lambda: learned([2.0, 1, 0, 1, 1])[0], (LOSS[1] + LOSS[2] + (LOSS[1] + LOSS[-1]) / 2 + LOSS[0]) / 4),
    },
    world=World("spaces are worth nothing", lambda **k: learned([0.0, 0, 0, 1, 1], **k)[1][3], {"neutral": str.title}, 0.01),
)  # fmt: skip
