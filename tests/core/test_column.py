"""A column holds a number or a reason, never both and never neither."""

from __future__ import annotations

import pytest
import torch

from guerdon.core.column import Column, Reason, same_numbers
from guerdon.core.errors import UserError
from guerdon.core.example import example_tries
from guerdon.training.record import _failed_scores

NAN = float("nan")


def column(values, reasons, **more):
    return Column("track", torch.tensor(values), torch.tensor(reasons, dtype=torch.int8), **more)


@pytest.mark.parametrize(
    ("values", "reasons", "fault"),
    [
        ([1.0, NAN], [0, 0], "1 NaN without a reason"),
        ([1.0, 2.0], [0, 2], "a number beside a reason why there is none"),
        ([[1.0, NAN]], [0], "1 NaN without a reason"),
    ],
)
def test_a_number_or_a_reason(values, reasons, fault):
    with pytest.raises(UserError, match=rf"test_column.py, line \d+: a column has {fault}: say why with batch.put"):
        column(values, reasons)


def test_lengths_and_levels_are_checked():
    with pytest.raises(ValueError, match="2 values with 1 reasons"):
        column([1.0, 2.0], [0])
    with pytest.raises(ValueError, match="per step, per segment or per track"):
        Column("episode", torch.ones(1), torch.zeros(1, dtype=torch.int8))


def test_missing_and_broken():
    made = column([1.0, NAN, NAN, NAN], [0, 1, 2, 3])
    assert made.missing.tolist() == [False, True, True, True]
    assert made.broken.tolist() == [False, False, True, True]


def test_errors_are_those_of_broken_entries():
    """A detail that says why a score does not apply is no failure, whatever its key; an inherited failure has no cause."""
    why = {"error": "ValueError: no"}
    made = column([1.0, NAN, NAN, NAN, NAN], [0, 1, 2, 3, 2], detail=dict.fromkeys((3, 2, 1, 0), why))
    assert [*made.errors] == [2, 3]
    lost = _failed_scores(example_tries([[1.0, 0.0, 0.0, 0.0, 1.0]]).with_cols({"mine": made}), "mine")
    assert (lost.failed, lost.timed_out, lost.of, lost.causes) == (1, 1, 4, {"ValueError: no": 2})
    assert column([NAN], [1], detail={0: why}).errors == {}


def test_taking_entries_takes_their_details():
    made = column([1.0, NAN, 3.0], [0, 2, 0], detail={1: "broke", 2: "fine"}).take(torch.tensor([2, 1]))
    assert made.same(column([3.0, NAN], [0, 2], detail={0: "fine", 1: "broke"}))


def test_empty_and_full():
    assert Column.empty("step", 2, Reason.FAILED).reason.tolist() == [2, 2]
    assert Column.empty("step", 2, like=torch.ones(5, 3, dtype=torch.float64)).value.shape == (2, 3)
    assert Column.empty("step", 2, like=torch.ones(5, dtype=torch.long)).missing.all()
    assert not Column.full("step", torch.ones(2)).missing.any()


def test_same_numbers_tells_types_shapes_and_missing_apart():
    a = torch.tensor([1.0, NAN])
    assert same_numbers(a, a.clone())
    assert not same_numbers(a, a.double())
    assert not same_numbers(a, torch.tensor([NAN, 1.0]))
    assert not same_numbers(a, torch.tensor([1.0, 2.0]))
    assert not same_numbers(a, a[None])
    assert not same_numbers(torch.tensor([1.0]), torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])))


def test_a_column_elsewhere_is_the_same_column():
    column = Column(
        "track", torch.tensor([1.0, float("nan")]), torch.tensor([0, 2], dtype=torch.int8), {1: {"error": "x"}}
    )
    moved = column.to("meta")
    assert (moved.level, moved.value.device.type, moved.reason.device.type, moved.detail) == (
        "track", "meta", "meta", column.detail,
    )  # fmt: skip
    assert column.to("cpu").same(column) and column.value.device.type == "cpu"
