"""`fill_needs`: the columns a stage needs are in the batch before it runs, each computed once.

Rewards and checks of text over a policy that makes none are refused when its first tracks are there: never a silent 0.
Leaves out: rewards that take what was made, the actions or the path, which need no text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import RunStopped
from guerdon.core.model import level_of
from guerdon.core.play import Play, played_by
from guerdon.core.task import makes_no_text
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Roles, each_role, paths
from guerdon.rewards.formula.reward import Reward
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
    for reading, level in ((r, level_of(r, reader.readings(play.models))) for r in readings):
        assert level is not None, f"{model!r} does not read {reading!r}"
        segments = torch.zeros(batch.G, dtype=torch.bool)
        segments[batch.path_seg[mine[batch.path_track]]] = True
        rows = {"step": segments[batch.seg], "segment": segments, "track": mine}[level]
        value = torch.full((len(rows), *read[reading].shape[1:]), float("nan"))
        value[rows] = read[reading].float().to(value.device)
        reason = torch.where(rows, int(Reason.VALUE), int(Reason.NOT_APPLICABLE)).to(torch.int8)
        columns[f"{model}.{reading}"] = Column(level, value, reason)
    return columns


TEXT = {"completion", "turns"}
OTHERS = {"made", "actions", "path", "episode"}  # that a reward can use without a text
OF_TEXT = (
    "guerdon.judges.",
    "guerdon.rewards.text.",
    "guerdon.rewards.memory.",
)  # shelves of leaves that read completions


def refuse_without_text(scorers: Iterable[Any], batch: Batch, role: Roles = "policy") -> None:
    """Stop a run, or an exam, one of whose stages or metrics has a reward that reads the text of a role that makes none.
    `role` is meant where one says no role."""
    for scorer in scorers:
        formula = getattr(scorer, "reward", None)
        leaves = [leaf for leaf in formula.leaves if reads_text(leaf)] if isinstance(formula, Reward) else []
        silent = silent_roles(batch, getattr(scorer, "role", role)) if leaves else []
        if silent:
            raise RunStopped(
                f"reward {leaves[0].name} reads the completion, and {silent[0]!r} makes no text: give a reward that takes"
                " made, actions or path"
            )


def reads_text(leaf: Leaf) -> bool:
    """Whether a leaf's score is of the text alone."""
    names = {name for name in leaf.wants.names if name not in leaf.wants.optional}
    if not leaf.wants.names and not leaf.wants.any_name:  # one that is given all samples together
        return type(leaf).__module__.startswith(OF_TEXT)
    return bool(TEXT & names) and not OTHERS.intersection(leaf.wants.names)


def silent_roles(batch: Batch, role: Roles) -> list[str]:
    """Those of the roles that have a track without text."""
    tracks = [path for _, path in paths(batch)]
    return [each for each in each_role(role) if any(p[-1].role == each and makes_no_text(p) for p in tracks)]
