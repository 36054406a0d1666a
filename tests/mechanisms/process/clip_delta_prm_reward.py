"""Clip and delta: what lines of a solution are paid by a process reward model, so that more lines are not paid more."""

from __future__ import annotations

import torch
from harness import Mechanism, World, credited, made, small_model, steps_paid

from guerdon.core.column import Column
from guerdon.core.example import example_tries
from guerdon.rewards.formula.per_step import delta, shortfall

NAME = "clip-delta-prm-reward"
LINES = [0.9, 0.4, 0.2, 1.0]


def recipe(**knobs):
    return made(NAME, "chain:1", prm="exact", **knobs)


def lines(scores=LINES, **knobs):
    return steps_paid(recipe(**knobs).stages.scores[-1].reward, scores)


def advantages(**knobs):
    """Of a right try and a wrong one, of two lines of two tokens."""
    batch = example_tries([[9.0, 9.0]], steps=4).with_cols({"correct": Column.full("track", torch.tensor([1.0, 0.0]))})
    paid = torch.tensor([0.0, 0.3, 0.0, -0.1, 0.0, -0.4, 0.0, 0.0])
    return credited(recipe(**knobs), batch.with_cols({"process_steps": Column.full("step", paid)}))


def paid_for_more(**knobs):
    """What a solution earns by saying its first line, which is right, twice more."""
    return sum(lines([0.9, 0.9, 0.9, 0.7, 1.0], **knobs)) - sum(lines([0.9, 0.7, 1.0], **knobs))


HALF = 0.5 / (0.5**0.5 + 1e-4)  # GRPO's advantage of one right of two
AHEAD = [0.6, 0.6, -0.1, -0.1]  # the lines from each token on, less the other try's at the same place

mechanism = Mechanism(
    NAME,
    source="arXiv:2410.15115: clip min(r - eta, 0); delta r_t - r_t+1, the last but one its own, the last 0",
    also=[shortfall, delta],
    numbers={
        "as they come": (lambda: lines(refine="none", eta=0.5), LINES),
        "clip": (lambda: lines(refine="clip", eta=0.5), [0.0, -0.1, -0.3, 0.0]),
        "delta": (lambda: lines(refine="delta", eta=0.5), [0.5, 0.2, 0.2, 0.0]),
        "delta of clip": (lambda: lines(refine="both", eta=0.5), [0.1, 0.2, -0.3, 0.0]),
        "from a line on it is that line's score": (lambda: sum(lines(refine="delta")[1:]), 0.4),
        "answer and lines": (
            lambda: advantages(alpha=0.5),
            [*(HALF + 0.5 * a for a in AHEAD), *(-HALF - 0.5 * a for a in AHEAD)],
        ),
        "a model beside the policy": (lambda: list(made(NAME, "chain:1", small_model()).models), ["policy", "prm"]),
        "success alone is GRPO": (lambda: advantages(alpha=0.0), [HALF] * 4 + [-HALF] * 4),
    },
    world=World(
        says="right lines can be repeated: repeating one earns nothing",
        measure=paid_for_more,
        off={"refine": "none"},
        moves=-1.0,
    ),
)
