"""`fill_needs`: the columns a stage needs are in the batch before it runs, each computed once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.play import Play, played_by
from guerdon.rewards.stage.placing import step_column


def fill_needs(batch: Batch, needs: Sequence[str], play: Play) -> Batch:
    """The batch with every needed column. A column that is missing is read from its model (`reference.logp`); that the
    others are given by earlier stages was checked before the run began; a reward in steps is given only where it came in
    steps, and elsewhere made from the whole."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for name in needs:
        whole = batch.cols.get(name.removesuffix("_steps"))
        if name not in batch.cols and whole is not None:
            batch = batch.with_cols({name: step_column(batch, whole, play, role="")})
        elif name not in batch.cols and name != "pairs":
            model, _, reading = name.partition(".")
            assert model in play.models, f"no stage gave {name!r}"
            wanted[model].append(reading)
    for model, readings in wanted.items():
        batch = batch.with_cols(read_columns(batch, model, readings, play))
    return batch


def read_columns(batch: Batch, model: str, readings: Sequence[str], play: Play) -> dict[str, Column]:
    """Have a model read the tracks it can: those that it or the model it copies acted; all, if neither has a seat.

    Elsewhere the columns are *not applicable*.
    """
    reader = play.models[model]
    names = {model, getattr(reader, "of", model)}
    mine = played_by(batch, names, play)
    with torch.no_grad():
        read = reader.read(batch.take(mine), readings)
    columns = {}
    for reading, level in ((r, reader.readings(play.models)[r]) for r in readings):
        segments = torch.zeros(batch.G, dtype=torch.bool)
        segments[batch.path_seg[mine[batch.path_track]]] = True
        rows = {"step": segments[batch.seg], "segment": segments, "track": mine}[level]
        value = torch.full((len(rows), *read[reading].shape[1:]), float("nan"))
        value[rows] = read[reading].float().to(value.device)
        reason = torch.where(rows, int(Reason.VALUE), int(Reason.NOT_APPLICABLE)).to(torch.int8)
        columns[f"{model}.{reading}"] = Column(level, value, reason)
    return columns
