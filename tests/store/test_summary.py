"""A step in numbers, by hand."""

from __future__ import annotations

import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.runs.summary import batch_metrics, form_of

NAN = float("nan")


def test_means_spreads_and_failed_shares():
    eps = [episode(segment([0] * n), attempt=n) for n in (1, 3)] + [episode(error="broke", attempt=9)]
    column = Column("track", torch.tensor([NAN, 4.0]), torch.tensor([2, 0], dtype=torch.int8))
    metrics = batch_metrics(pack(eps).with_cols({"reward": column}))
    assert metrics["length/mean"] == 2.0
    assert metrics["length/std"] == 1.0
    assert (metrics["reward/mean"], metrics["reward/std"], metrics["reward/failed"]) == (4.0, 0.0, 0.5)
    assert metrics["failed"] == pytest.approx(1 / 3)


def test_a_column_without_values_has_no_mean():
    metrics = batch_metrics(pack([episode(segment([0]))]).with_cols({"reward": Column.empty("track", 1)}))
    assert metrics["reward/failed"] == 0.0, "not applicable is not failed"
    assert "reward/mean" not in metrics


def test_each_role_has_its_own_numbers():
    batch = pack([episode(segment([0]), segment([1, 1], role="judge", parent=0))])
    metrics = batch_metrics(batch.with_cols({"reward": Column.full("track", torch.tensor([1.0, 5.0]))}))
    assert (metrics["reward@policy/mean"], metrics["reward@judge/mean"], metrics["reward/mean"]) == (1.0, 5.0, 3.0)
    assert metrics["length@judge/mean"] == 2.0


def test_nothing_has_no_numbers():
    assert batch_metrics(pack([]))["failed"] == 0.0


@pytest.mark.parametrize(
    ("id", "prompt", "shown", "form"),
    [
        ("countdown 3 7 make 10", "countdown 3 7 make 10", None, "countdown"),
        ("countdown 3 7 make 10", "countdown 3 7 make 10", "48\ncountdown 3 7 make 10", "0 mine"),
        ("after 2?", "after 2?", None, "after"),
        ("17", "Rudy runs 5 miles.\nHow long?", None, "mine"),
        ("17", "What is 2 + 2?", "think first:\nWhat is 2 + 2?", "think mine"),
    ],
)
def test_a_form_is_not_what_is_asked_about(id, prompt, shown, form):
    assert form_of(Ask(Task(id, prompt, "4", "mine"), prompt=shown)) == form
