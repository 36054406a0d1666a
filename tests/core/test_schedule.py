"""Schedules at steps done by hand."""

from __future__ import annotations

import math

import pytest
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.core.schedule import at, cosine, linear, settled, steps_at, warmup
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped
from guerdon.studies.schedules import rex


@pytest.mark.parametrize(
    ("schedule", "steps", "values"),
    [
        (linear(1.0, 0.0), 5, [1.0, 0.75, 0.5, 0.25, 0.0]),
        (linear(0.0, 4.0, over=3), 5, [0.0, 2.0, 4.0, 4.0, 4.0]),
        (linear(1.0, 3.0, over=1), 3, [3.0, 3.0, 3.0]),
        (cosine(2.0, 0.0), 5, [2.0, 1 + math.sqrt(0.5), 1.0, 1 - math.sqrt(0.5), 0.0]),
        (cosine(1.0, 0.5, over=3), 4, [1.0, 0.75, 0.5, 0.5]),
        (rex(7.0), 4, [7.0, 7 * (2 / 3) / (5 / 6), 7 * (1 / 3) / (2 / 3), 0.0]),  # z = 0, 1/3, 2/3, 1
        (rex(3.0, over=3), 4, [3.0, 2.0, 0.0, 0.0]),
        (warmup(rex(3.0), over=2), 3, [1.5, 2.0, 0.0]),
        (warmup(8.0, over=4), 6, [2.0, 4.0, 6.0, 8.0, 8.0, 8.0]),
        (warmup(linear(1.0, 0.0), over=2), 5, [0.5, 0.75, 0.5, 0.25, 0.0]),
        (steps_at(1.0, {2: 0.1, 4: 0.01}), 6, [1.0, 1.0, 0.1, 0.1, 0.01, 0.01]),
        (steps_at(1.0, {"10": 0.1, "9": 0.5}), 12, [1.0] * 9 + [0.5, 0.1, 0.1]),
        (3, 2, [3.0, 3.0]),
    ],
)
def test_values_by_hand(schedule, steps, values):
    assert [at(schedule, step, steps) for step in range(steps)] == pytest.approx(values)


def test_a_run_of_one_step_ends_where_it_ends():
    assert at(linear(1.0, 0.0), 0, 1) == 0.0


def test_bad_lengths_are_refused():
    with refusal(UserError, "1"):
        linear(1.0, 0.0, over=0)
    with refusal(UserError, "1"):
        warmup(1.0, over=0)


def test_schedules_inside_of_parts_are_settled_too():
    loss = clipped() + kl(linear(0.0, 1.0))
    first, last = (settled(loss, step, 11) for step in (0, 10))
    assert [first.terms[1].weight, last.terms[1].weight] == [0.0, 1.0]
    assert loss.terms[1].weight.end == 1.0, "the loss itself keeps its schedule"
    assert first.terms[0] is loss.terms[0]
    plain = clipped() + kl(0.1)
    assert settled(plain, 3, 11) is plain
