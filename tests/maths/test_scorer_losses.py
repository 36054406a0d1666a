"""Losses of scorers by hand: degrees of steps, chances of whole tracks, and what two tellings say together."""

from __future__ import annotations

import math

import pytest
import torch
from tolerances import rounding

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.learn import Learn
from guerdon.recipes.process.biprm.parts import two_way_labels
from guerdon.recipes.process.scored_uses import softly_mixed, taught_at_both

NAN = math.nan


def some(batch, **columns):
    """Step columns, of which some steps have none."""
    made = {}
    for name, values in columns.items():
        value = torch.tensor(values)
        made[name] = Column("step", value, value.isnan().to(torch.int8) * 2)
    return batch.with_cols(made)


def rows(batch, loss):
    """What a learner would hand the loss: steps without a label weigh nothing."""
    play = ExamplePlay()
    play.models, play.seats = {}, {}
    return Learn("prm", loss).rows(batch, play)


def test_degrees_are_taught_by_squared_error_where_there_are_any():
    loss = gd.losses.step_values()
    batch = rows(some(example_tries([[1.0, 1.0]], steps=2), labels=[0.5, NAN, NAN, 0.0]), loss)
    value, noted = loss(batch, {"after": torch.logit(torch.tensor([0.9, 0.1, 0.1, 0.3]))})
    assert float(value) == pytest.approx((0.4**2 + 0.3**2) / 2)
    assert float(noted["step_error"]) == pytest.approx(float(value))


def test_a_chance_of_a_whole_track_by_squared_error():
    read = {"final": torch.logit(torch.tensor([0.8, 0.4]))}
    value, noted = gd.losses.whole_value("reward", weight=2.0)(example_tries([[1.0, 0.0]]), read)
    assert float(value) == pytest.approx(2 * (0.04 + 0.16) / 2, abs=rounding(8))
    assert float(noted["outcome_error"]) == pytest.approx(0.1, abs=rounding(8))


@pytest.mark.parametrize("kind", ["logistic", "square"])
def test_lines_and_wholes_are_taught_together(kind):
    batch = example_tries([[1.0]], steps=2, labels=[1.0, 0.0])
    batch = batch.with_cols({"whole": Column.full("track", torch.tensor([0.25]))})
    read = {"after": torch.tensor([0.3, -1.0]), "final": torch.tensor([0.7])}
    alone = taught_at_both(kind, 0.0)(batch, read)[0]
    over = gd.losses.outcome("whole", "logistic") if kind == "logistic" else gd.losses.whole_value()
    whole = over(batch, read)[0]
    assert float(taught_at_both(kind, 0.5)(batch, read)[0]) == pytest.approx(float(alone + 0.5 * whole))


def test_one_telling_is_step_labels():
    labels = [1.0, NAN, 0.0, 1.0]
    batch = some(example_tries([[1.0, 1.0]], steps=2), labels=labels, line=[0.0, NAN, 1.0, 2.0])
    read = {"after": torch.tensor([0.5, 2.0, -0.3, 1.0])}
    one, two = (
        loss(rows(batch, loss), read)[0] for loss in (gd.losses.step_labels(good=0.5), two_way_labels(good=0.5))
    )
    assert float(one) == pytest.approx(float(two), abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "first", "second"), [("logistic", -math.log(0.6), -math.log(1 - 0.45)), ("square", 0.4**2, 0.45**2)]
)
def test_two_tellings_of_a_line_are_averaged_before_they_are_judged(kind, first, second):
    """Line 0 is told at steps 0 and 3, line 1 at 1 and 2: the mean chances are 0.6 and 0.45."""
    batch = some(example_tries([[1.0, 1.0]], steps=2), labels=[1.0, 0.0, 0.0, 1.0], line=[0.0, 1.0, 1.0, 0.0])
    after = torch.logit(torch.tensor([0.9, 0.2, 0.7, 0.3])).requires_grad_()
    value, noted = two_way_labels(kind=kind)(batch, {"after": after})
    assert value.item() == pytest.approx((first + second) / 2, rel=1e-5)
    assert float(noted["step_accuracy"]) == 1.0
    value.backward()
    assert after.grad is not None and bool((after.grad != 0).all())


def test_the_highest_score_counts_most():
    e = math.e
    assert softly_mixed(torch.tensor([1.0, 0.0, NAN])).item() == pytest.approx(e / (e + 1))
    assert softly_mixed(torch.tensor([0.3, 0.3, 0.3])).item() == pytest.approx(0.3)
