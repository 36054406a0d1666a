"""A model's numbers for any text, under any view, after any path, sampled or not.

One way for rewards, judges, curricula and environments alike.
All that is asked is read in one pass, and what several begin with is read once.
A path in another model's tokens is re-encoded in this one's.
Leaves out: the columns of a batch that was played (`training/readings.py`), and what is made of the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from guerdon.core.arrays import digest
from guerdon.core.column import Per
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.levels import starts
from guerdon.core.model import Model, level_of
from guerdon.core.pack import pack
from guerdon.core.part import label
from guerdon.core.task import Ask, Sampling, Task

Item = tuple[Sequence[Segment], Any, str | npt.NDArray[Any] | None]  # path, view, text
ROLE = "probe"


def probe(
    model: Model, items: Sequence[Item], want: Sequence[str], grad: bool = False, sampling: Sampling | None = None
) -> list[dict[str, Tensor] | None]:
    """Of each (path, view, text) the readings of the text's steps, and of the end of it all: {"logp": [T], "final": []}.

    A text is teacher-forced whole, with what ends a turn after it; actions in its place (an array) are just those, and None is
    nothing. A view of None shows nothing: the turn of the path continues. None means longer than the model's
    context. `sampling` is the distribution that log-probs are of (`Sampling()`), `grad` makes all of it differentiable.

    Args:
        model: the model.
        items: paths, views and texts.
        want: names of the readings.
        grad: keep the graph for gradients.
        sampling: distribution that log-probs are of.

    >>> import guerdon as gd
    >>> model = gd.models.tabular("0123456789", length=2)
    >>> model.start(0, {})
    >>> [reading] = gd.models.probe(model, [((), "11 + 13 =", "24")], ["logp"])
    >>> reading["logp"].exp()
    tensor([0.1000, 0.1000])
    """
    levels = readable(model, want, label(model))
    how = sampling or Sampling()
    segments: list[Segment] = []
    place: dict[tuple[Any, ...], int] = {}  # the layout: computed once, however many items go through it
    at: list[int] = []  # of each item its own segment; -1: too long

    for path, view, text in items:
        own = in_words_of(model, path)
        whole = [*own, _said(model, own, view, text)]
        parent = -1
        for n, s in enumerate(whole if fits(model, whole) else ()):
            key = (parent, n == len(own), s.context.tobytes(), digest(s.view), s.actions.tobytes())
            if key not in place:
                place[key] = len(segments)
                segments.append(s.but(role=ROLE, parent=parent, sampling=how))
            parent = place[key]
        at.append(parent)
    if not segments:
        return [None] * len(at)
    batch = pack([Episode(Ask(Task("", "")), tuple(segments))])
    with torch.set_grad_enabled(grad):
        readings = model.read(batch, want)
    first, length = starts(batch.length).tolist(), batch.length.tolist()
    track = {g: k for k, g in enumerate(batch.leaf.tolist())}

    def of(g: int) -> dict[str, Tensor]:
        steps = slice(first[g], first[g] + length[g])
        return {name: x[steps] if level_of(name, levels) == "step" else x[track[g]] for name, x in readings.items()}

    return [of(g) if g >= 0 else None for g in at]


def readable(model: Model, want: Sequence[str], name: str) -> Mapping[str, Per]:
    """The level of each reading of a model; refuses where a required one is missing."""
    known = model.readings({})
    for reading in want:
        if level_of(reading, known) is None:
            needs = ": a value head has it, lm(..., value=True)" if reading in ("value", "after", "final") else ""
            raise UserError(f"the model {name!r} does not read {reading!r}, only {', '.join(sorted(known))}{needs}")
    return known


def fits(model: Model, segments: Sequence[Segment]) -> bool:
    """Whether a model's context holds these one after another."""
    most = model.max_positions
    return most is None or sum(len(s.context) + len(s.actions) for s in segments) <= most


def reads_alike(model: Model, first: Segment) -> bool:
    """Whether a model reads what a track was shown first in the same tokens."""
    return np.array_equal(np.asarray(model.encode(first.view), first.context.dtype), first.context)


def in_words_of(model: Model, path: Sequence[Segment]) -> Sequence[Segment]:
    """A path as a model processes it: as it is, or re-encoded in the model's own tokens."""
    return path if not path or reads_alike(model, path[0]) else retold(model, path)


def retold(model: Model, path: Sequence[Segment]) -> list[Segment]:
    """The views and outputs of a path, in a model's own tokens. A turn that did not end has no end token."""
    segments: list[Segment] = []
    for s in path:
        reply = model.teacher_force(s.view, s.text, segments)
        whole = len(reply.actions) - (
            len(model.teacher_force("", "").actions) if s.end in (End.CUT, End.STOPPED) else 0
        )
        context = model.more(s.view, segments) if s.goes_on else reply.context
        segments.append(
            Segment(s.role, s.view, context, reply.actions[:whole], reply.logp[:whole], s.text, len(segments) - 1,
                    end=s.end, goes_on=s.goes_on)
        )  # fmt: skip
    return segments


def _said(model: Model, path: Sequence[Segment], view: Any, text: str | npt.NDArray[Any] | None) -> Segment:
    """A text after a path, as a segment."""
    if view is None and not path:
        raise UserError("there is nothing to read: give a path, or a view to show")
    nothing: npt.NDArray[Any] = np.zeros(0, np.int64)
    context = nothing if view is None else model.encode(view, path)
    actions = model.teacher_force("", text).actions if isinstance(text, str) else nothing if text is None else text
    return Segment(ROLE, view, context, actions, np.full(len(actions), np.nan, np.float32))
