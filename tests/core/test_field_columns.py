"""Columns that follow from fields, knobs that are checked first, and the steps of tracks, by hand."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, LogpOf, Needs


@gd.part
class reads(FieldColumns):
    gives_to: Gives = "b"
    one: Needs = "a"
    none: Needs = ""
    model: LogpOf = "reference"
    critic: Annotated[str, ColumnField("needs", ("value", "final"))] = "critic"
    several: Annotated[tuple[str, ...], ColumnField("needs")] = ("x", "a")
    inner: Annotated[Any, ColumnField("needs")] = None


def test_columns_come_in_the_order_of_fields_and_once():
    assert reads().needs == ("a", "reference.logp", "critic.value", "critic.final", "x")
    assert reads().gives == ("b",)
    assert reads(one="c", inner=reads(one="d")).needs[-2:] == ("a", "d")


def test_a_subclass_has_the_columns_of_its_base_and_its_own():
    @gd.part
    class more(reads):
        also: Needs = "z"

    assert more().needs == (*reads().needs, "z")


def test_a_part_may_say_its_columns_itself():
    @gd.part
    class pairs(FieldColumns):
        column: Needs = "reward"

        gives = ("pairs",)

    assert (pairs().needs, pairs().gives) == (("reward",), ("pairs",))


def test_knobs_are_checked_before_a_class_sees_them_and_once():
    seen = []

    @gd.part
    class careful:
        share: float = gd.knob(default=0.5, ge=0.0, le=1.0)

        def __post_init__(self) -> None:
            seen.append(1.0 / self.share)

    @gd.part
    class more_careful(careful):
        def __post_init__(self) -> None:
            super().__post_init__()
            seen.append(0.0)

    with refusal(UserError, "1.0", "2"):
        careful(2)
    with refusal(UserError, "more_careful.share"):
        more_careful("half")
    assert not seen
    more_careful(0.25)
    assert seen == [4.0, 0.0]


def tree():
    """Two tracks that share their first segment, of two steps; then one goes on with one step, the other with three."""
    ask = gd.Ask(gd.Task("1", "p"), n=1)
    segments = [gd.Segment("policy", "p", context=(), actions=(0, 1), logp=(0.0, 0.0))]
    segments += [gd.Segment("policy", "p", context=(), actions=(2,), logp=(0.0,), parent=0)]
    segments += [gd.Segment("policy", "p", context=(), actions=(3, 4, 5), logp=(0.0,) * 3, parent=0)]
    return gd.pack([gd.Episode(ask, tuple(segments))])


def test_the_steps_of_tracks_go_from_root_to_leaf():
    batch = tree()
    step, track = batch.track_steps
    assert (step.tolist(), track.tolist()) == ([0, 1, 2, 0, 1, 3, 4, 5], [0, 0, 0, 1, 1, 1, 1, 1])
    assert [steps.tolist() for steps in batch.steps_by_track()] == [[0, 1, 2], [0, 1, 3, 4, 5]]


def test_a_column_of_steps_is_refused_where_tracks_are_meant():
    batch = tree()
    batch = batch.with_cols({"x": gd.Column.full("step", torch.zeros(6)), "y": gd.Column.full("track", torch.ones(2))})
    assert batch.track_column("y", "paired").value.tolist() == [1.0, 1.0]
    with refusal(UserError):
        batch.track_column("x", "paired")
